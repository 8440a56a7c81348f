#include "passes/analyse/uop_program.h"

#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "dsl/stack_room.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

constexpr int64_t kAnyIndex = int64_t{1} << 30;

// The part of a range inside another, as an offset and a length.
void set_axis(const IntegerRange& range, const IntegerRange& inside, int32_t d, UopRegion* region) {
  int64_t low = std::max(range.lowest, inside.lowest),
          high = std::min(range.highest, inside.highest);
  region->min[static_cast<size_t>(d)] = static_cast<int32_t>(low);
  region->extent[static_cast<size_t>(d)] =
      static_cast<int32_t>(std::max<int64_t>(0, high - low + 1));
}

// The smallest box around both; an empty one counts for nothing.
void unite(const UopRegion& other, UopRegion* region) {
  if (other.elements() == 0) return;
  if (region->elements() == 0) {
    *region = other;
    return;
  }
  for (size_t d = 0; d < static_cast<size_t>(region->rank); ++d) {
    int32_t low = std::min(region->min[d], other.min[d]);
    int32_t end = std::max(region->min[d] + region->extent[d], other.min[d] + other.extent[d]);
    region->min[d] = low;
    region->extent[d] = end - low;
  }
}

void require_rank(const std::string& what, size_t rank) {
  if (rank <= static_cast<size_t>(UopRegion::kMostAxes)) return;
  fail("uOps of {}: expected at most {} axes, got {}", what, UopRegion::kMostAxes, rank);
}

}  // namespace

UopProgram::UopProgram(const LoopNest& nest, const SizeValues& sizes) : nest_(nest) {
  for (const std::string& name : nest.sizes) {
    auto value = sizes.find(name);
    if (value == sizes.end())
      fail("uOps of {}: expected a value for size {}, got none", nest.name, name);
    if (value->second < 0) {
      fail("uOps of {}: expected 0 or more for size {}, got {}", nest.name, name, value->second);
    }
    sizes_.emplace(name, value->second);
    add_slot(name, {value->second, value->second});
  }
  for (const Buffer& buffer : nest.buffers) {
    require_rank(buffer.name, buffer.shape.size());
    IndexBox box;
    for (const Extent& extent : buffer.shape) box.axes.push_back({0, extent.evaluate(sizes_) - 1});
    boxes_.push_back(std::move(box));
    main_memory_.push_back(buffer.role != BufferRole::internal);
    element_sizes_.push_back(size_in_bytes(buffer.dtype));
  }
  if (nest.root) root_ = compile(*nest.root);
}

int UopProgram::add_slot(const std::string& name, IntegerRange range) {
  slots_.push_back(range);
  int slot = static_cast<int>(slots_.size()) - 1;
  if (!name.empty()) names_[name] = slot;
  return slot;
}

UopStep* UopProgram::keep(UopStep step) {
  steps_.push_back(std::move(step));
  return &steps_.back();
}

UopStep* UopProgram::compile(const Node& node) {
  UopStep* made = nullptr;
  with_stack_room([&] { made = compile_kind(node); });
  return made;
}

UopStep* UopProgram::compile_kind(const Node& node) {
  if (const Loop* loop = node.as<Loop>()) return compile_loop(*loop);
  if (const Branch* branch = node.as<Branch>()) return compile(*chosen_side(*branch, sizes_));
  if (const Alloc* alloc = node.as<Alloc>()) return compile_alloc(*alloc);
  UopStep step;
  if (const UopNode* uop = node.as<UopNode>()) {
    step.kind = UopStep::Kind::uop;
    compile_site(*uop);
    step.site = static_cast<int>(sites_.size()) - 1;
  }
  for_each_child(node, [&](const NodePtr& child) { step.children.push_back(compile(*child)); });
  return keep(std::move(step));
}

UopStep* UopProgram::compile_alloc(const Alloc& alloc) {
  UopStep step;
  step.kind = UopStep::Kind::alloc;
  step.buffer = nest_.buffer_position(alloc.stage);
  main_memory_[static_cast<size_t>(step.buffer)] = alloc.memory == Memory::heap;
  auto slot = [&](const std::string& name) { return names_.at(name); };
  for (size_t d = 0; d < alloc.mins.size(); ++d) {
    const bool folded = alloc.layout.fold(d) > 0;  // any index has a place there
    step.mins.emplace_back(folded ? int_constant(-kAnyIndex) : alloc.mins[d], slot);
    step.extents.emplace_back(folded ? int_constant(2 * kAnyIndex - 1) : alloc.extents[d], slot);
  }
  step.children.push_back(compile(*alloc.body));
  return keep(std::move(step));
}

UopStep* UopProgram::compile_loop(const Loop& loop) {
  auto slot = [&](const std::string& name) { return names_.at(name); };
  UopStep step;
  step.kind = UopStep::Kind::loop;
  step.min = IntervalProgram(loop.min, slot);
  step.extent = IntervalProgram(loop.extent, slot);
  step.never = !depends_on_loops(loop.extent) && evaluate_index(loop.extent, sizes_) <= 0;
  step.slot = add_slot(loop.variable(), {0, 0});
  std::vector<std::string> variables = {loop.variable()};
  for (const std::string& other : loop.shared) {  // of stages computed with this one
    variables.push_back(loop_variable(other, loop.axis));
    names_[variables.back()] = step.slot;
  }
  if (loop.kind != LoopKind::tile) {
    step.children.push_back(compile(*loop.body));
    for (const std::string& name : variables) names_.erase(name);
    step.never = step.never || step.children[0]->never;
    return keep(std::move(step));
  }
  // Inside the uOp: the loop is a range of its variable, and the tree goes on with what it holds.
  tile_.push_back(
      {step.slot, evaluate_index(loop.min, sizes_), evaluate_index(loop.extent, sizes_)});
  UopStep* inside = compile(*loop.body);
  inside->never = inside->never || step.never;
  tile_.pop_back();
  for (const std::string& name : variables) names_.erase(name);
  return inside;
}

void UopProgram::compile_site(const UopNode& uop) {
  UopSite site;
  site.kind = uop.kind;
  site.part = uop.part;
  site.of = &nest_.stage(uop.stage);
  site.stage = static_cast<int32_t>(site.of - nest_.stages.data());
  site.write = nest_.buffer_position(uop.stage);
  site.tile = tile_;
  auto loops = [&](const std::string& name) { return names_.at(name); };
  for (const Guard& guard : uop.guards) site.guards.emplace_back(guard.condition, loops);
  for (const Expr& index : uop.point) site.point.emplace_back(index, loops);
  std::map<std::string, int> own;
  for (const std::string& size : nest_.sizes) own[size] = names_.at(size);
  std::vector<Axis> axes = site.of->axes;
  if (uop.part == Part::update) {
    require_rank(site.of->name, site.of->reduction_axes.size());
    axes.insert(axes.end(), site.of->reduction_axes.begin(), site.of->reduction_axes.end());
  }
  for (const Axis& axis : axes) site.domain.push_back(axis.extent().evaluate(sizes_));
  EMULSION_CHECK(axes.size() == uop.point.size(), "stage {}: a point of {} for {} axes", uop.stage,
                 uop.point.size(), axes.size());
  for (const Axis& axis : axes) site.axis_slots.push_back(own[axis.name()] = add_slot("", {0, 0}));
  if (uop.part != Part::init) {
    visit(body_of(*site.of, uop), [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      UopSite::Read read;
      read.buffer = nest_.buffer_position(e->name);
      for (const Expr& index : e->args) {
        read.indices.emplace_back(index, [&](const std::string& name) { return own.at(name); });
      }
      site.reads.push_back(std::move(read));
    });
  }
  sites_.push_back(std::move(site));
}

void UopProgram::enter_alloc(const UopStep& alloc, const std::vector<IntegerRange>& slots,
                             std::vector<IndexBox>* boxes) {
  IndexBox& box = (*boxes)[static_cast<size_t>(alloc.buffer)];
  for (size_t d = 0; d < alloc.mins.size(); ++d) {
    int64_t min = alloc.mins[d].range(slots).lowest;
    box.axes[d] = {min, min + alloc.extents[d].range(slots).lowest - 1};
  }
}

void UopProgram::make_uop(const UopSite& site, std::vector<IntegerRange>* slots,
                          const std::vector<IndexBox>& boxes, Uop* uop) const {
  for (const UopSite::TileLoop& loop : site.tile) {
    (*slots)[static_cast<size_t>(loop.slot)] = {loop.min, loop.min + loop.extent - 1};
  }
  const bool issued =
      std::none_of(site.guards.begin(), site.guards.end(),
                   [&](const IntervalProgram& guard) { return guard.range(*slots).highest == 0; });
  std::array<IntegerRange, size_t{2} * UopRegion::kMostAxes> point;
  for (size_t i = 0; i < site.point.size(); ++i) point[i] = site.point[i].range(*slots);
  // What guards leave of the tile: nothing past the end of a reduction, or of main memory.
  const size_t rank = site.of->axes.size();
  for (size_t i = in_main_memory(site.write) ? 0 : rank; i < site.point.size(); ++i) {
    point[i] = {std::max<int64_t>(point[i].lowest, 0),
                std::min(point[i].highest, site.domain[i] - 1)};
  }
  for (size_t i = 0; i < site.point.size(); ++i) {
    (*slots)[static_cast<size_t>(site.axis_slots[i])] = point[i];
  }
  const IntegerRange nothing{0, -1};
  uop->kind = site.kind;
  uop->part = site.part;
  uop->stage = site.stage;
  uop->idle = !issued;
  uop->reads.clear();

  uop->write = UopRegion();
  uop->write.buffer = site.write;
  uop->write.rank = static_cast<int32_t>(rank);
  const IndexBox& home = boxes[static_cast<size_t>(site.write)];
  uop->macs = issued && site.part == Part::update ? 1 : 0;
  for (size_t d = 0; d < rank; ++d) {
    set_axis(point[d], issued ? home.axes[d] : nothing, static_cast<int32_t>(d), &uop->write);
    // The domain, which an internal tile may leave.
    int64_t low = std::max<int64_t>(point[d].lowest, 0);
    int64_t high = std::min(point[d].highest, site.domain[d] - 1);
    uop->macs *= std::max<int64_t>(0, high - low + 1);
  }
  uop->reduction = UopRegion();
  if (site.part == Part::update) {
    uop->reduction.rank = static_cast<int32_t>(site.domain.size() - rank);
    for (size_t r = 0; rank + r < site.domain.size(); ++r) {
      set_axis(point[rank + r], issued ? IntegerRange{0, site.domain[rank + r] - 1} : nothing,
               static_cast<int32_t>(r), &uop->reduction);
    }
    uop->macs *= uop->reduction.elements();
  }
  for (const UopSite::Read& read : site.reads) {
    UopRegion region;
    region.buffer = read.buffer;
    region.rank = static_cast<int32_t>(read.indices.size());
    const IndexBox& inside = boxes[static_cast<size_t>(read.buffer)];
    for (size_t d = 0; d < read.indices.size(); ++d) {
      set_axis(read.indices[d].range(*slots), issued ? inside.axes[d] : nothing,
               static_cast<int32_t>(d), &region);
    }
    auto known = std::find_if(uop->reads.begin(), uop->reads.end(),
                              [&](const UopRegion& r) { return r.buffer == region.buffer; });
    if (known == uop->reads.end()) {
      uop->reads.push_back(region);
    } else {
      unite(region, &*known);
    }
  }
  auto bytes_of = [&](const UopRegion& region) {
    const bool moves = issued && in_main_memory(region.buffer);
    return moves ? region.elements() * element_size(region.buffer) : 0;
  };
  uop->bytes = bytes_of(uop->write) * (site.part == Part::update ? 2 : 1);
  for (const UopRegion& read : uop->reads) uop->bytes += bytes_of(read);
}

}  // namespace emulsion
