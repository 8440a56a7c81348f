#include "passes/fuse/sibling_level.h"

#include <map>
#include <set>
#include <utility>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

bool is_weight(const Op& op) { return op.kind == OpKind::weight || op.kind == OpKind::constant; }

bool is_axis(const Expr& e, const Axis& axis) {
  return e->op == ExprOp::axis && e->name == axis.name();
}

// What takes the place of a tensor that differs from sibling to sibling.
struct Joint {
  const Op* part = nullptr;  // the sibling's
  size_t along = 0;          // which dimension are the columns
};

// Whether two operations compute the same but for their columns: the last axis, at which each reads
// weights of its own, and what was joined before.
class Likeness {
 public:
  Likeness(const Op& first, const Op& sibling, const Op* before_first = nullptr,
           const Op* before_sibling = nullptr)
      : first_(first),
        sibling_(sibling),
        before_first_(before_first),
        before_sibling_(before_sibling) {}

  Reason why_not() {
    Reason reason = why_not_shapes();
    if (!reason) reason = compare(first_.body, sibling_.body);
    return reason;
  }
  // By what the first one reads.
  const std::map<const Op*, Joint>& joints() const { return joints_; }

 private:
  Reason why_not_shapes() const {
    if (first_.dtype != sibling_.dtype || first_.combiner != sibling_.combiner) {
      return fmt::format("expected {} to be a {} of {} as {} is, got a {} of {}", sibling_.name,
                         to_string(first_.combiner), to_string(first_.dtype), first_.name,
                         to_string(sibling_.combiner), to_string(sibling_.dtype));
    }
    Shape expected = first_.shape;
    if (!expected.empty() && sibling_.shape.size() == expected.size()) {
      expected.back() = sibling_.shape.back();
    }
    if (expected.empty() || sibling_.shape != expected) {
      return fmt::format("expected shapes that agree but for the last axis, got {} and {}",
                         to_string(first_.shape), to_string(sibling_.shape));
    }
    for (const Op* op : {&first_, &sibling_}) {
      const Extent& columns = op->shape.back();
      if (columns.as_constant().value_or(0) > 0) continue;
      return fmt::format("expected a constant number of columns, 1 or greater, got {} of {}",
                         columns.to_string(), op->name);
    }
    const auto extents = [](const Op& op) {
      Shape shape;
      for (const Axis& axis : op.reduction_axes) shape.push_back(axis.extent());
      return shape;
    };
    if (extents(first_) == extents(sibling_)) return std::nullopt;
    return fmt::format("expected reductions over the same extents, got {} and {}",
                       to_string(extents(first_)), to_string(extents(sibling_)));
  }

  static size_t place_of(const Op& op, const std::string& axis) {
    if (const auto i = axis_index(op.axes, axis)) return *i;
    return op.axes.size() + axis_index(op.reduction_axes, axis).value();
  }

  Reason differ(const Expr& a, const Expr& b) const {
    return fmt::format("expected {} to compute what {} does, {}, got {}", sibling_.name,
                       first_.name, to_string(a), to_string(b));
  }

  Reason compare(const Expr& a, const Expr& b) {
    if (!seen_.insert({&a.node(), &b.node()}).second) return std::nullopt;
    if (a->op != b->op || a->dtype != b->dtype || a->args.size() != b->args.size()) {
      return differ(a, b);
    }
    if (a->op == ExprOp::read) return compare_reads(a, b);
    if (a->op == ExprOp::axis) {
      // Joined columns have other numbers.
      const bool same = place_of(first_, a->name) == place_of(sibling_, b->name);
      return same && !is_axis(a, first_.axes.back()) ? std::nullopt : differ(a, b);
    }
    if (a->args.empty()) return equal(a, b) ? std::nullopt : differ(a, b);
    for (size_t i = 0; i < a->args.size(); ++i) {
      if (Reason reason = compare(a->args[i], b->args[i])) return reason;
    }
    return std::nullopt;
  }

  Reason compare_reads(const Expr& a, const Expr& b) {
    std::optional<size_t> along;
    for (size_t i = 0; i < a->args.size(); ++i) {
      const bool is_column = is_axis(a->args[i], first_.axes.back());
      if (is_column && is_axis(b->args[i], sibling_.axes.back()) && !along) {
        along = i;
      } else if (mentions(a->args[i], first_.axes.back().name()) ||
                 mentions(b->args[i], sibling_.axes.back().name())) {
        return fmt::format("expected columns to be read as they come, got {} and {}", to_string(a),
                           to_string(b));
      } else if (Reason reason = compare(a->args[i], b->args[i])) {
        return reason;
      }
    }
    const Op &of_first = *a->tensor, &of_sibling = *b->tensor;
    if (!along && &of_first != &of_sibling) {
      return fmt::format("expected {} to read {} as {} does, got {}", sibling_.name, of_first.name,
                         first_.name, of_sibling.name);
    }
    if (along && (&of_first != before_first_ || &of_sibling != before_sibling_)) {
      if (Reason reason = why_not_parts(of_first, of_sibling, *along)) return reason;
    }
    return record(of_first, of_sibling, along);
  }

  Reason why_not_parts(const Op& a, const Op& b, size_t along) const {
    for (const Op* part : {&a, &b}) {
      if (is_weight(*part)) continue;
      return fmt::format("expected a weight or a constant along the columns, got {}", part->name);
    }
    if (a.kind != b.kind) {
      return fmt::format("expected two weights or two constants, got {} and {}", a.name, b.name);
    }
    Shape expected = a.shape;
    expected[along] = sibling_.shape.back();
    if (a.shape[along] == first_.shape.back() && b.shape == expected) return std::nullopt;
    return fmt::format("expected {} and {} to have a column for each of the results, got {} and {}",
                       a.name, b.name, to_string(a.shape), to_string(b.shape));
  }

  // A tensor is either joined, with one other, along one dimension, or read by both.
  Reason record(const Op& a, const Op& b, std::optional<size_t> along) {
    const auto found = joints_.find(&a);
    const bool is_shared = shared_.count(&a) > 0, is_joined = found != joints_.end();
    const bool same =
        along ? !is_shared &&
                    (!is_joined || (found->second.part == &b && found->second.along == *along))
              : !is_joined;
    if (!same) return fmt::format("expected {} to be read in one way, got two", a.name);
    if (along) joints_[&a] = {&b, *along};
    if (!along) shared_.insert(&a);
    return std::nullopt;
  }

  const Op &first_, &sibling_;
  const Op *before_first_, *before_sibling_;
  std::set<std::pair<const ExprNode*, const ExprNode*>> seen_;
  std::map<const Op*, Joint> joints_;
  std::set<const Op*> shared_;
};

}  // namespace

std::optional<SiblingLevel> sibling_level(const std::vector<OpPtr>& members,
                                          const SiblingLevel* before) {
  const auto before_of = [&](size_t i) { return before ? before->members[i].get() : nullptr; };
  std::vector<std::map<const Op*, Joint>> joints;
  std::map<const Op*, OpPtr> pointers;
  for (size_t i = 0; i < members.size(); ++i) {
    Likeness likeness(*members[0], *members[i], before_of(0), before_of(i));
    if (likeness.why_not()) return std::nullopt;
    joints.push_back(likeness.joints());
    for (const OpPtr& operand : operands(*members[i])) pointers[operand.get()] = operand;
  }
  SiblingLevel level{members, {}};
  for (const OpPtr& operand : operands(*members[0])) {
    const auto found = joints[0].find(operand.get());
    if (found == joints[0].end() || operand.get() == before_of(0)) continue;
    SiblingLevel::Operand joined{found->second.along, {}};
    for (const auto& one : joints) joined.parts.push_back(pointers.at(one.at(operand.get()).part));
    level.operands.push_back(std::move(joined));
  }
  return level;
}

std::optional<std::string> why_not_alike(const Op& first, const Op& sibling) {
  return Likeness(first, sibling).why_not();
}

}  // namespace emulsion
