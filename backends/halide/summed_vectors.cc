#include "backends/halide/summed_vectors.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backends/halide/scalar_ops.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// The memory of which single elements are loaded.
struct LoadedElements : hi::IRVisitor {
  using hi::IRVisitor::visit;
  std::set<std::string> names;

  void visit(const hi::Load* op) override {
    if (op->type.is_scalar()) names.insert(op->name);
    hi::IRVisitor::visit(op);
  }
};

class HideSteps : public hi::IRMutator {
 public:
  HideSteps(Halide::Expr holds, std::set<std::string> loaded)
      : holds_(std::move(holds)), loaded_(std::move(loaded)) {}

  bool has_hidden = false;

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::For* op) override {
    has_sums_ = false;
    const Stmt body = mutate(op->body);
    const bool has_sums = has_sums_;
    has_sums_ = false;  // the loops around this one are not the innermost
    const std::optional<int64_t> steps = hi::as_const_int(op->extent);
    const bool hides = has_sums && steps && op->for_type == hi::ForType::Serial;
    has_hidden = has_hidden || hides;
    const Halide::Expr extent = hides ? hi::Select::make(holds_, op->extent, 0) : op->extent;
    return hi::For::make(op->name, op->min, extent, op->for_type, op->partition_policy,
                         op->device_api, body);
  }

  Stmt visit(const hi::Store* op) override {
    const auto* sum = op->value.as<hi::Call>();
    const bool is_sum = sum != nullptr && is_fused_multiply_add(*sum) && sum->type.is_vector();
    has_sums_ = has_sums_ || (is_sum && loaded_.count(op->name) > 0);
    return op;
  }

  const Halide::Expr holds_;
  const std::set<std::string> loaded_;
  bool has_sums_ = false;  // in the loop at hand
};

}  // namespace

Stmt keep_summed_vectors(const Stmt& statement, const Halide::Expr& holds) {
  LoadedElements elements;
  statement.accept(&elements);
  const std::string name = hi::unique_name("holds");
  HideSteps hide(hi::Variable::make(Halide::Bool(), name), std::move(elements.names));
  Stmt made = hide.mutate(statement);
  return hide.has_hidden ? hi::LetStmt::make(name, holds, made) : made;
}

}  // namespace emulsion
