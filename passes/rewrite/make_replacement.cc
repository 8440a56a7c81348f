#include "passes/rewrite/make_replacement.h"

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/rewrite/bindings.h"

namespace emulsion {
namespace {

class Maker {
 public:
  Maker(const CheckedRule& rule, const Match& match,
        const std::function<std::string(const std::string&)>& new_name)
      : rule_(rule), match_(match), new_name_(new_name) {}

  Replacement make(const std::function<bool(const Op&)>& keeps_name) {
    const std::vector<OpPtr>& outputs = rule_.rule->replacement.outputs();
    const std::vector<OpPtr> results = match_.results();
    for (size_t i = 0; i < outputs.size(); ++i) result_of_[outputs[i].get()] = results[i];
    for (const OpPtr& op : rule_.rule->replacement.ops()) {
      if (op->kind == OpKind::constant) {
        auto copy = std::make_shared<Op>(*op);
        copy->name = new_name_(op->name);
        add(op, std::move(copy));
      } else if (op->kind == OpKind::compute || op->kind == OpKind::fused) {
        const auto result = result_of_.find(op.get());
        const std::string name =
            result == result_of_.end() ? new_name_(op->name) : result->second->name;
        add(op, op->kind == OpKind::fused ? group_of(*op, name) : comprehension_of(*op, name));
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool is_there = outputs[i]->kind == OpKind::constant || is_wildcard(*outputs[i]);
      replacement_.results.push_back(
          is_there ? value_that_is_there(outputs[i], *results[i], keeps_name(*results[i]))
                   : made_.at(outputs[i].get()));
    }
    return std::move(replacement_);
  }

 private:
  static bool is_wildcard(const Op& op) {
    return op.kind == OpKind::input || op.kind == OpKind::weight;
  }

  OpPtr comprehension_of(const Op& op, const std::string& name) const {
    return compute(name, axes_of(op), body_of(op)).op();
  }

  OpPtr group_of(const Op& op, const std::string& name) {
    auto group = std::make_shared<Op>(op);
    group->name = name;
    for (OpPtr& member : group->members) {
      const bool is_last = member == op.members.back();
      const OpPtr made = comprehension_of(*member, is_last ? name : new_name_(member->name));
      made_[member.get()] = made;
      member = made;
    }
    group->shape = group->members.back()->shape;
    return group;
  }

  // Axes of the result of a match: in a pointwise rule those of every operation.
  const std::vector<Axis>& result_axes() const { return match_.result->axes; }

  std::vector<Axis> axes_of(const Op& op) const {
    if (rule_.pointwise) return result_axes();
    return in_extents(op.axes);
  }

  std::vector<Axis> in_extents(const std::vector<Axis>& axes) const {
    std::vector<Axis> result;
    result.reserve(axes.size());
    for (const Axis& axis : axes) {
      result.emplace_back(axis.name(), extent_of(axis.extent(), match_.sizes));
    }
    return result;
  }

  Expr body_of(const Op& op) const {
    const Expr body = with_sizes(op.body, match_.sizes);
    Expr value = transform(body, [&](const Expr& e) {
      return e->op == ExprOp::read ? value_of(e->tensor, e->args) : Expr();
    });
    if (op.combiner == Combiner::none) return value;
    auto node = std::make_shared<ExprNode>();
    node->op = ExprOp::reduce;
    node->dtype = op.dtype;
    node->args = {value};
    node->combiner = op.combiner;
    node->axes = in_extents(op.reduction_axes);
    return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
  }

  Expr value_of(const OpPtr& op, const std::vector<Expr>& indices) const {
    auto made = made_.find(op.get());
    if (made == made_.end())
      return at_result_axes(value_at(match_.wildcards.at(op->name), indices));
    if (!rule_.pointwise || op->kind == OpKind::constant) return read_op(made->second, indices);
    return read_op(made->second, {result_axes().begin(), result_axes().end()});
  }

  // Of a pointwise rule: what the matcher calls "@0".
  Expr at_result_axes(const Expr& value) const {
    return substitute_axes(value, [&](const std::string& name) {
      return name[0] == '@' ? Expr(result_axes().at(std::stoul(name.substr(1)))) : Expr();
    });
  }

  void add(const OpPtr& op, OpPtr made) {
    made_[op.get()] = made;
    replacement_.made.push_back(std::move(made));
  }

  // A wildcard or a constant alone, in the place of `result`.
  OpPtr value_that_is_there(const OpPtr& output, const Op& result, bool keeps_name) {
    const std::vector<Axis>& axes = rule_.pointwise ? result_axes() : result.axes;
    std::vector<Expr> indices;
    if (!rule_.pointwise) indices.assign(axes.begin(), axes.end());
    const Expr value = value_of(output, indices);
    const bool is_whole = value->op == ExprOp::read && value->tensor->shape == result.shape &&
                          reads_at_axes(value, axes);
    if (is_whole && !keeps_name) return value->tensor;
    replacement_.made.push_back(compute(result.name, axes, value).op());
    return replacement_.made.back();
  }

  static bool reads_at_axes(const Expr& read, const std::vector<Axis>& axes) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (read->args[i]->op != ExprOp::axis || read->args[i]->name != axes[i].name()) return false;
    }
    return true;
  }

  const CheckedRule& rule_;
  const Match& match_;
  const std::function<std::string(const std::string&)>& new_name_;
  std::unordered_map<const Op*, OpPtr> made_;
  std::unordered_map<const Op*, OpPtr> result_of_;  // of the match, by output of the replacement
  Replacement replacement_;
};

}  // namespace

Replacement make_replacement(const CheckedRule& rule, const Match& match,
                             const std::function<bool(const Op&)>& keeps_name,
                             const std::function<std::string(const std::string&)>& new_name) {
  Replacement made = Maker(rule, match, new_name).make(keeps_name);
  const std::vector<OpPtr> results = match.results();
  for (size_t i = 0; i < results.size(); ++i) {
    EMULSION_CHECK(
        made.results[i]->dtype == results[i]->dtype && made.results[i]->shape == results[i]->shape,
        "rule {}: {} of another type or shape", match.rule, results[i]->name);
  }
  return made;
}

}  // namespace emulsion
