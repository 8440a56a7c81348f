#include "passes/rewrite/rewrite_rule.h"

#include <algorithm>
#include <memory>
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
  explicit Inliner(const RewriteRule& rule) : rule_(rule) {}

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
    if (args.empty()) return e;
    auto node = std::make_shared<ExprNode>(e.node());
    node->args = std::move(args);
    return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
  }

  const RewriteRule& rule_;
  int64_t nodes_ = 0;
  int reductions_ = 0;
};

void check_outputs(const RewriteRule& rule, const char* what, const Graph& graph) {
  if (graph.outputs().size() != 1) {
    fail("rule {}: expected a {} of one output, got {}", rule.name, what, graph.outputs().size());
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
  check_outputs(rule, "pattern", rule.pattern);
  check_outputs(rule, "replacement", rule.replacement);
  for (const OpPtr& op : rule.pattern.ops()) {
    if (op->kind == OpKind::fused) {
      fail("rule {}: expected a pattern of comprehensions, got the group {}", rule.name, op->name);
    }
  }
  const OpPtr& output = rule.pattern.outputs().front();
  if (output->kind != OpKind::compute) {
    fail("rule {}: expected a pattern that computes something, got {} alone", rule.name,
         output->name);
  }
  const std::vector<OpPtr> wildcards = rule.pattern.arguments();
  if (wildcards.empty()) {
    fail("rule {}: expected a pattern with a wildcard, which is an input or a weight, got none",
         rule.name);
  }
  for (const OpPtr& op : rule.replacement.arguments()) check_wildcard(rule, *op);
  const OpPtr& made = rule.replacement.outputs().front();
  if (made->dtype != output->dtype || made->shape != output->shape) {
    fail("rule {}: expected a replacement of the pattern's type and shape, {}, got {}", rule.name,
         described(*output), described(*made));
  }
  const std::vector<std::string> bound = rule.pattern.sizes();
  for (const std::string& size : rule.replacement.sizes()) {
    if (!std::binary_search(bound.begin(), bound.end(), size)) {
      fail("rule {}: expected a replacement of the pattern's run-time sizes, got {}", rule.name,
           size);
    }
  }
  CheckedRule checked{&rule, wildcards, output->axes, Expr(),
                      has_rank_0_everywhere(rule.pattern.ops())};
  if (checked.pointwise && !has_rank_0_everywhere(rule.replacement.ops())) {
    fail("rule {}: expected a replacement of rank 0 everywhere, as the pattern is, got another",
         rule.name);
  }
  const std::vector<Expr> axes(output->axes.begin(), output->axes.end());
  checked.value = Inliner(rule).value_of(output, axes);
  if (checked.value->op == ExprOp::read || checked.value->op == ExprOp::constant) {
    fail("rule {}: expected a pattern that computes something, got {}", rule.name,
         to_string(checked.value));
  }
  return checked;
}

}  // namespace emulsion
