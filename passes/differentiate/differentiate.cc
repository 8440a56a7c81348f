#include "passes/differentiate/differentiate.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/expr.h"
#include "passes/differentiate/invert_index.h"
#include "passes/differentiate/scalar_derivatives.h"
#include "passes/differentiate/scatter_read.h"

namespace emulsion {
namespace {

// Producers before users, without recursion: graphs can be deep.
std::vector<OpPtr> producers_first(const std::vector<Tensor>& ys) {
  std::vector<OpPtr> order;
  std::unordered_set<const Op*> entered;
  std::vector<std::pair<OpPtr, bool>> open;  // and whether what it reads is there
  open.reserve(ys.size());
  for (const Tensor& y : ys) open.emplace_back(y.op(), false);
  std::reverse(open.begin(), open.end());
  while (!open.empty()) {
    auto [op, is_ready] = std::move(open.back());
    open.pop_back();
    if (is_ready) {
      order.push_back(op);
      continue;
    }
    if (!entered.insert(op.get()).second) continue;
    open.emplace_back(op, true);
    for (OpPtr& operand : operands(*op)) {
      if (!entered.count(operand.get())) open.emplace_back(std::move(operand), false);
    }
  }
  return order;
}

std::vector<Expr> values_of(const std::vector<Axis>& axes) {
  return std::vector<Expr>(axes.begin(), axes.end());
}

// The axes over which a tensor's gradient is written.
std::vector<Axis> axes_of(const Op& op) {
  if (op.kind == OpKind::compute) return op.axes;
  std::vector<Axis> axes;
  for (size_t i = 0; i < op.shape.size(); ++i)
    axes.emplace_back("i" + std::to_string(i), op.shape[i]);
  return axes;
}

constexpr size_t kLongName = 100;  // of the 128 characters of a name

std::string gradient_name(const Op& op, const std::string& what = "grad") {
  return op.name.size() > kLongName ? what : what + "_" + op.name;
}

bool has_one_element(const Op& op) {
  return std::all_of(op.shape.begin(), op.shape.end(),
                     [](const Extent& extent) { return extent == Extent(1); });
}

// The tensor that an expression is, read element by element, if it is one.
Tensor whole_read(const Expr& e, const std::vector<Axis>& axes) {
  if (e->op != ExprOp::read || e->args.size() != axes.size()) return Tensor();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool is_same = e->args[i]->op == ExprOp::axis && e->args[i]->name == axes[i].name() &&
                         e->tensor->shape[i] == axes[i].extent();
    if (!is_same) return Tensor();
  }
  return Tensor(e->tensor);
}

// A comprehension with axes of other names than those of what it reads, so that both can stand in
// one expression.
struct Comprehension {
  std::vector<Axis> axes;  // those of the result first
  size_t of_result = 0;
  Expr body;

  std::vector<Axis> result_axes() const {
    return {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(of_result)};
  }
  std::vector<Axis> reduction_axes() const {
    return {axes.begin() + static_cast<std::ptrdiff_t>(of_result), axes.end()};
  }
};

Comprehension renamed_apart(const Op& op, const std::set<std::string>& taken) {
  Comprehension result;
  std::unordered_map<std::string, std::string> names;
  std::set<std::string> used = taken;
  const auto rename = [&](const Axis& axis) {
    const bool is_free = used.count(axis.name()) == 0;
    const std::string base = axis.name().size() > kLongName ? "s" : axis.name() + "s";
    const std::string name = is_free ? axis.name() : fresh_name(base, used);
    used.insert(name);
    names[axis.name()] = name;
    result.axes.emplace_back(name, axis.extent());
  };
  for (const Axis& axis : op.axes) rename(axis);
  result.of_result = op.axes.size();
  for (const Axis& axis : op.reduction_axes) rename(axis);
  result.body = substitute_axes(op.body, [&](const std::string& name) {
    const std::string& other = names.at(name);
    return other == name ? Expr() : axis_value(other);
  });
  return result;
}

class Differentiator {
 public:
  Differentiator(const std::vector<Tensor>& ys, const std::vector<Tensor>& by)
      : order_(producers_first(ys)) {
    for (const Tensor& tensor : by) wanted_.insert(tensor.op().get());
    for (const OpPtr& op : order_) {
      if (op->kind == OpKind::fused) {
        fail("gradients: expected a graph before fusion, got the group {}; legal: fuse the result",
             op->name);
      }
      if (op->kind != OpKind::compute || wanted_.count(op.get())) continue;
      if (depends_on_wanted(op->body, is_wanted())) wanted_.insert(op.get());
    }
  }

  // What is added to the gradient by an op, over axes_of() it.
  void add(const Op& op, const Expr& term) { terms_[&op].push_back(term); }

  void run() {
    for (size_t i = order_.size(); i-- > 0;) {
      const OpPtr& op = order_[i];
      if (op->kind != OpKind::compute || !terms_.count(op.get())) continue;
      if (!depends_on_wanted(op->body, is_wanted())) continue;
      pass_on(op);
    }
  }

  // Zeros when nothing was added.
  Tensor gradient_by(const OpPtr& op) {
    const Expr total = total_of(*op);
    const std::vector<Axis> axes = axes_of(*op);
    Tensor whole = whole_read(total, axes);
    if (whole.defined() && is_own(whole, gradient_name(*op)) &&
        given_.insert(whole.op().get()).second) {
      return whole;
    }
    Tensor copy = compute("", axes, total, gradient_name(*op));
    given_.insert(copy.op().get());
    return copy;
  }

 private:
  Wanted is_wanted() const {
    return [this](const Op& op) { return wanted_.count(&op) > 0; };
  }

  // The sum of what was added, as a number or a read of a tensor made for it. Once for each op.
  Expr total_of(const Op& op) {
    const auto found = terms_.find(&op);
    if (found == terms_.end()) return constant(op.dtype, 0);
    std::vector<Expr>& terms = found->second;
    const std::vector<Axis> axes = axes_of(op);
    // In parts, so that no expression gets large when very many read an op.
    constexpr size_t kMostTerms = 32;
    while (terms.size() > 1 || !is_settled(terms[0], axes)) {
      std::vector<Expr> sums;
      for (size_t i = 0; i < terms.size(); i += kMostTerms) {
        Expr sum = terms[i];
        for (size_t j = i + 1; j < std::min(i + kMostTerms, terms.size()); ++j) {
          sum = plus(sum, terms[j]);
        }
        sums.push_back(compute("", axes, sum, part_name(op)).at(values_of(axes)));
      }
      terms = std::move(sums);
    }
    if (const Tensor whole = whole_read(terms[0], axes);
        whole.defined() && is_own(whole, part_name(op))) {
      auto renamed = std::make_shared<Op>(*whole.op());  // nothing reads it by its other name
      renamed->name = gradient_name(op);
      terms = {read_op(OpPtr(std::move(renamed)), values_of(axes))};
    }
    return terms[0];
  }

  static std::string part_name(const Op& op) { return gradient_name(op, "part"); }

  // Made here, under this name.
  static bool is_own(const Tensor& tensor, const std::string& name) {
    return tensor.op()->auto_named && tensor.name() == name;
  }

  static bool is_settled(const Expr& e, const std::vector<Axis>& axes) {
    return e->op == ExprOp::constant || whole_read(e, axes).defined();
  }

  // From the gradient by an op to those by what it reads.
  void pass_on(const OpPtr& op) {
    const Expr total = total_of(*op);
    std::set<std::string> taken;
    for (const OpPtr& operand : operands(*op)) {
      for (const Axis& axis : axes_of(*operand)) taken.insert(axis.name());
    }
    const Comprehension own = renamed_apart(*op, taken);
    const std::vector<Expr> place = values_of(own.result_axes());
    const OpPtr cotangent = total->op == ExprOp::read ? total->tensor : nullptr;
    const Expr seed = cotangent ? read_op(cotangent, place) : total;
    std::vector<ReadDerivative> parts;
    switch (op->combiner) {
      case Combiner::none:
      case Combiner::sum: {
        const Expr result =
            op->combiner == Combiner::none && is_costly(op->body) ? read_op(op, place) : Expr();
        parts = read_derivatives(op->name, own.body, seed, result, is_wanted());
        break;
      }
      case Combiner::min:
      case Combiner::max:
      case Combiner::min_number:
      case Combiner::max_number:
        parts = of_extremum(op, own, seed);
        break;
      case Combiner::product:
        parts = read_derivatives(op->name, own.body, times(seed, other_factors(op, own)), Expr(),
                                 is_wanted());
        break;
    }
    scatter(op, own, cotangent, parts);
  }

  // Whether the value of an op is rather read again than computed again.
  static bool is_costly(const Expr& body) {
    switch (body->op) {
      case ExprOp::exp:
      case ExprOp::tanh:
      case ExprOp::sqrt:
      case ExprOp::div:
      case ExprOp::pow:
        return true;
      default:
        return false;
    }
  }

  // Those elements that are the result share its gradient.
  std::vector<ReadDerivative> of_extremum(const OpPtr& op, const Comprehension& own,
                                          const Expr& seed) const {
    const std::vector<Axis> axes = own.result_axes();
    // Compared as it is stored: computed again, a value may be rounded otherwise.
    Expr value = own.body;
    if (value->op != ExprOp::read) {
      value = compute("", own.axes, value, gradient_name(*op, "values")).at(values_of(own.axes));
    }
    const Expr is_result = value == read_op(op, values_of(axes));
    const Expr one = constant(op->dtype, 1);
    const Tensor count =
        compute("", axes, sum(own.reduction_axes(), select(is_result, one, constant(op->dtype, 0))),
                gradient_name(*op, "ties"));
    const Tensor share =
        compute("", axes, seed / count.at(values_of(axes)), gradient_name(*op, "share"));
    std::vector<ReadDerivative> parts =
        read_derivatives(op->name, own.body, share.at(values_of(axes)), Expr(), is_wanted());
    for (ReadDerivative& part : parts) part.guards.insert(part.guards.begin(), {is_result, true});
    return parts;
  }

  // The product of the factors but one, at the point of that one: no quotient, for it may be 0.
  static Expr other_factors(const OpPtr& op, const Comprehension& own) {
    std::vector<Axis> others;
    std::set<std::string> taken;
    for (const Axis& axis : own.axes) taken.insert(axis.name());
    Expr is_same;
    std::unordered_map<std::string, Expr> values;
    for (const Axis& axis : own.reduction_axes()) {
      others.emplace_back(fresh_name("other", taken), axis.extent());
      taken.insert(others.back().name());
      values[axis.name()] = others.back();
      const Expr same = Expr(axis) == Expr(others.back());
      is_same = is_same.defined() ? is_same && same : same;
    }
    const Expr factor = substitute_axes(own.body, [&](const std::string& axis) {
      const auto found = values.find(axis);
      return found == values.end() ? Expr() : found->second;
    });
    const Tensor rest =
        compute("", own.axes, product(others, select(is_same, constant(op->dtype, 1), factor)),
                gradient_name(*op, "factors"));
    return rest.at(values_of(own.axes));
  }

  void scatter(const OpPtr& op, const Comprehension& own, const OpPtr& cotangent,
               std::vector<ReadDerivative>& parts) {
    PointsOfRead points = {op->name, own.axes, own.of_result, cotangent};
    for (const std::vector<Axis>* axes : {&op->axes, &op->reduction_axes}) {
      for (const Axis& axis : *axes) points.names_as_written.push_back(axis.name());
    }
    for (const ReadDerivative& part : parts) {
      const Op& tensor = *part.read->tensor;
      const Expr term = scatter_read(points, part, axes_of(tensor), part_name(tensor));
      if (term.defined()) add(tensor, term);
    }
  }

  const std::vector<OpPtr> order_;
  std::unordered_set<const Op*> wanted_;  // a gradient passes through these
  std::unordered_map<const Op*, std::vector<Expr>> terms_;
  std::unordered_set<const Op*> given_;
};

void check_float(const std::string& what, const Tensor& tensor) {
  if (!tensor.defined()) fail("gradients: expected {}, got an undefined tensor", what);
  if (!is_float(tensor.dtype())) {
    fail("gradients: expected {} of type f32 or f64, got {} of {}", what, tensor.name(),
         to_string(tensor.dtype()));
  }
}

Expr seed_of(const Tensor& y, const Tensor& cotangent) {
  if (!cotangent.defined()) {
    if (!has_one_element(*y.op())) {
      fail(
          "gradients: expected one element, or a cotangent of the same shape, got {} of shape {} "
          "without one; legal: gradients({}, ..., cotangent), or the sum or mean of it",
          y.name(), to_string(y.shape()), y.name());
    }
    return constant(y.dtype(), 1);
  }
  if (cotangent.dtype() != y.dtype() || cotangent.shape() != y.shape()) {
    fail("gradients: expected a cotangent of {}: {} {}, got {}: {} {}", y.name(),
         to_string(y.dtype()), to_string(y.shape()), cotangent.name(), to_string(cotangent.dtype()),
         to_string(cotangent.shape()));
  }
  return cotangent.at(values_of(axes_of(*y.op())));
}

}  // namespace

std::vector<Tensor> gradients(const std::vector<Tensor>& ys, const std::vector<Tensor>& by,
                              const std::vector<Tensor>& cotangents) {
  if (ys.empty()) fail("gradients: expected at least one tensor to differentiate, got none");
  if (by.empty()) fail("gradients: expected at least one tensor to differentiate by, got none");
  if (cotangents.size() != ys.size()) {
    fail("gradients: expected {}, one (or an undefined tensor) for each tensor, got {}",
         count_text(ys.size(), "cotangent", "cotangents"), cotangents.size());
  }
  for (const Tensor& y : ys) check_float("a tensor to differentiate", y);
  std::set<const Op*> distinct;
  for (const Tensor& tensor : by) {
    check_float("a tensor to differentiate by", tensor);
    if (!distinct.insert(tensor.op().get()).second) {
      fail("gradients: expected distinct tensors to differentiate by, got {} twice", tensor.name());
    }
  }
  Differentiator differentiator(ys, by);
  for (size_t i = 0; i < ys.size(); ++i) {
    differentiator.add(*ys[i].op(), seed_of(ys[i], cotangents[i]));
  }
  differentiator.run();
  std::vector<Tensor> result;
  result.reserve(by.size());
  for (const Tensor& tensor : by) result.push_back(differentiator.gradient_by(tensor.op()));
  return result;
}

std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& by,
                              const Tensor& cotangent) {
  return gradients(std::vector<Tensor>{y}, by, {cotangent});
}

Graph differentiate(const Graph& graph, const std::vector<Tensor>& by) {
  std::vector<Tensor> own, ys, cotangents, outputs;
  own.reserve(by.size());
  for (const Tensor& tensor : by) own.emplace_back(*graph.find(graph.name_of(tensor)));
  std::set<std::string> names;
  for (const OpPtr& op : graph.ops()) names.insert(op->name);
  const bool is_loss = graph.outputs().size() == 1 && has_one_element(*graph.outputs()[0]);
  for (const OpPtr& op : graph.outputs()) {
    outputs.emplace_back(op);
    if (!is_float(op->dtype)) continue;
    ys.emplace_back(op);
    cotangents.push_back(
        is_loss ? Tensor() : input(fresh_name(gradient_name(*op), names), op->dtype, op->shape));
  }
  if (ys.empty()) fail("gradients: expected an output of type f32 or f64, got none");
  for (const Tensor& gradient : gradients(ys, own, cotangents)) outputs.push_back(gradient);
  const Graph result(outputs);
  std::vector<Tensor> arguments;
  for (const OpPtr& op : graph.arguments()) arguments.emplace_back(op);
  for (const Tensor& cotangent : cotangents) {
    if (!cotangent.defined()) continue;
    // By that name there may be an operation that was numbered, when no gradient needs the input.
    const OpPtr* op = result.find(cotangent.name());
    if (op != nullptr && (*op)->kind == OpKind::input) arguments.push_back(cotangent);
  }
  return result.arguments(arguments);
}

}  // namespace emulsion
