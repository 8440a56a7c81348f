#include "passes/nest/loop_nest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/checked_arithmetic.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/index/index_interval.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// The nodes below one are released while it is, as deep as there are; the first release on a thread
// takes the others in turn.
void release(const Node* node) {
  thread_local std::vector<const Node*>* pending = nullptr;
  if (pending) {
    pending->push_back(node);
    return;
  }
  std::vector<const Node*> list = {node};
  pending = &list;
  while (!list.empty()) {
    const Node* next = list.back();
    list.pop_back();
    delete next;
  }
  pending = nullptr;
}

// ceil(extent / factor), folded as far as it goes.
Expr ceil_quotient(const Expr& extent, int64_t factor) {
  EMULSION_CHECK(factor > 0, "factor = {}", factor);
  if (factor == 1) return extent;
  if (std::optional<Extent> affine = as_extent(extent)) {
    if (affine->is_constant()) {
      return int_constant(floor_div(checked_add(affine->constant_term(), factor - 1), factor));
    }
    if (std::optional<Extent> exact = affine->exact_quotient(factor)) return extent_value(*exact);
    return binary(ExprOp::div, extent_value(*affine + Extent(factor - 1)), int_constant(factor));
  }
  return binary(ExprOp::div, binary(ExprOp::add, extent, int_constant(factor - 1)),
                int_constant(factor));
}

Expr product_of(const Expr& a, const Expr& b) {
  std::optional<Extent> x = as_extent(a);
  std::optional<Extent> y = as_extent(b);
  if (x && y && (x->is_constant() || y->is_constant())) return extent_value(*x * *y);
  if (x && *x == Extent(1)) return b;
  if (y && *y == Extent(1)) return a;
  return binary(ExprOp::mul, a, b);
}

// Whether a window under this node slides along the loop `variable`: its first step is another.
bool has_window_along(const Node& root, const std::string& variable) {
  return any_node(root, [&](const Node& node) {
    const WindowNode* window = node.as<WindowNode>();
    return window && std::any_of(window->slides.begin(), window->slides.end(),
                                 [&](const Window& slide) { return slide.loop->name == variable; });
  });
}

UopCounts times(const UopCounts& counts, int64_t factor) {
  UopCounts result;
  result.loads = checked_mul(counts.loads, factor);
  result.inits = checked_mul(counts.inits, factor);
  result.executes = checked_mul(counts.executes, factor);
  result.stores = checked_mul(counts.stores, factor);
  return result;
}

UopCounts plus(const UopCounts& a, const UopCounts& b) {
  UopCounts result;
  result.loads = checked_add(a.loads, b.loads);
  result.inits = checked_add(a.inits, b.inits);
  result.executes = checked_add(a.executes, b.executes);
  result.stores = checked_add(a.stores, b.stores);
  return result;
}

class UopCounter : public NestVisitor {
 public:
  explicit UopCounter(const SizeValues& sizes) : values_(sizes) {}

  UopCounts count(const Node& node) {
    const UopCounts outside = std::exchange(counts_, UopCounts());
    walk(node);
    return std::exchange(counts_, outside);
  }

 private:
  void visit_branch(const Branch& branch) override { walk(*chosen_side(branch, values_)); }

  void visit_loop(const Loop& loop) override {
    int64_t extent = evaluate_index(loop.extent, values_);
    if (extent <= 0) return;
    if (loop.kind == LoopKind::tile) extent = 1;
    if (!has_window_along(*loop.body, loop.variable())) {
      counts_ = plus(counts_, times(count(*loop.body), extent));
      return;
    }
    // A part of a loop may start behind the first iteration.
    const int64_t first = evaluate_index(loop.min, values_) == 0 ? 1 : 0;
    for (int64_t value : {0, 1}) {
      values_[loop.variable()] = value;
      counts_ = plus(counts_, times(count(*loop.body), value == 0 ? first : extent - first));
    }
    values_.erase(loop.variable());
  }

  void visit_uop(const UopNode& uop) override {
    switch (uop.kind) {
      case UopKind::load:
        ++counts_.loads;
        break;
      case UopKind::execute:
        ++(uop.part == Part::init ? counts_.inits : counts_.executes);
        break;
      case UopKind::store:
        ++counts_.stores;
        break;
    }
  }

  // The sizes, and for each loop around that matters 0 (its first iteration) or 1.
  std::map<std::string, int64_t> values_;
  UopCounts counts_;
};

}  // namespace

NodePtr share_node(Node node) { return {new Node(std::move(node)), release}; }

int64_t StorageLayout::padded(size_t axis, int64_t extent) const {
  if (room(axis) > 0) return room(axis);
  const int64_t multiple = alignments.empty() ? 1 : std::max<int64_t>(alignments[axis], 1);
  return checked_mul((checked_add(extent, multiple - 1)) / multiple, multiple);
}

std::vector<int64_t> StorageLayout::strides(const std::vector<int64_t>& extents) const {
  std::vector<int64_t> result(extents.size());
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    const size_t axis = order.empty() ? i : order[i];
    result[axis] = stride;
    stride = checked_mul(stride, std::max<int64_t>(1, padded(axis, extents[axis])));
  }
  return result;
}

Expr computed_min(const Window& window, const Expr& min) {
  if (window.step < 0) return min;
  const Expr first = window.loop == int_constant(0);
  return min + select(first, int_constant(0), int_constant(window.kept()));
}

Expr computed_extent(const Window& window) {
  const Expr first = window.loop == int_constant(0);
  return select(first, int_constant(window.length), int_constant(window.fresh()));
}

std::vector<Expr> WindowNode::computed_mins() const {
  std::vector<Expr> result = mins;
  for (const Window& slide : slides) {
    result[slide.axis] = computed_min(slide, result[slide.axis]);
  }
  return result;
}

std::vector<Expr> WindowNode::computed_extents() const {
  std::vector<Expr> result = extents;
  for (const Window& slide : slides) result[slide.axis] = computed_extent(slide);
  return result;
}

const Stage& LoopNest::stage(const std::string& stage_name) const {
  const Stage* found = stages.find(stage_name);
  EMULSION_CHECK(found != nullptr, "nest {} has no stage {}", name, stage_name);
  return *found;
}

const Buffer& LoopNest::buffer(const std::string& buffer_name) const {
  const Buffer* found = buffers.find(buffer_name);
  EMULSION_CHECK(found != nullptr, "nest {} has no buffer {}", name, buffer_name);
  return *found;
}

int32_t LoopNest::buffer_position(const std::string& buffer_name) const {
  return static_cast<int32_t>(&buffer(buffer_name) - buffers.data());
}

const Pack* LoopNest::find_pack(const std::string& packed) const {
  const auto found = std::find_if(packs.begin(), packs.end(),
                                  [&](const Pack& pack) { return pack.packed == packed; });
  return found == packs.end() ? nullptr : &*found;
}

std::vector<const Buffer*> LoopNest::arguments() const {
  std::vector<const Buffer*> result;
  for (const Buffer& candidate : buffers) {
    if (candidate.role == BufferRole::input || candidate.role == BufferRole::weight ||
        candidate.role == BufferRole::output) {
      result.push_back(&candidate);
    }
  }
  return result;
}

const Axis& axis_at(const Stage& stage, size_t d) {
  const size_t pure = stage.axes.size();
  return d < pure ? stage.axes[d] : stage.reduction_axes[d - pure];
}

std::optional<size_t> untransformed_axis(const LoopNest& nest, const Loop& loop) {
  const Stage& stage = nest.stage(loop.stage);
  if (!loop.pieces.empty()) return std::nullopt;
  const auto change_it = [&](const std::vector<LoopTransform>& transforms) {
    return std::any_of(transforms.begin(), transforms.end(), [&](const LoopTransform& t) {
      return t.axis == loop.axis || t.outer == loop.axis || t.inner == loop.axis;
    });
  };
  const bool changed =
      change_it(stage.transforms) ||
      std::any_of(stage.specializations.begin(), stage.specializations.end(),
                  [&](const Specialization& one) { return change_it(one.transforms); });
  return changed ? std::nullopt : axis_index(stage.axes, loop.axis);
}

std::optional<std::string> joined_to(const Loop& loop) {
  const bool is_one_step = loop.extent->op == ExprOp::constant && loop.extent->int_value == 1;
  if (!is_one_step || loop.min->op != ExprOp::axis) return std::nullopt;
  return loop.min->name;
}

bool shifts_inwards(const Stage& stage) {
  const auto shifts = [](const auto& one) {
    return std::any_of(one.transforms.begin(), one.transforms.end(),
                       [](const LoopTransform& t) { return t.tail == Tail::shift_inwards; });
  };
  return shifts(stage) ||
         std::any_of(stage.specializations.begin(), stage.specializations.end(), shifts);
}

Stage specialized(const Stage& stage, size_t i) {
  Stage result = stage;
  result.transforms = stage.specializations.at(i).transforms;
  result.cuts = stage.specializations.at(i).cuts;
  return result;
}

const Expr& body_of(const Stage& stage, const UopNode& uop) {
  return uop.body.defined() ? uop.body : stage.body;
}

const NodePtr& chosen_side(const Branch& branch, const SizeValues& sizes) {
  return evaluate_index(branch.condition, sizes) != 0 ? branch.holds : branch.otherwise;
}

std::string to_string(BufferRole role) {
  static const char* const kNames[] = {"input", "weight", "output", "constant", "internal"};
  return kNames[static_cast<int>(role)];
}

std::string loop_variable(const std::string& stage, const std::string& axis) {
  return stage + "." + axis;
}

std::map<std::string, Expr> axis_extents(const Stage& stage,
                                         const std::vector<Expr>& region_extents) {
  EMULSION_CHECK(region_extents.size() == stage.axes.size(), "stage {}: {} extents for {} axes",
                 stage.name, region_extents.size(), stage.axes.size());
  std::map<std::string, Expr> extents;
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    extents[stage.axes[d].name()] = region_extents[d];
  }
  for (const Axis& axis : stage.reduction_axes) {
    extents[axis.name()] = extent_value(axis.extent());
  }
  return extents;
}

void apply_transform(const LoopTransform& transform, std::map<std::string, Expr>* extents) {
  auto take = [&](const std::string& axis) {
    auto found = extents->find(axis);
    EMULSION_CHECK(found != extents->end(), "a transform of unknown axis {}", axis);
    Expr extent = found->second;
    extents->erase(found);
    return extent;
  };
  switch (transform.kind) {
    case LoopTransform::Kind::split:
      (*extents)[transform.outer] = ceil_quotient(take(transform.axis), transform.factor);
      (*extents)[transform.inner] = int_constant(transform.factor);
      break;
    case LoopTransform::Kind::step:
      (*extents)[transform.outer] = ceil_quotient(take(transform.axis), transform.factor);
      break;
    case LoopTransform::Kind::fuse: {
      Expr outer = take(transform.outer), inner = take(transform.inner);
      (*extents)[transform.axis] = product_of(outer, inner);
      break;
    }
  }
}

std::map<std::string, Expr> loop_extents(const Stage& stage,
                                         const std::vector<Expr>& region_extents) {
  std::map<std::string, Expr> current = axis_extents(stage, region_extents);
  std::map<std::string, Expr> extents = current;
  for (const LoopTransform& transform : stage.transforms) {
    apply_transform(transform, &current);
    for (const auto& [axis, extent] : current) extents[axis] = extent;
  }
  return extents;
}

UopCounts count_uops(const LoopNest& nest, const SizeValues& sizes) {
  return nest.root ? UopCounter(sizes).count(*nest.root) : UopCounts();
}

std::string size_key(const std::string& size) { return "size " + size; }

namespace {

// The node's value before it is brought into its type.
int64_t evaluate_node(const Expr& expr, const std::map<std::string, int64_t>& variables) {
  const ExprNode& node = expr.node();
  auto argument = [&](size_t i) { return evaluate_index(node.args[i], variables); };
  switch (node.op) {
    case ExprOp::constant:
      EMULSION_CHECK(!is_float(node.dtype), "{} in an index expression", node.float_value);
      return node.int_value;
    case ExprOp::axis:
    case ExprOp::size: {
      auto found = variables.end();
      if (node.op == ExprOp::size) found = variables.find(size_key(node.name));
      if (found == variables.end()) found = variables.find(node.name);
      if (found == variables.end()) {
        fail("{} {}: expected a value, got none", to_string(node.op), node.name);
      }
      return found->second;
    }
    case ExprOp::select:
      return argument(0) != 0 ? argument(1) : argument(2);
    case ExprOp::logical_and:
      return argument(0) != 0 && argument(1) != 0;
    case ExprOp::logical_or:
      return argument(0) != 0 || argument(1) != 0;
    default:
      break;
  }
  EMULSION_CHECK(node.op != ExprOp::read && !node.args.empty() && !is_float(node.dtype),
                 "{} in an index expression: {}", to_string(node.op), to_string(expr));
  const int64_t a = argument(0), b = node.args.size() > 1 ? argument(1) : 0;
  const std::optional<int64_t> value = index_operator(node.op, a, b);
  if (!value) fail("{} of {} and {}: does not fit 64 bits", to_string(node.op), a, b);
  return *value;
}

}  // namespace

int64_t evaluate_index(const Expr& expr, const std::map<std::string, int64_t>& variables) {
  return index_in_type(expr.dtype(), evaluate_node(expr, variables));
}

}  // namespace emulsion
