#include "passes/nest/verify_nest_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/nest/verify_nest_context.h"

namespace emulsion {
namespace {

bool any(const PointMask& where) {
  return std::any_of(where.begin(), where.end(), [](uint8_t here) { return here != 0; });
}

// The points of `where` at which the condition is `holds`.
PointMask restrict(const PointMask& where, const IndexColumn& condition, bool holds) {
  PointMask result = where;
  for (size_t i = 0; i < result.size(); ++i) result[i] &= (condition[i] != 0) == holds ? 1 : 0;
  return result;
}

using Allocs = std::map<std::string, const Alloc*>;

// What one uOp writes and reads at some points.
class AccessVerifier {
 public:
  AccessVerifier(const LoopNest& nest, const Allocs& allocs, const UopNode& uop,
                 LoopSamples* samples)
      : nest_(nest),
        allocs_(allocs),
        uop_(uop),
        stage_(nest.stage(uop.stage)),
        table_(samples->table),
        runs_(samples->runs),
        axes_(table_.points()) {}

  void verify() {
    PointMask loads = runs_, stores = runs_;
    for (const Guard& guard : uop_.guards) {
      if (!is_index(guard.condition)) continue;
      const IndexColumn& condition = table_.values(guard.condition, runs_);
      if (guard.mask != GuardMask::stores) loads = restrict(loads, condition, true);
      if (guard.mask != GuardMask::loads) stores = restrict(stores, condition, true);
    }
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i] = loads[i] | stores[i];
    if (!any(runs_)) return;
    verify_access("writes", stage_.name, set_axes(), stores);
    if (uop_.part == Part::init) return;
    std::unordered_set<const ExprNode*> seen;
    if (any(loads)) verify_reads(body_of(stage_, uop_), loads, &seen);
  }

 private:
  using Index = std::vector<const IndexColumn*>;
  struct Region {  // for each axis
    std::vector<IndexColumn> mins, extents;
  };

  // What the axes of the stage are; returns the element that is written.
  Index set_axes() {
    Index target;
    for (const std::string& name : nest_.sizes) {
      axes_.set_size(name, table_.variables().at(name));
    }
    for (size_t i = 0; i < uop_.point.size(); ++i) {
      const IndexColumn& index = table_.values(uop_.point[i], runs_);
      axes_.set(axis_at(stage_, i).name(), index);
      if (i < stage_.axes.size()) target.push_back(&index);
    }
    return target;
  }

  // Of a select, the reads of its condition and of the branch that is taken; those whose index, or
  // whose condition, is data are left out. `seen`: what has been looked at for these points.
  void verify_reads(const Expr& e, const PointMask& where,
                    std::unordered_set<const ExprNode*>* seen) {
    if (!seen->insert(&e.node()).second) return;
    if (e->op == ExprOp::select) {
      verify_reads(e->args[0], where, seen);
      if (is_index(e->args[0])) verify_branches(e, where);
      return;
    }
    for (const Expr& argument : e->args) verify_reads(argument, where, seen);
    if (e->op != ExprOp::read || !std::all_of(e->args.begin(), e->args.end(), is_index)) return;
    Index index;
    for (const Expr& argument : e->args) index.push_back(&axes_.values(argument, where));
    verify_access("reads", e->name, index, where);
  }

  void verify_branches(const Expr& select, const PointMask& where) {
    const IndexColumn& condition = axes_.values(select->args[0], where);
    for (bool holds : {true, false}) {
      const PointMask here = restrict(where, condition, holds);
      std::unordered_set<const ExprNode*> seen;
      if (any(here)) verify_reads(select->args[holds ? 1 : 2], here, &seen);
    }
  }

  void verify_access(const char* action, const std::string& buffer, const Index& index,
                     const PointMask& where) {
    const Region& region = region_of(buffer);
    auto alloc = allocs_.find(buffer);
    for (size_t d = 0; d < index.size(); ++d) {
      if (alloc != allocs_.end() && alloc->second->layout.fold(d) > 0) continue;
      const IndexColumn &at = *index[d], &min = region.mins[d], &extent = region.extents[d];
      for (size_t i = 0; i < where.size(); ++i) {
        if (where[i] && (at[i] < min[i] || at[i] - min[i] >= extent[i])) {
          fail_outside(action, buffer, index, region, i);
        }
      }
    }
  }

  // What is stored of a buffer.
  const Region& region_of(const std::string& buffer) {
    auto [found, is_new] = regions_.try_emplace(buffer);
    Region& region = found->second;
    if (!is_new) return region;
    auto alloc = allocs_.find(buffer);
    if (alloc == allocs_.end()) {
      for (const Extent& extent : nest_.buffer(buffer).shape) {
        region.mins.emplace_back(table_.points(), 0);
        region.extents.push_back(column_of(extent));
      }
      return region;
    }
    for (const Expr& min : alloc->second->mins) region.mins.push_back(table_.values(min, runs_));
    for (const Expr& extent : alloc->second->extents) {
      region.extents.push_back(table_.values(extent, runs_));
    }
    return region;
  }

  IndexColumn column_of(const Extent& extent) const {
    IndexColumn column(table_.points(), extent.constant_term());
    for (const auto& [size, coefficient] : extent.coefficients()) {
      const IndexColumn& values = table_.variables().at(size);
      for (size_t i = 0; i < column.size(); ++i) column[i] += coefficient * values[i];
    }
    return column;
  }

  void fail_outside(const char* action, const std::string& buffer, const Index& index,
                    const Region& region, size_t point) const {
    std::vector<int64_t> at, mins, extents;
    for (const IndexColumn* column : index) at.push_back((*column)[point]);
    for (const IndexColumn& column : region.mins) mins.push_back(column[point]);
    for (const IndexColumn& column : region.extents) extents.push_back(column[point]);
    std::string place;
    for (const auto& [name, values] : table_.variables()) {
      place += fmt::format("{}{} = {}", place.empty() ? ", at " : ", ", name, values[point]);
    }
    EMULSION_CHECK(false,
                   "nest {}: {} {} {}[{}], outside what is stored: from [{}], [{}] on each axis{}",
                   nest_.name, stage_.name, action, buffer, fmt::join(at, ", "),
                   fmt::join(mins, ", "), fmt::join(extents, ", "), place);
  }

  const LoopNest& nest_;
  const Allocs& allocs_;
  const UopNode& uop_;
  const Stage& stage_;
  IndexTable& table_;  // knows sizes and loop variables
  PointMask runs_;     // where this instance happens, or a side of it that is not masked
  IndexTable axes_;    // knows sizes and the stage's axes
  std::map<std::string, Region> regions_;
};

class BoundsVerifier : public ContextVisitor {
 public:
  explicit BoundsVerifier(const LoopNest& nest) : ContextVisitor(nest) {}

  void verify() { walk(*nest_.root); }

 private:
  void visit_uop(const UopNode& uop) override {
    AccessVerifier(nest_, allocs_, uop, &samples()).verify();
  }
};

}  // namespace

void verify_nest_bounds(const LoopNest& nest) { BoundsVerifier(nest).verify(); }

}  // namespace emulsion
