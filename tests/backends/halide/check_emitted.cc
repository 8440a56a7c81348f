#include "tests/backends/halide/check_emitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "backends/halide/emit_nest.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/scalar_ops.h"
#include "tests/backends/halide/check_accesses.h"
#include "tests/backends/halide/emitted_items.h"
#include "tests/backends/halide/emitted_points.h"
#include "tests/backends/halide/evaluate_halide.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

constexpr int64_t EmittedCounts::*kNumbers[] = {
    &EmittedCounts::loops,     &EmittedCounts::uops,       &EmittedCounts::allocs,
    &EmittedCounts::branches,  &EmittedCounts::prefetches, &EmittedCounts::points,
    &EmittedCounts::unreached, &EmittedCounts::dead,       &EmittedCounts::empty_loops,
    &EmittedCounts::last_lanes};

hi::ForType type_of(const Loop& loop, const Halide::Expr& extent) {
  if (hi::is_const_one(extent)) return hi::ForType::Serial;  // of one step
  switch (loop.kind) {
    case LoopKind::parallel:
      return hi::ForType::Parallel;
    case LoopKind::vectorized:
      return hi::ForType::Vectorized;
    case LoopKind::unrolled:
      return hi::ForType::Unrolled;
    case LoopKind::serial:
    case LoopKind::tile:
      break;
  }
  return hi::ForType::Serial;
}

class EmittedChecker {
 public:
  EmittedChecker(const LoopNest& nest, const NestItems& wanted,
                 const std::vector<StatementItem>& found)
      : wanted_(wanted.items), found_(found), pair_{nest, wanted_, found_} {
    counts_.empty_loops = wanted.empty_loops;
    counts_.last_lanes = wanted.last_lanes;
  }

  EmittedCheck check() {
    EmittedCheck result;
    try {
      check_lists();
      for (size_t i = 0; i < wanted_.size(); ++i) check_item(i);
    } catch (const std::runtime_error& difference) {
      result.difference = difference.what();
    }
    result.counts = counts_;
    return result;
  }

 private:
  void check_lists() const {
    for (size_t i = 0; i < std::max(wanted_.size(), found_.size()); ++i) {
      const std::string wanted = i < wanted_.size() ? to_string(wanted_[i]) : "nothing";
      const std::string found = i < found_.size() ? to_string(found_[i]) : "nothing";
      expect(wanted == found, "item {}: the nest has \"{}\", the statement \"{}\"", i, wanted,
             found);
    }
  }

  void check_item(size_t i) {
    int64_t* count = count_of(wanted_[i].kind);
    if (count == nullptr) return;
    check_form(i);
    std::vector<EmittedLoad> loads;
    if (wanted_[i].kind == ItemKind::uop) loads = loads_of(*found_[i].statement.as<hi::Store>());
    bool reached = false;
    const std::vector<EmittedPoint> points = points_of(pair_, wanted_[i]);
    for (const EmittedPoint& point : points) {
      try {
        reached = check_numbers(i, loads, point) || reached;
      } catch (const std::runtime_error& difference) {
        expect(false, "{}: {} {}", to_string(wanted_[i]), difference.what(), to_string(point));
      }
      ++counts_.points;
    }
    ++*count;
    if (points.empty()) {
      ++counts_.dead;
    } else if (!reached) {
      ++counts_.unreached;
    }
  }

  int64_t* count_of(ItemKind kind) {
    switch (kind) {
      case ItemKind::loop:
        return &counts_.loops;
      case ItemKind::uop:
        return &counts_.uops;
      case ItemKind::alloc:
        return &counts_.allocs;
      case ItemKind::branch:
        return &counts_.branches;
      case ItemKind::prefetch:
        return &counts_.prefetches;
      case ItemKind::pointer:
      case ItemKind::otherwise:
        break;
    }
    return nullptr;
  }

  // What needs no numbers.
  void check_form(size_t i) const {
    const NestItem& item = wanted_[i];
    const std::string name = to_string(wanted_[i]);
    if (wanted_[i].kind == ItemKind::loop) {
      const auto& loop = *found_[i].statement.as<hi::For>();
      expect(loop.for_type == type_of(*item.loop, loop.extent), "{}: another kind of loop", name);
    } else if (wanted_[i].kind == ItemKind::alloc) {
      const auto& allocate = *found_[i].statement.as<hi::Allocate>();
      const DType dtype = pair_.nest.buffer(item.storage->stage).dtype;
      const Halide::Type type = halide_type(dtype);
      expect(allocate.type == type.with_bits(static_cast<int>(8 * size_in_bytes(dtype))),
             "{}: another type", name);
      const bool heap = item.storage->memory == Memory::heap;
      expect(allocate.memory_type == (heap ? Halide::MemoryType::Heap : Halide::MemoryType::Stack),
             "{}: other memory", name);
      expect(hi::is_const_one(allocate.condition), "{}: only under a condition", name);
    } else if (wanted_[i].kind == ItemKind::uop) {
      const bool atomic = item.uop->atomic;
      expect(found_[i].atomic == (atomic ? found_[i].full_name : ""), "{}: {} atomic", name,
             atomic ? "not" : "is");
    }
  }

  // Whether it is reached there.
  bool check_numbers(size_t i, const std::vector<EmittedLoad>& loads,
                     const EmittedPoint& point) const {
    const NestItem& item = wanted_[i];
    switch (item.kind) {
      case ItemKind::loop: {
        const Halide::Expr& extent = found_[i].statement.as<hi::For>()->extent;
        const int64_t steps = evaluate_index(item.loop->extent, point.nest);
        expect_equal("as its start", evaluate_index(item.loop->min, point.nest),
                     found_[i].statement.as<hi::For>()->min, point);
        expect_equal("steps", item.last_lane_apart ? steps - 1 : steps, extent, point);
        return true;
      }
      case ItemKind::alloc: {
        Halide::Expr elements = 1;
        for (const Halide::Expr& extent : found_[i].statement.as<hi::Allocate>()->extents) {
          elements *= extent;
        }
        const std::vector<int64_t> extents = values_of(item.storage->extents, point.nest);
        const int64_t needed = elements_of(item.storage->layout, extents);
        expect_equal("elements", std::max<int64_t>(needed, 2), elements, point);
        return true;
      }
      case ItemKind::branch: {
        const Halide::Expr& condition = found_[i].statement.as<hi::IfThenElse>()->condition;
        const bool holds = evaluate_index(item.branch->condition, point.nest) != 0;
        expect_equal("for its condition", holds ? 1 : 0, condition, point);
        return true;
      }
      case ItemKind::uop:
        return check_accesses(pair_, i, loads, point);
      case ItemKind::prefetch:
        return check_prefetch(pair_, i, point);
      case ItemKind::pointer:
      case ItemKind::otherwise:
        break;
    }
    return false;
  }

  static void expect_equal(const char* what, int64_t wanted, const Halide::Expr& expr,
                           const EmittedPoint& point) {
    const int64_t found = evaluate_halide(expr, point.halide);
    expect(wanted == found, "expected {} {}, got {}", wanted, what, found);
  }

  const std::vector<NestItem>& wanted_;
  const std::vector<StatementItem>& found_;
  const EmittedPair pair_;
  EmittedCounts counts_;
};

}  // namespace

EmittedCounts& EmittedCounts::operator+=(const EmittedCounts& other) {
  for (auto number : kNumbers) this->*number += other.*number;
  return *this;
}

std::string to_string(const EmittedCounts& counts) {
  return fmt::format(
      "{} loops, {} uops, {} allocs, {} branches and {} prefetches at {} points; {} never "
      "reached, {} dead, {} empty loops, {} vectors whose last lane is apart",
      counts.loops, counts.uops, counts.allocs, counts.branches, counts.prefetches, counts.points,
      counts.unreached, counts.dead, counts.empty_loops, counts.last_lanes);
}

std::vector<int64_t> numbers_of(const EmittedCounts& counts) {
  std::vector<int64_t> numbers;
  for (auto number : kNumbers) numbers.push_back(counts.*number);
  return numbers;
}

EmittedCounts counts_of(const std::vector<int64_t>& numbers) {
  EmittedCounts counts;
  size_t i = 0;
  for (auto number : kNumbers) counts.*number = numbers.at(i++);
  return counts;
}

EmittedCheck check_emitted(const LoopNest& nest) { return check_emitted(nest, nest); }

EmittedCheck check_emitted(const LoopNest& nest, const LoopNest& emitted) {
  EmittedCheck result;
  call_halide("emitting " + nest.name, [&] {
    const EmittedNest made = emit_nest(emitted, /*has_fma=*/true, CompileOptions());
    const std::vector<StatementItem> found = items_of(made.statement);
    const NestItems wanted = items_of(nest, found);
    result = EmittedChecker(nest, wanted, found).check();
  });
  return result;
}

}  // namespace emulsion
