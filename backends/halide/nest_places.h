#ifndef EMULSION_BACKENDS_HALIDE_NEST_PLACES_H_
#define EMULSION_BACKENDS_HALIDE_NEST_PLACES_H_

// The tree of a nest, turned inside out: for each stage, where it is computed and stored and which
// loops are its own. That is the form in which Halide wants to be told.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// One part of a stage: its own loops around its uOp.
struct PartLoops {
  std::vector<const Node*> loops;  // outermost first; the outer ones may be shared
  const Node* uop = nullptr;
  Expr condition;         // of a special case; undefined: the general one
  bool is_empty = false;  // never run: one of its loops, or of those around them, has no steps

  // The innermost loop that another stage leads; null: none.
  const Node* innermost_shared() const;
};

struct StagePlace {
  PartLoops pure;                   // Part::whole, or Part::init of a reduction
  std::optional<PartLoops> update;  // reductions only
  // In the order in which they are tried; those of `update` for reductions only.
  std::vector<PartLoops> pure_cases, update_cases;
  const Node* alloc = nullptr;    // null: an output
  const Node* produce = nullptr;  // what is computed each time; null: all that is stored
  // The innermost loops of other stages around it; null: none.
  const Node* computed_in = nullptr;
  const Node* kept_in = nullptr;       // around the values that one iteration leaves for the next
  const Node* allocated_in = nullptr;  // around the memory: its Alloc, or Reserve when there is one
  bool reserved = false;

  // Never computed.
  bool is_empty() const { return pure.is_empty && (!update || update->is_empty); }
};

// By stage. InternalError when the tree has not exactly one nest for each part of each stage, or
// when other loops are among its own.
std::map<std::string, StagePlace> find_places(const LoopNest& nest);

// The axes of each stage of which Halide may compute less than the nest: those along which a reader
// slides, when it is outside the loops of those axes and starts further on; of a window those that
// are read through a clamp; and those split with predicate_loads, of which Halide computes what is
// read.
std::map<std::string, std::set<std::string>> shrinking_axes(
    const LoopNest& nest, const std::map<std::string, StagePlace>& places);

// The axes of each stage whose index may be outside what the nest has, in Halide. It starts a loop
// before 0 where a window slides along it, for the window only; what else is inside then runs there
// too. And inside a window where the nest slides along another loop only, or along one of a stage
// with a tail, whose index Halide clamps, Halide slides in its own way, and starts further back
// than anything needs: the window itself is then computed there, too.
std::map<std::string, std::set<std::string>> axes_started_early(const LoopNest& nest);

// The stages inside a loop along which the window of another stage slides.
std::set<std::string> stages_beside_windows(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_NEST_PLACES_H_
