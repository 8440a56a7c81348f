#include "passes/nest/prefetch_box.h"

#include <map>
#include <utility>

#include "dsl/affine.h"
#include "passes/index/collect_terms.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

using MaybeRange = std::optional<IndexRange>;

// A variable that takes all values of its range.
struct Varying {
  std::string name;
  IndexRange values;
};

MaybeRange range_over(const Expr& index, const Varying& variable);

// Of an operator that does not fall when its first operand grows, nor when its second does.
MaybeRange rising(const Expr& index, const MaybeRange& a, const MaybeRange& b) {
  if (!a || !b) return std::nullopt;
  return IndexRange{binary(index->op, a->first, b->first), binary(index->op, a->last, b->last)};
}

MaybeRange range_of_operator(const Expr& index, const Varying& variable) {
  const auto range_of = [&](size_t i) { return range_over(index->args[i], variable); };
  switch (index->op) {
    case ExprOp::add:
    case ExprOp::min:
    case ExprOp::max:
      return rising(index, range_of(0), range_of(1));
    case ExprOp::sub: {
      const MaybeRange a = range_of(0), b = range_of(1);
      if (!a || !b) return std::nullopt;
      return IndexRange{a->first - b->last, a->last - b->first};
    }
    case ExprOp::div:
    case ExprOp::mod: {
      const auto divisor = constant_value(index->args[1]);
      if (!divisor || *divisor < 1) return std::nullopt;
      if (index->op == ExprOp::mod) return IndexRange{int_constant(0), int_constant(*divisor - 1)};
      const IndexRange by{index->args[1], index->args[1]};
      return rising(index, range_of(0), by);
    }
    case ExprOp::select: {
      const MaybeRange a = range_of(1), b = range_of(2);
      if (!a || !b) return std::nullopt;
      return IndexRange{min(a->first, b->first), max(a->last, b->last)};
    }
    default:
      return std::nullopt;
  }
}

// Where the index is affine in the variable its ends are at the variable's ends.
MaybeRange range_over(const Expr& index, const Varying& variable) {
  if (!mentions(index, variable.name)) return IndexRange{index, index};
  const auto affine = affine_of(index);
  if (!affine) return range_of_operator(index, variable);
  const auto at = [&](const Expr& end) {
    return substitute_axes(
        index, [&](const std::string& name) { return name == variable.name ? end : Expr(); });
  };
  const auto coefficient = affine->coefficients.find(variable.name);
  if (coefficient == affine->coefficients.end()) {
    const Expr anywhere = at(variable.values.first);
    return IndexRange{anywhere, anywhere};
  }
  const auto& [first, last] = variable.values;
  return coefficient->second > 0 ? IndexRange{at(first), at(last)}
                                 : IndexRange{at(last), at(first)};
}

// min(a, b) or max(a, b), where it is known which one it is that one.
Expr end_of_both(ExprOp op, const Expr& a, const Expr& b) {
  const std::optional<int64_t> distance = constant_value(collect_terms(a - b));
  if (!distance) return simplify_index(binary(op, a, b));
  return (*distance < 0) == (op == ExprOp::min) ? a : b;
}

class PrefetchBox : public NestVisitor {
 public:
  // `stage`: whose reads; those of all when empty.
  PrefetchBox(const LoopNest& nest, const Loop& loop, const std::string& buffer,
              const std::string& stage)
      : nest_(nest), loop_(loop), buffer_(buffer), stage_(stage) {}

  std::vector<MaybeRange> find() {
    walk(*loop_.body);
    return std::move(box_);
  }

 private:
  void visit_loop(const Loop& loop) override {
    inner_.push_back({loop.variable(), {loop.min, loop.min + loop.extent - int_constant(1)}});
    walk(*loop.body);
    inner_.pop_back();
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.part == Part::init || !(stage_.empty() || uop.stage == stage_)) return;
    const Stage& stage = nest_.stage(uop.stage);
    const std::map<std::string, Expr> point = point_of(stage, uop);
    visit(body_of(stage, uop), [&](const Expr& e) {
      if (e->op != ExprOp::read || e->name != buffer_) return;
      std::vector<MaybeRange> touched;
      for (const Expr& index : e->args) {
        touched.push_back(range_inside(
            substitute_axes(index, [&](const std::string& axis) { return point.at(axis); })));
      }
      include(touched);
    });
  }

  // Innermost first: where a loop starts may speak of the loops around it.
  MaybeRange range_inside(const Expr& index) const {
    if (!is_index(index)) return std::nullopt;
    MaybeRange range = IndexRange{simplify_index(index), simplify_index(index)};
    for (size_t i = inner_.size(); i-- > 0 && range;) {
      const MaybeRange low = range_over(range->first, inner_[i]);
      const MaybeRange high = range_over(range->last, inner_[i]);
      range.reset();
      if (low && high) range = {simplify_index(low->first), simplify_index(high->last)};
    }
    return range;
  }

  void include(const std::vector<MaybeRange>& touched) {
    if (box_.empty()) box_ = touched;
    for (size_t d = 0; d < box_.size(); ++d) {
      MaybeRange& range = box_[d];
      if (!range || !touched[d]) {
        range.reset();
        continue;
      }
      range->first = end_of_both(ExprOp::min, range->first, touched[d]->first);
      range->last = end_of_both(ExprOp::max, range->last, touched[d]->last);
    }
  }

  const LoopNest& nest_;
  const Loop& loop_;
  const std::string &buffer_, &stage_;
  std::vector<Varying> inner_;  // outermost first
  std::vector<MaybeRange> box_;
};

}  // namespace

bool reads_inside(const LoopNest& nest, const Node& tree, const std::string& buffer) {
  const auto stage_of = [&](const std::string& name) -> const Stage& { return nest.stage(name); };
  return reads_inside(tree, buffer, stage_of);
}

bool reads_inside(const Node& tree, const std::string& buffer,
                  const std::function<const Stage&(const std::string&)>& stage_of) {
  bool found = false;
  for_each_node(tree, [&](const Node& node) {
    const UopNode* uop = node.as<UopNode>();
    if (found || uop == nullptr || uop->part == Part::init) return;
    found = reads(body_of(stage_of(uop->stage), *uop), buffer);
  });
  return found;
}

std::vector<std::optional<IndexRange>> prefetch_box(const LoopNest& nest, const Loop& loop,
                                                    const std::string& buffer) {
  return prefetch_box(nest, loop, buffer, "");
}

std::vector<std::optional<IndexRange>> prefetch_box(const LoopNest& nest, const Loop& loop,
                                                    const std::string& buffer,
                                                    const std::string& stage) {
  return PrefetchBox(nest, loop, buffer, stage).find();
}

}  // namespace emulsion
