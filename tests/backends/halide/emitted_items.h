#ifndef EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_ITEMS_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_ITEMS_H_

// A nest and a statement of Halide's as lists that are to be the same, item by item: what they
// hold, in the order in which it is written down.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

enum class ItemKind : uint8_t { pointer, loop, prefetch, alloc, uop, branch, otherwise };

// What both lists have.
struct Item {
  ItemKind kind = ItemKind::uop;
  std::string name;  // Halide's, without the number that makes it unique; a branch has none
  int depth = 0;     // loops, allocations and branches around it
};
// "loop e_y.i at depth 2".
std::string to_string(const Item& item);

// Memory of a stage that is live: its alloc, and the item that made the memory.
struct LiveAlloc {
  const Alloc* alloc = nullptr;
  const Storage* memory = nullptr;  // the alloc or the hoisted one around it
  size_t item = 0;
};

// Of a masked vector of an odd number of lanes, Halide has the last one apart, behind the loop:
// what is in it is at the last step only.
constexpr size_t kLastLane = static_cast<size_t>(-1);

struct NestItem : Item {
  // What it is: one of these, of its kind.
  const Loop* loop = nullptr;  // also of a prefetch: the loop that it is at
  const Storage* storage = nullptr;
  const Branch* branch = nullptr;
  const UopNode* uop = nullptr;
  const Prefetch* prefetch = nullptr;  // of `loop`
  const Loop* stepped = nullptr;       // of a prefetch: the loop of which the step is that is ahead
  std::vector<const Loop*> loops;      // around it, outermost first
  std::vector<size_t> loop_items;      // their positions in the list, or kLastLane
  bool last_lane_apart = false;        // of a loop: it has a step less than the nest's
  // Around it, and whether their condition holds.
  std::vector<std::pair<const Branch*, bool>> branches;
  std::map<std::string, LiveAlloc> live;
  std::map<std::string, std::string> in_outputs;  // the output in whose memory a stage is
};

struct NestItems {
  std::vector<NestItem> items;
  int last_lanes = 0;        // vectors of which the last lane is apart
  int empty_loops = 0;       // that never have a step, with all that is in them: no statement
  int empty_prefetches = 0;  // of what has no elements: no statement
};

// The call, if a statement is one address that is asked for or a box of them.
const Halide::Internal::Call* prefetch_in(Halide::Internal::Stmt statement);

struct StatementItem : Item {
  Halide::Internal::Stmt statement;
  std::string full_name;
  std::vector<Halide::Expr> guards;  // the conditions of all ifs without an else around it
  std::string atomic;                // of a store: what the Atomic around it is of
};
// std::runtime_error: a statement that no nest becomes.
std::vector<StatementItem> items_of(const Halide::Internal::Stmt& statement);

// `found`: the statement's, which says of which vectors the last lane is apart.
NestItems items_of(const LoopNest& nest, const std::vector<StatementItem>& found);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_EMITTED_ITEMS_H_
