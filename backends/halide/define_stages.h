#ifndef EMULSION_BACKENDS_HALIDE_DEFINE_STAGES_H_
#define EMULSION_BACKENDS_HALIDE_DEFINE_STAGES_H_

// The algorithm half of build_pipeline: buffers and stages as Halide's parameters and Funcs.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "backends/halide/nest_places.h"
#include "backends/halide/translate_expr.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What Halide knows a buffer, stage or axis as. Not by its own name: Halide makes names such as
// "t18" itself, and a function of the C library would be taken for what its name says.
inline std::string halide_name(const std::string& name) { return "e_" + name; }
inline std::string name_in_nest(const std::string& halide_name) { return halide_name.substr(2); }

// A stage as Halide has it.
struct StageFunc {
  Halide::Func func;
  std::map<std::string, Halide::RVar> reduction_loops;  // by plain name
};

// Whether a loop of the stage, in any of its cases, is made by a fuse.
bool has_fused_loops(const Stage& stage);

class StageDefiner {
 public:
  StageDefiner(const LoopNest& nest, const std::map<std::string, StagePlace>& places, bool has_fma);

  const std::map<std::string, StageFunc>& stages() const { return stages_; }
  const std::map<std::string, Halide::Param<int32_t>>& sizes() const { return sizes_; }
  // The input or weight of that name; none: it is a stage.
  const Halide::ImageParam* input(const std::string& name) const;
  // Inputs and weights, in order.
  const std::vector<Halide::ImageParam>& inputs() const { return inputs_; }
  // A condition over the sizes.
  Halide::Expr condition(const Expr& condition) const;
  // An extent over the sizes' parameters.
  Halide::Expr extent(const Extent& extent) const;

 private:
  void declare_buffer(const Buffer& buffer);
  void define(const Stage& stage);
  void define_update(const Stage& stage, const PartLoops& update);
  Halide::RDom reduction_domain(const Stage& stage, const PartLoops& update,
                                std::map<std::string, Halide::Expr>* loop_values);
  void constrain_output(const Buffer& buffer);
  HalideScope index_scope(const std::map<std::string, Halide::Expr>& values) const;
  Halide::Expr body(const Stage& stage, const Expr& expr,
                    const std::map<std::string, Halide::Expr>& axes) const;
  bool starts_early(const Stage& stage, const std::string& buffer, const Expr& index) const;
  Halide::Expr read(const Stage& stage, const ExprNode& node,
                    const std::vector<Halide::Expr>& indices) const;
  // The index, and that it is one of an axis of that extent wherever its value is used.
  Halide::Expr promise_inside(const Halide::Expr& index, const Extent& axis) const;
  bool contracts_with_fma(const Stage& stage, const PartLoops& update) const;

  const LoopNest& nest_;
  const std::map<std::string, StagePlace>& places_;
  const bool has_fma_;
  const std::map<std::string, std::set<std::string>> early_;  // see axes_started_early
  const std::set<std::string> beside_windows_;
  std::map<std::string, StageFunc> stages_;
  std::map<std::string, Halide::Param<int32_t>> sizes_;
  std::vector<Halide::ImageParam> inputs_;
  std::map<std::string, Halide::ImageParam> inputs_by_name_;
  std::map<std::string, Halide::Buffer<>> constants_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_DEFINE_STAGES_H_
