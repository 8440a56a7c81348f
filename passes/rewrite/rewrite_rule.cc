#include "passes/rewrite/rewrite_rule.h"

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/rewrite/literal_of.h"

namespace emulsion {
namespace {

bool is_wildcard(const Op& op) { return op.kind == OpKind::input || op.kind == OpKind::weight; }

std::string described(const Op& op) {
  return fmt::format("{} of {}{}", op.name, to_string(op.dtype), to_string(op.shape));
}

// Writes operations out where they are read.
class Inliner {
 public:
  Inliner(const RewriteRule& rule, std::map<std::string, const Op*>* reductions)
      : rule_(rule), reductions_of_(reductions) {}

  Expr value_of(const OpPtr& op, const std::vector<Expr>& indices) {
    if (is_wildcard(*op)) return read_op(op, indices);
    if (op->kind == OpKind::constant) {
      const Expr read = read_op(op, indices);
      return literal_of(read).value_or(read);
    }
    std::unordered_map<std::string, Expr> axes;
    for (size_t i = 0; i < op->axes.size(); ++i) axes[op->axes[i].name()] = indices[i];
    std::vector<Axis> reduced;
    ++reductions_;
    for (size_t i = 0; i < op->reduction_axes.size(); ++i) {
      reduced.emplace_back(fmt::format("r{}_{}", reductions_, i), op->reduction_axes[i].extent());
      axes[op->reduction_axes[i].name()] = axis_value(reduced.back().name());
    }
    Expr body = written_out(op->body, axes);
    if (op->combiner == Combiner::none) return body;
    reductions_of_->emplace(reduced[0].name(), op.get());
    auto node = std::make_shared<ExprNode>();
    node->op = ExprOp::reduce;
    node->dtype = op->dtype;
    node->args = {std::move(body)};
    node->combiner = op->combiner;
    node->axes = std::move(reduced);
    return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
  }

 private:
  // No memory of what was seen: a value that is used twice is matched twice, perhaps by two
  // operations.
  Expr written_out(const Expr& e, const std::unordered_map<std::string, Expr>& axes) {
    if (++nodes_ > kMostPatternNodes) {
      fail("rule {}: expected a pattern of at most {} operations when it is written out, got more",
           rule_.name, kMostPatternNodes);
    }
    if (e->op == ExprOp::axis) return axes.at(e->name);
    std::vector<Expr> args;
    for (const Expr& arg : e->args) args.push_back(written_out(arg, axes));
    if (e->op == ExprOp::read) return value_of(e->tensor, args);
    return with_args(e, std::move(args));
  }

  const RewriteRule& rule_;
  std::map<std::string, const Op*>* reductions_of_;
  int64_t nodes_ = 0;
  int reductions_ = 0;
};

// An output of the pattern, written out.
CheckedRule::Output output_of(const RewriteRule& rule, const OpPtr& output, Inliner* inliner) {
  const std::vector<Expr> axes(output->axes.begin(), output->axes.end());
  CheckedRule::Output written{output->axes, inliner->value_of(output, axes)};
  if (written.value->op == ExprOp::read || written.value->op == ExprOp::constant) {
    fail("rule {}: expected a pattern that computes something, got {}", rule.name,
         to_string(written.value));
  }
  std::set<std::string> names;
  visit(written.value, [&](const Expr& e) {
    if (e->op == ExprOp::read && is_wildcard(*e->tensor)) names.insert(e->tensor->name);
  });
  written.reads.assign(names.begin(), names.end());
  return written;
}

// Around what the outputs before it read an output is looked for.
void check_reads(const RewriteRule& rule, const std::vector<CheckedRule::Output>& outputs) {
  std::set<std::string> known(outputs[0].reads.begin(), outputs[0].reads.end());
  for (size_t i = 1; i < outputs.size(); ++i) {
    const std::vector<std::string>& reads = outputs[i].reads;
    if (std::none_of(reads.begin(), reads.end(),
                     [&](const std::string& name) { return known.count(name) > 0; })) {
      fail("rule {}: expected {} to read a wildcard that an output before it reads, got none",
           rule.name, rule.pattern.outputs()[i]->name);
    }
    known.insert(reads.begin(), reads.end());
  }
}

// What takes the places of the pattern's outputs.
void check_results(const RewriteRule& rule) {
  const std::vector<OpPtr>&outputs = rule.pattern.outputs(), &made = rule.replacement.outputs();
  if (outputs.size() != made.size()) {
    fail("rule {}: expected a replacement of as many outputs as the pattern has, {}, got {}",
         rule.name, outputs.size(), made.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (made[i]->dtype == outputs[i]->dtype && made[i]->shape == outputs[i]->shape) continue;
    fail("rule {}: expected a replacement of the pattern's type and shape, {}, got {}", rule.name,
         described(*outputs[i]), described(*made[i]));
  }
}

void check_wildcard(const RewriteRule& rule, const Op& op) {
  const OpPtr* found = rule.pattern.find(op.name);
  std::string legal;
  for (const OpPtr& wildcard : rule.pattern.arguments()) {
    legal += (legal.empty() ? "" : ", ") + wildcard->name;
  }
  if (found == nullptr || !is_wildcard(**found)) {
    fail("rule {}: expected a replacement of the pattern's wildcards, got {}; legal: {}", rule.name,
         op.name, legal.empty() ? "it has none" : legal);
  }
  if ((*found)->dtype != op.dtype || (*found)->shape != op.shape || (*found)->kind != op.kind) {
    const auto kind = [](const Op& one) { return one.kind == OpKind::input ? "input" : "weight"; };
    fail("rule {}: expected the wildcard {} {} in the replacement too, got {} {}", rule.name,
         kind(**found), described(**found), kind(op), described(op));
  }
}

bool has_rank_0_everywhere(const std::vector<OpPtr>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const OpPtr& op) {
    return op->shape.empty() && op->reduction_axes.empty() && has_rank_0_everywhere(op->members);
  });
}

}  // namespace

CheckedRule check_rule(const RewriteRule& rule) {
  if (rule.name.empty()) fail("a rewrite rule: expected a name, got none");
  for (const OpPtr& op : rule.pattern.ops()) {
    if (op->kind == OpKind::fused) {
      fail("rule {}: expected a pattern of comprehensions, got the group {}", rule.name, op->name);
    }
  }
  for (const OpPtr& output : rule.pattern.outputs()) {
    if (output->kind == OpKind::compute) continue;
    fail("rule {}: expected a pattern that computes something, got {} alone", rule.name,
         output->name);
  }
  const std::vector<OpPtr> wildcards = rule.pattern.arguments();
  if (wildcards.empty()) {
    fail("rule {}: expected a pattern with a wildcard, which is an input or a weight, got none",
         rule.name);
  }
  for (const OpPtr& op : rule.replacement.arguments()) check_wildcard(rule, *op);
  check_results(rule);
  const std::vector<std::string>& bound = rule.pattern.sizes();
  for (const std::string& size : rule.replacement.sizes()) {
    if (!std::binary_search(bound.begin(), bound.end(), size)) {
      fail("rule {}: expected a replacement of the pattern's run-time sizes, got {}", rule.name,
           size);
    }
  }
  CheckedRule checked{&rule, wildcards, {}, {}, has_rank_0_everywhere(rule.pattern.ops())};
  if (checked.pointwise && !has_rank_0_everywhere(rule.replacement.ops())) {
    fail("rule {}: expected a replacement of rank 0 everywhere, as the pattern is, got another",
         rule.name);
  }
  Inliner inliner(rule, &checked.reductions);
  for (const OpPtr& output : rule.pattern.outputs()) {
    checked.outputs.push_back(output_of(rule, output, &inliner));
  }
  check_reads(rule, checked.outputs);
  return checked;
}

std::vector<OpPtr> Match::results() const {
  std::vector<OpPtr> all = {result};
  all.insert(all.end(), other_results.begin(), other_results.end());
  return all;
}

}  // namespace emulsion
