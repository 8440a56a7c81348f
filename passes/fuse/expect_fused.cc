#include "passes/fuse/expect_fused.h"

#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/rewrite/match_pattern.h"

namespace emulsion {
namespace {

std::vector<std::string> steps_of(const std::string& name) {
  std::vector<std::string> steps;
  std::istringstream text(name);
  for (std::string step; std::getline(text, step, '+');) steps.push_back(step);
  return steps;
}

// How many axes the contraction sums over.
size_t reduction_of(const std::string& name, const std::vector<std::string>& steps) {
  if (steps.size() >= 2 && steps[0] == "matmul") return 1;
  if (steps.size() >= 2 && steps[0] == "conv") return 3;
  fail(
      "fail_on_unfused: expected matmul or conv and what follows it, got {}; legal: as in "
      "matmul+bias+relu",
      name);
}

// The name as a pattern: rows, one column axis, reduction axes.
Graph pattern_of(const std::string& name, const std::vector<std::string>& steps, DType dtype,
                 size_t rank) {
  std::vector<Axis> axes, reduced, of_x;
  for (size_t i = 0; i < rank; ++i) {
    axes.emplace_back("i" + std::to_string(i), Extent::size("S" + std::to_string(i)));
  }
  for (size_t i = 0; i < reduction_of(name, steps); ++i) {
    reduced.emplace_back("k" + std::to_string(i), Extent::size("K" + std::to_string(i)));
  }
  of_x = axes;  // the columns too: a group of a convolution reads channels of its own
  of_x.insert(of_x.end(), reduced.begin(), reduced.end());
  std::vector<Axis> of_w = reduced;
  of_w.push_back(axes.back());
  const auto leaf = [&](const std::string& leaf_name, const std::vector<Axis>& over) {
    Shape shape;
    for (const Axis& axis : over) shape.push_back(axis.extent());
    return input(leaf_name, dtype, shape);
  };
  const auto at = [](const Tensor& tensor, const std::vector<Axis>& over) {
    return tensor.at({over.begin(), over.end()});
  };
  Tensor x = leaf("x", of_x), w = leaf("w", of_w);
  Tensor value = compute("", axes, sum(reduced, at(x, of_x) * at(w, of_w)));
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] == "bias") {
      value = value + leaf("bias" + std::to_string(i), {axes.back()});
    } else if (steps[i] == "relu") {
      value = relu(value);
    } else if (steps[i] == "gelu") {
      value = gelu(value);
    } else if (steps[i] == "sigmoid") {
      value = sigmoid(value);
    } else if (steps[i] == "tanh") {
      value = tanh(value);
    } else {
      fail("fail_on_unfused, {}: expected bias, relu, gelu, sigmoid or tanh, got {}", name,
           steps[i]);
    }
  }
  return Graph(value);
}

// Names of comprehensions -> of the group that holds them.
std::unordered_map<std::string, std::string> groups_of(const Graph& grouped) {
  std::unordered_map<std::string, std::string> groups;
  for (const OpPtr& op : grouped.ops()) {
    for (const OpPtr& member : op->members) groups[member->name] = op->name;
  }
  return groups;
}

std::string reason_for(const std::string& name, const FusionReport& report) {
  for (const FusionDecision& decision : report.decisions) {
    if (decision.producer == name && !decision.fused) return decision.reason;
  }
  return "nothing was fused";
}

}  // namespace

void expect_fused(const Graph& graph, const Graph& grouped, const FusionReport& report,
                  const std::vector<std::string>& names) {
  if (names.empty()) return;
  GraphAround around;  // whoever else needs an inner value: it is a candidate all the same
  around.is_known = [](const Op&) { return true; };
  around.why_not = [](const Match&) { return std::nullopt; };
  const std::unordered_map<std::string, std::string> groups = groups_of(grouped);
  const auto group_of = [&](const OpPtr& op) {
    auto found = groups.find(op->name);
    return found == groups.end() ? op->name : found->second;
  };
  for (const std::string& name : names) {
    const std::vector<std::string> steps = steps_of(name);
    reduction_of(name, steps);
    bool found = false;
    std::map<std::pair<DType, size_t>, RewriteRule> rules;  // by type and rank
    for (const OpPtr& op : graph.ops()) {
      if (op->kind != OpKind::compute || op->shape.empty() || !is_float(op->dtype)) continue;
      const std::pair<DType, size_t> form(op->dtype, op->shape.size());
      if (!rules.count(form)) {
        const Graph pattern = pattern_of(name, steps, form.first, form.second);
        rules.emplace(form, RewriteRule{name, pattern, pattern});
      }
      const MatchResult result = match_pattern(check_rule(rules.at(form)), op, around);
      if (!result.match) continue;
      found = true;
      for (const OpPtr& inner : result.match->inner) {
        if (group_of(inner) == group_of(op)) continue;
        fail("fail_on_unfused: expected {} at {} to be one group, got {} apart from it: {}", name,
             op->name, inner->name, reason_for(inner->name, report));
      }
    }
    if (!found) fail("fail_on_unfused: expected {} in the graph, got none", name);
  }
}

}  // namespace emulsion
