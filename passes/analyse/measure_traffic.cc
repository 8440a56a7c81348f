#include "passes/analyse/measure_traffic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "dsl/error.h"
#include "dsl/stack_room.h"
#include "passes/analyse/uop_program.h"

namespace emulsion {
namespace {

// One uOp of the tree with what is around it: the loops, and the allocs of what it reads or writes.
struct SiteContext {
  const UopSite* site;
  std::vector<const UopStep*> loops, allocs;
  int pass;  // a number for each stage at the root
};

class SiteFinder {
 public:
  explicit SiteFinder(const UopProgram& program) : program_(program) {
    if (program.has_root()) walk(program.root(), -1);
  }
  std::vector<SiteContext> found;

 private:
  // The first loop or uOp on the way down opens a pass, or continues that of its stage.
  int pass_of(const UopStep& step) {
    const UopStep* leaf = &step;
    while (leaf->site < 0 && !leaf->children.empty()) leaf = leaf->children.back();
    const int32_t stage = leaf->site < 0 ? -1 : program_.sites()[leaf->site].stage;
    return passes_.emplace(stage, static_cast<int>(passes_.size())).first->second;
  }

  void walk(const UopStep& step, int pass) {
    if (step.never) return;
    const bool loop = step.kind == UopStep::Kind::loop;
    if (pass < 0 && (loop || step.site >= 0)) pass = pass_of(step);
    if (loop) loops_.push_back(&step);
    if (step.kind == UopStep::Kind::alloc) allocs_.push_back(&step);
    if (step.site >= 0) {
      const UopSite& site = program_.sites()[static_cast<size_t>(step.site)];
      found.push_back({&site, loops_, allocs_of(site), pass});
    }
    for (const UopStep* child : step.children) {
      with_stack_room([&] { walk(*child, pass); });
    }
    if (loop) loops_.pop_back();
    if (step.kind == UopStep::Kind::alloc) allocs_.pop_back();
  }

  std::vector<const UopStep*> allocs_of(const UopSite& site) const {
    std::vector<const UopStep*> result;
    for (const UopStep* alloc : allocs_) {
      const auto reads = [&](const UopSite::Read& read) { return read.buffer == alloc->buffer; };
      const bool used =
          alloc->buffer == site.write || std::any_of(site.reads.begin(), site.reads.end(), reads);
      if (used) result.push_back(alloc);
    }
    return result;
  }

  const UopProgram& program_;
  std::map<int32_t, int> passes_;
  std::vector<const UopStep*> loops_, allocs_;
};

// Uops of a site for chosen values of the loops around it.
class SiteEvaluator {
 public:
  SiteEvaluator(const UopProgram& program, const SiteContext& context)
      : program_(program),
        context_(context),
        slots_(program.initial_slots()),
        boxes_(program.initial_boxes()) {}

  // Outermost first, so that an extent may depend on the loops around it.
  void set_all_loops_to_their_ranges() {
    for (const UopStep* loop : context_.loops) set(*loop, {0, extent(*loop) - 1});
  }
  // `steps`: from 0.
  void set(const UopStep& loop, IntegerRange steps) {
    const int64_t min = loop.min.range(slots_).lowest;
    slots_[static_cast<size_t>(loop.slot)] = {min + steps.lowest, min + steps.highest};
  }
  int64_t extent(const UopStep& loop) const {
    return std::max<int64_t>(0, loop.extent.range(slots_).highest);
  }

  const Uop& uop() {
    for (const UopStep* alloc : context_.allocs) UopProgram::enter_alloc(*alloc, slots_, &boxes_);
    program_.make_uop(*context_.site, &slots_, boxes_, &uop_);
    return uop_;
  }

 private:
  const UopProgram& program_;
  const SiteContext& context_;
  std::vector<IntegerRange> slots_;
  std::vector<IndexBox> boxes_;
  Uop uop_;
};

struct Moved {
  int64_t read = 0, written = 0;
};
using MovedByBuffer = std::map<int32_t, Moved>;

void unite_boxes(const UopRegion& other, UopRegion* box) {
  if (other.elements() == 0) return;
  if (box->buffer < 0 || box->elements() == 0) {
    *box = other;
    return;
  }
  for (size_t d = 0; d < static_cast<size_t>(box->rank); ++d) {
    const int32_t low = std::min(box->min[d], other.min[d]);
    const int32_t end = std::max(box->min[d] + box->extent[d], other.min[d] + other.extent[d]);
    box->min[d] = low;
    box->extent[d] = end - low;
  }
}

MovedByBuffer moved_by_passes(const UopProgram& program) {
  struct Pass {
    std::map<int32_t, UopRegion> reads, writes;
  };
  std::map<int, Pass> passes;
  std::map<int32_t, std::set<int>> users;  // of each buffer
  for (const SiteContext& context : SiteFinder(program).found) {
    SiteEvaluator all(program, context);
    all.set_all_loops_to_their_ranges();
    const Uop& uop = all.uop();
    Pass& pass = passes[context.pass];
    unite_boxes(uop.write, &pass.writes[uop.write.buffer]);
    users[uop.write.buffer].insert(context.pass);
    for (const UopRegion& read : uop.reads) {
      unite_boxes(read, &pass.reads[read.buffer]);
      users[read.buffer].insert(context.pass);
    }
  }
  MovedByBuffer moved;
  for (const auto& [number, pass] : passes) {
    auto moves = [&](int32_t buffer) {
      const bool argument = !program.is_internal(buffer);
      return argument || (program.in_main_memory(buffer) && users.at(buffer).size() > 1);
    };
    for (const auto& [buffer, box] : pass.writes) {
      if (moves(buffer)) moved[buffer].written += box.elements();
    }
    for (const auto& [buffer, box] : pass.reads) {
      if (moves(buffer) && !pass.writes.count(buffer)) moved[buffer].read += box.elements();
    }
  }
  return moved;
}

// The sum of a box's elements over all iterations of the loops around a uOp. Its size is a product
// of lengths; lengths that depend on different loops are summed separately, the sums multiplied.
class BoxSum {
 public:
  BoxSum(const UopProgram& program, const SiteContext& context)
      : program_(program), context_(context), at_(program, context) {
    for (const UopStep* loop : context.loops) {
      at_.set(*loop, {0, 0});
      extents_.push_back(at_.extent(*loop));
      plain_ = plain_ && loop_slots(loop->min).empty() && loop_slots(loop->extent).empty();
    }
  }

  // Whether no loop's extent depends on another loop: only then do sums separate.
  bool separates() const { return plain_; }

  void add_to(MovedByBuffer* moved) {
    const Uop start = at_.uop();
    if (program_.in_main_memory(start.write.buffer)) {
      // An update adds to what is there: it reads that too.
      const int64_t written = sum_of(start.write, -1);
      (*moved)[start.write.buffer].written += written;
      if (start.part == Part::update) (*moved)[start.write.buffer].read += written;
    }
    for (size_t i = 0; i < start.reads.size(); ++i) {
      if (!program_.in_main_memory(start.reads[i].buffer)) continue;
      (*moved)[start.reads[i].buffer].read += sum_of(start.reads[i], static_cast<int>(i));
    }
  }

 private:
  using Loops = std::set<size_t>;  // positions in context_.loops

  Loops loop_slots(const IntervalProgram& program) const {
    Loops loops;
    for (int slot : program.slots()) {
      for (size_t i = 0; i < context_.loops.size(); ++i) {
        if (context_.loops[i]->slot == slot) loops.insert(i);
      }
      const UopSite& site = *context_.site;
      for (size_t a = 0; a < site.axis_slots.size(); ++a) {
        if (site.axis_slots[a] == slot) loops.merge(loop_slots(site.point[a]));
      }
    }
    return loops;
  }

  // The loops that length d of a box depends on.
  Loops loops_of(int32_t buffer, int read, size_t d) const {
    Loops loops;
    const UopSite& site = *context_.site;
    if (read < 0) {
      loops.merge(loop_slots(site.point[d]));
    } else {
      for (const UopSite::Read& r : site.reads) {
        if (r.buffer == buffer) loops.merge(loop_slots(r.indices[d]));
      }
    }
    for (const UopStep* alloc : context_.allocs) {
      if (alloc->buffer == buffer) loops.merge(loop_slots(alloc->mins[d]));
    }
    return loops;
  }

  // Lengths (positions of axes) that have loops in common; guards, which make a box empty, are
  // lengths too: position -1.
  struct Group {
    Loops loops;
    std::vector<int> axes;
  };

  std::vector<Group> groups_of(const UopRegion& region, int read) const {
    std::vector<Group> groups;
    auto add = [&](Loops loops, int axis) {
      Group merged{std::move(loops), {axis}};
      for (size_t g = groups.size(); g-- > 0;) {
        const bool common = std::any_of(groups[g].loops.begin(), groups[g].loops.end(),
                                        [&](size_t loop) { return merged.loops.count(loop) > 0; });
        if (!common) continue;
        merged.loops.merge(groups[g].loops);
        merged.axes.insert(merged.axes.end(), groups[g].axes.begin(), groups[g].axes.end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
      }
      groups.push_back(std::move(merged));
    };
    for (int32_t d = 0; d < region.rank; ++d) {
      add(loops_of(region.buffer, read, static_cast<size_t>(d)), d);
    }
    for (const IntervalProgram& guard : context_.site->guards) add(loop_slots(guard), -1);
    return groups;
  }

  int64_t sum_of(const UopRegion& region, int read) {
    int64_t product = 1;
    Loops used;
    for (const Group& group : groups_of(region, read)) {
      product *= sum_over(group, read);
      used.insert(group.loops.begin(), group.loops.end());
    }
    for (size_t i = 0; i < extents_.size(); ++i) {
      if (!used.count(i)) product *= extents_[i];
    }
    return product;
  }

  // Over all iterations of the group's loops, the others at 0.
  int64_t sum_over(const Group& group, int read) {
    std::vector<size_t> loops(group.loops.begin(), group.loops.end());
    std::vector<int64_t> counter(loops.size(), 0);
    int64_t sum = 0;
    for (bool more = true; more;) {
      for (size_t i = 0; i < loops.size(); ++i) {
        at_.set(*context_.loops[loops[i]], {counter[i], counter[i]});
      }
      const Uop& uop = at_.uop();
      const UopRegion& region = read < 0 ? uop.write : uop.reads[static_cast<size_t>(read)];
      int64_t length = uop.idle ? 0 : 1;
      for (int axis : group.axes) {
        if (axis >= 0) length *= region.extent[static_cast<size_t>(axis)];
      }
      sum += length;
      more = false;
      for (size_t i = 0; i < loops.size() && !more; ++i) {
        more = ++counter[i] < extents_[loops[i]];
        if (!more) counter[i] = 0;
      }
    }
    for (size_t loop : loops) at_.set(*context_.loops[loop], {0, 0});
    return sum;
  }

  const UopProgram& program_;
  const SiteContext& context_;
  SiteEvaluator at_;
  std::vector<int64_t> extents_;
  bool plain_ = true;
};

void add_uop(const UopList& list, const Uop& uop, MovedByBuffer* moved) {
  if (uop.idle) return;
  if (list.in_main_memory(uop.write.buffer)) {
    (*moved)[uop.write.buffer].written += uop.write.elements();
    if (uop.part == Part::update) (*moved)[uop.write.buffer].read += uop.write.elements();
  }
  for (const UopRegion& read : uop.reads) {
    if (list.in_main_memory(read.buffer)) (*moved)[read.buffer].read += read.elements();
  }
}

MovedByBuffer moved_by_uops(const LoopNest& nest, const SizeValues& sizes,
                            const UopProgram& program) {
  const SiteFinder sites(program);
  MovedByBuffer moved;
  for (const SiteContext& context : sites.found) {
    BoxSum sum(program, context);
    if (sum.separates()) {
      sum.add_to(&moved);
      continue;
    }
    moved.clear();
    const UopList list(nest, sizes);
    for (const Uop& uop : list) add_uop(list, uop, &moved);
    return moved;
  }
  return moved;
}

}  // namespace

int64_t Traffic::elements() const {
  int64_t sum = 0;
  for (const BufferTraffic& b : buffers) sum += b.elements();
  return sum;
}

int64_t Traffic::bytes() const {
  int64_t sum = 0;
  for (const BufferTraffic& b : buffers) sum += b.bytes();
  return sum;
}

int64_t Traffic::result_elements() const {
  int64_t sum = 0;
  for (const BufferTraffic& b : buffers) {
    if (b.role == BufferRole::output || b.role == BufferRole::internal) sum += b.elements();
  }
  return sum;
}

Traffic measure_traffic(const LoopNest& nest, const SizeValues& sizes, TrafficModel model) {
  const UopProgram program(nest, sizes);
  const MovedByBuffer moved =
      model == TrafficModel::pass ? moved_by_passes(program) : moved_by_uops(nest, sizes, program);
  Traffic traffic;
  traffic.model = model;
  for (const auto& [buffer, amount] : moved) {  // by position, so in the nest's order
    if (amount.read == 0 && amount.written == 0) continue;
    const Buffer& from = nest.buffers[static_cast<size_t>(buffer)];
    BufferTraffic row;
    row.buffer = from.name;
    row.role = from.role;
    row.element_bytes = size_in_bytes(from.dtype);
    row.read = amount.read;
    row.written = amount.written;
    traffic.buffers.push_back(std::move(row));
  }
  return traffic;
}

}  // namespace emulsion
