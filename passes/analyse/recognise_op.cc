#include "passes/analyse/recognise_op.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "dsl/affine.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// How a read goes through its tensor.
enum class Walk : uint8_t {
  aligned,  // whole axes in increasing order; what has no axis of the op has one element
  plain,    // axes, each at most once, or positions without axes, in any order and extent
  other,
};

bool uses_axis_or_read(const Expr& index) {
  return any_part(index,
                  [](const Expr& e) { return e->op == ExprOp::axis || e->op == ExprOp::read; });
}

Walk walk_of(const Expr& read, const std::map<std::string, size_t>& position, const Op& op) {
  Walk walk = Walk::aligned;
  size_t next = 0;  // the first axis that would be in order
  std::set<size_t> used;
  for (size_t i = 0; i < read->args.size(); ++i) {
    const Expr& index = read->args[i];
    const Extent& extent = read->tensor->shape[i];
    if (index->op == ExprOp::axis) {
      size_t axis = position.at(index->name);
      if (!used.insert(axis).second) return Walk::other;  // a diagonal
      if (axis < next || op.shape[axis] != extent) walk = Walk::plain;
      next = std::max(next, axis + 1);
    } else if (uses_axis_or_read(index)) {
      return Walk::other;
    } else if (extent != Extent(1)) {
      walk = Walk::plain;
    }
  }
  return walk;
}

// Whether the value is always an element of some tensor or a constant: reads under selects.
bool only_copies(const Expr& body) {
  std::unordered_set<const ExprNode*> seen;  // selects may share branches
  std::vector<Expr> open = {body};
  while (!open.empty()) {
    Expr e = open.back();
    open.pop_back();
    if (!seen.insert(&e.node()).second) continue;
    if (e->op == ExprOp::select) {
      open.push_back(e->args[1]);
      open.push_back(e->args[2]);
    } else if (e->op != ExprOp::read && e->op != ExprOp::constant) {
      return false;
    }
  }
  return true;
}

bool is_elementwise(const Op& op) {
  std::map<std::string, size_t> position;
  for (size_t i = 0; i < op.axes.size(); ++i) position[op.axes[i].name()] = i;
  Walk worst = Walk::aligned;
  visit(op.body, [&](const Expr& e) {
    if (e->op == ExprOp::read) worst = std::max(worst, walk_of(e, position, op));
  });
  return worst == Walk::aligned || (worst == Walk::plain && !only_copies(op.body));
}

Expr without_casts(Expr e) {
  while (e->op == ExprOp::cast) e = e->args[0];
  return e;
}

// The axes that decide what a read yields.
struct ReadAxes {
  std::set<std::string> all;
  std::set<std::string> divided;  // those of which a quotient counts: the group of a channel, o / 3
};

// Nothing when an index is not affine in them and in such quotients.
std::optional<ReadAxes> axes_of(const Expr& read) {
  ReadAxes axes;
  for (const Expr& index : read->args) {
    const Expr undivided = transform(index, [&](const Expr& e) {
      if (e->op != ExprOp::div || e->args[1]->op != ExprOp::constant) return Expr();
      const std::optional<Affine> dividend = affine_of(e->args[0]);
      if (!dividend) return Expr();
      for (const auto& [axis, coefficient] : dividend->coefficients) axes.divided.insert(axis);
      return int_constant(0);
    });
    const std::optional<Affine> affine = affine_of(undivided);
    if (!affine) return std::nullopt;
    for (const auto& [axis, coefficient] : affine->coefficients) axes.all.insert(axis);
  }
  axes.all.insert(axes.divided.begin(), axes.divided.end());
  return axes;
}

std::string not_affine(const Expr& read) {
  return fmt::format("expected affine indices, got {}", to_string(read));
}

// What one operand is read at, wherever the body reads it so.
struct Operand {
  Expr read;
  ReadAxes axes;
  bool uses(const Axis& axis) const { return axes.all.count(axis.name()) > 0; }
};

// Of what both operands share one may take quotients: so each group of channels has weights of its
// own.
std::string why_not_divided(const Operand& operand, const Contraction& roles) {
  const std::vector<std::string>& shared = roles.batch_axes;
  for (const std::string& axis : operand.axes.divided) {
    if (std::find(shared.begin(), shared.end(), axis) == shared.end()) {
      return not_affine(operand.read);
    }
  }
  return "";
}

// The roles of the axes, when the two operands have the shape of a contraction's, or the reason why
// they have not. Of an op or a stage.
template <typename Comprehension>
std::string match_roles(const Comprehension& op, Operand a, Operand b, Contraction* result) {
  for (const Axis& axis : op.reduction_axes) {
    if (!a.uses(axis) || !b.uses(axis)) {
      return fmt::format("expected both operands to use reduction axis {}", axis.name());
    }
    result->reduction_axes.push_back(axis.name());
  }
  if (!op.axes.empty() && a.uses(op.axes.back()) && !b.uses(op.axes.back())) std::swap(a, b);
  for (const Axis& axis : op.axes) {
    const bool in_a = a.uses(axis), in_b = b.uses(axis);
    if (!in_a && !in_b) return fmt::format("expected an operand to use axis {}", axis.name());
    (in_a && in_b ? result->batch_axes
     : in_a       ? result->row_axes
                  : result->column_axes)
        .push_back(axis.name());
  }
  if (result->row_axes.empty() && result->column_axes.empty()) {
    return "expected an axis that one operand uses and the other does not";
  }
  for (const Operand& operand : {a, b}) {
    const std::string reason = why_not_divided(operand, *result);
    if (!reason.empty()) return reason;
    result->divides = result->divides || !operand.axes.divided.empty();
  }
  result->a = a.read;
  result->b = b.read;
  return "";
}

// A sum of a product of two reads.
template <typename Comprehension>
std::string match_factors(const Comprehension& op, Contraction* result) {
  if (op.combiner != Combiner::sum) {
    return fmt::format("expected the combiner sum, got {}", to_string(op.combiner));
  }
  if (op.body->op != ExprOp::mul) {
    return fmt::format("expected a sum of products, got a sum of {}", to_string(op.body->op));
  }
  Operand factors[2];
  for (int i = 0; i < 2; ++i) {
    factors[i].read = without_casts(op.body->args[i]);
    if (factors[i].read->op != ExprOp::read) {
      return fmt::format("expected a product of exactly two reads, got {} for factor {}",
                         to_string(factors[i].read->op), i + 1);
    }
    std::optional<ReadAxes> axes = axes_of(factors[i].read);
    if (!axes || !axes->divided.empty()) return not_affine(factors[i].read);
    factors[i].axes = std::move(*axes);
  }
  return match_roles(op, std::move(factors[0]), std::move(factors[1]), result);
}

// Whether a tile of such values can be computed in registers beside a tile of results: what is left
// out takes many operations and registers for each value, or values of another width.
bool is_cheap(const Expr& e) {
  switch (e->op) {
    case ExprOp::constant:
    case ExprOp::size:
    case ExprOp::axis:
    case ExprOp::read:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::neg:
    case ExprOp::abs:
      return true;
    case ExprOp::cast:
      return without_casts(e)->op == ExprOp::read;
    default:
      return false;
  }
}

// The operands of a body and nothing else, or the reason why it has others.
std::string find_operands(const Expr& body, std::vector<Operand>* operands) {
  constexpr size_t kMostOperations = 12;
  std::unordered_set<const ExprNode*> seen;
  std::vector<Expr> open = {body};
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (!seen.insert(&e.node()).second) continue;
    if (seen.size() > kMostOperations) {
      return fmt::format("expected a body of at most {} operations, got more", kMostOperations);
    }
    if (!is_cheap(e)) {
      return fmt::format(
          "expected a body of sums, differences, products, minima, maxima and signs, got {}",
          to_string(e->op));
    }
    if (e->op != ExprOp::read) {
      open.insert(open.end(), e->args.rbegin(), e->args.rend());
      continue;
    }
    const bool is_known =
        std::any_of(operands->begin(), operands->end(),
                    [&](const Operand& operand) { return equal(operand.read, e); });
    if (is_known) continue;
    std::optional<ReadAxes> axes = axes_of(e);
    if (!axes) return not_affine(e);
    operands->push_back({e, std::move(*axes)});
  }
  return "";
}

// A reduction of any cheap body over two operands.
std::string match_body(const Op& op, Contraction* result) {
  if (op.combiner == Combiner::none) return "expected a combiner, got none";
  std::vector<Operand> operands;
  std::string reason = find_operands(op.body, &operands);
  if (!reason.empty()) return reason;
  if (operands.size() != 2) {
    return fmt::format("expected a body of two operands, got {}", operands.size());
  }
  return match_roles(op, std::move(operands[0]), std::move(operands[1]), result);
}

bool uses_any(const Operand& operand, const std::vector<std::string>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const std::string& axis) { return operand.axes.all.count(axis) > 0; });
}

// A reduction of any cheap body over more than two.
std::string match_more(const Op& op, Contraction* result) {
  if (op.combiner == Combiner::none) return "expected a combiner, got none";
  std::vector<Operand> operands;
  std::string reason = find_operands(op.body, &operands);
  if (!reason.empty()) return reason;
  if (operands.size() < 3) {
    return fmt::format("expected a body of at least three operands, got {}", operands.size());
  }
  if (op.axes.empty()) return "expected rows and columns, got a single value";
  const auto sums_up = [&](const Operand& operand) {
    return std::all_of(op.reduction_axes.begin(), op.reduction_axes.end(),
                       [&](const Axis& axis) { return operand.uses(axis); });
  };
  const auto b = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
    return sums_up(operand) && operand.uses(op.axes.back());
  });
  const auto a = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
    const auto is_row = [&](const Axis& axis) {
      return operand.uses(axis) && b != operands.end() && !b->uses(axis);
    };
    return sums_up(operand) && !operand.uses(op.axes.back()) &&
           std::any_of(op.axes.begin(), op.axes.end(), is_row);
  });
  if (a == operands.end()) {
    return "expected one operand of the rows and one of the columns, with all reduction axes";
  }
  std::string roles = match_roles(op, *a, *b, result);
  if (!roles.empty()) return roles;
  for (auto operand = operands.begin(); operand != operands.end(); ++operand) {
    if (operand == a || operand == b) continue;
    if (!operand->axes.divided.empty()) return not_affine(operand->read);
    if (uses_any(*operand, result->row_axes) && uses_any(*operand, result->column_axes)) {
      return fmt::format("expected no operand of rows and columns, got {}",
                         to_string(operand->read));
    }
    result->others.push_back(operand->read);
  }
  return "";
}

void check_is_compute(const Op& op) {
  EMULSION_CHECK(op.kind == OpKind::compute, "{} is no single comprehension", op.name);
}

std::optional<Contraction> match_op(const Op& op, std::string (*match)(const Op&, Contraction*),
                                    std::string* why_not) {
  check_is_compute(op);
  Contraction result;
  const std::string reason = match(op, &result);
  if (reason.empty()) return result;
  if (why_not) *why_not = reason;
  return std::nullopt;
}

}  // namespace

OpClass classify(const Op& op) {
  check_is_compute(op);
  if (op.combiner == Combiner::none) {
    return is_elementwise(op) ? OpClass::elementwise : OpClass::data_movement;
  }
  return match_contraction(op) ? OpClass::contraction : OpClass::reduction;
}

std::optional<Contraction> match_contraction(const Op& op, std::string* why_not) {
  return match_op(op, match_body, why_not);
}

std::optional<Contraction> match_several(const Op& op, std::string* why_not) {
  return match_op(op, match_more, why_not);
}

std::optional<Contraction> match_product(const Op& op, std::string* why_not) {
  return match_op(op, match_factors, why_not);
}

std::optional<Contraction> match_product(const Stage& stage) {
  Contraction result;
  if (match_factors(stage, &result).empty()) return result;
  return std::nullopt;
}

std::string to_string(OpClass op_class) {
  switch (op_class) {
    case OpClass::elementwise:
      return "elementwise";
    case OpClass::contraction:
      return "contraction";
    case OpClass::reduction:
      return "reduction";
    case OpClass::data_movement:
      return "data movement";
  }
  EMULSION_CHECK(false, "no such class {}", static_cast<int>(op_class));
  return "";
}

}  // namespace emulsion
