#include "passes/fuse/measured_fusions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/version.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/named_pattern.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr const char* kWhat = "measured fusion";

using Edge = std::pair<std::string, std::string>;  // producer, consumer
using Verdicts = std::map<Edge, std::string>;      // why not; empty: it was not slower

int64_t power_of_two_below(int64_t value) {
  int64_t power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

// As shape_class() writes it.
bool is_shape_class(const std::string& text) {
  constexpr size_t kMostDigits = 19;
  size_t parts = 0, at = 0;
  for (size_t end = 0; end != std::string::npos; at = end + 1, ++parts) {
    end = text.find('x', at);
    const std::string part = text.substr(at, end == std::string::npos ? end : end - at);
    const bool is_number = !part.empty() && part.size() <= kMostDigits && part[0] != '0' &&
                           part.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) return false;
    const uint64_t value = std::stoull(part);
    if ((value & (value - 1)) != 0) return false;
  }
  return parts == 2 || parts == 3;
}

bool is_by_shape(const std::string& pattern) {
  const std::vector<std::string>& all = patterns_by_shape();
  return std::find(all.begin(), all.end(), pattern) != all.end();
}

// The facts about one pattern here, by class of shapes.
using FactsByClass = std::map<std::string, const MeasuredFusion*>;

// Those that were measured on this machine, with this version, by pattern.
std::map<std::string, FactsByClass> facts_here(const Target& target,
                                               const std::vector<MeasuredFusion>& facts) {
  const std::string machine = target.to_string_with_machine();
  std::map<std::string, FactsByClass> here;
  for (const MeasuredFusion& fact : facts) {
    check_measured_fusion(fact);
    if (fact.target != machine || fact.version != EMULSION_VERSION) continue;
    here[fact.pattern].emplace(fact.shape_class, &fact);
  }
  return here;
}

// The class for people: of softmax and the norms the depth is the product of all that they sum
// over, of which rows and columns say enough.
std::string shapes_of(const MeasuredFusion& fact) {
  const std::string first = fact.pattern.substr(0, fact.pattern.find('+'));
  if (first != "softmax" && first != "layer_norm" && first != "rms_norm") return fact.shape_class;
  const size_t columns = fact.shape_class.find('x') + 1;
  return fact.shape_class.substr(0, fact.shape_class.find('x', columns));
}

std::string verdict_of(const MeasuredFusion& fact) {
  if (fact.speed_up >= kMeasuredSlower) return "";
  return fmt::format(
      "expected {} at shapes of {} to gain, measured {:.2f} of unfused on this machine, {}",
      fact.pattern, shapes_of(fact), fact.speed_up, count_text(fact.runs, "run", "runs"));
}

// The edges inside of a match get a verdict, unless a longer pattern has given them one.
void judge(const Match& match, const std::string& verdict, Verdicts* verdicts) {
  std::vector<OpPtr> consumers = match.inner;
  consumers.push_back(match.result);
  for (const OpPtr& consumer : consumers) {
    for (const OpPtr& producer : operands(*consumer)) {
      if (!std::count(match.inner.begin(), match.inner.end(), producer)) continue;
      verdicts->emplace(Edge(producer->name, consumer->name), verdict);
    }
  }
}

Verdicts verdicts_on(const Graph& graph, const Target& target,
                     const std::vector<MeasuredFusion>& facts) {
  const std::map<std::string, FactsByClass> here = facts_here(target, facts);
  std::vector<std::unique_ptr<NamedPattern>> patterns;
  for (const auto& [name, unused] : here) {
    if (is_by_shape(name)) continue;  // which are no patterns of edges
    patterns.push_back(std::make_unique<NamedPattern>(kWhat, name));
  }
  std::stable_sort(patterns.begin(), patterns.end(), [](const auto& a, const auto& b) {
    return a->steps().size() > b->steps().size();
  });
  Verdicts verdicts;
  for (const auto& pattern : patterns) {
    const FactsByClass& of_pattern = here.at(pattern->name());
    for (const OpPtr& op : graph.ops()) {
      const std::optional<Match> match = pattern->match(op);
      const auto its_class = match ? shape_class_of(*match) : std::nullopt;
      const auto fact = its_class ? of_pattern.find(*its_class) : of_pattern.end();
      if (fact != of_pattern.end()) judge(*match, verdict_of(*fact->second), &verdicts);
    }
  }
  return verdicts;
}

// Nothing of an empty verdict.
std::optional<FusionRefusal> refusal_by(const std::string& verdict) {
  if (verdict.empty()) return std::nullopt;
  FusionRefusal refusal(verdict);
  refusal.measured = true;
  return refusal;
}

// What was measured against an edge.
std::optional<FusionRefusal> refusal_of(const Op& producer, const Op& consumer,
                                        const Verdicts& verdicts) {
  const auto found = verdicts.find(Edge(producer.name, consumer.name));
  return found == verdicts.end() ? std::nullopt : refusal_by(found->second);
}

// What was measured against an edge between two of the operations.
std::optional<FusionRefusal> refusal_between(const std::vector<const Op*>& operations,
                                             const Verdicts& verdicts) {
  for (const Op* consumer : operations) {
    const auto refusal_at = [&](const Op& reader) -> std::optional<FusionRefusal> {
      for (const OpPtr& operand : operands(reader)) {
        if (std::count(operations.begin(), operations.end(), operand.get()) == 0) continue;
        if (auto refusal = refusal_of(*operand, reader, verdicts)) return refusal;
      }
      return std::nullopt;
    };
    if (consumer->kind != OpKind::fused) {
      if (auto refusal = refusal_at(*consumer)) return refusal;
    }
    for (const OpPtr& member : consumer->members) {
      if (auto refusal = refusal_at(*member)) return refusal;
    }
  }
  return std::nullopt;
}

// What was measured of patterns_by_shape(): why not, by pattern and class of shapes; empty where it
// was not slower.
using VerdictsByShape = std::map<std::pair<std::string, std::string>, std::string>;

VerdictsByShape verdicts_by_shape(const Target& target, const std::vector<MeasuredFusion>& facts) {
  VerdictsByShape verdicts;
  for (const auto& [pattern, by_class] : facts_here(target, facts)) {
    if (!is_by_shape(pattern)) continue;
    for (const auto& [its_class, fact] : by_class) {
      verdicts.emplace(std::pair(pattern, its_class), verdict_of(*fact));
    }
  }
  return verdicts;
}

std::optional<FusionRefusal> refusal_of(const std::string& pattern, const Shape& shape,
                                        const VerdictsByShape& verdicts) {
  const std::optional<std::string> its_class = shape_class(shape, {});
  const auto found = its_class ? verdicts.find({pattern, *its_class}) : verdicts.end();
  return found == verdicts.end() ? std::nullopt : refusal_by(found->second);
}

// `otherwise`, and of what that wants what `measured` says.
template <typename Candidate, typename Measured>
std::function<std::optional<FusionRefusal>(const Candidate&)> and_then(
    std::function<std::optional<FusionRefusal>(const Candidate&)> otherwise, Measured measured) {
  return [otherwise = std::move(otherwise), measured = std::move(measured)](
             const Candidate& candidate) -> std::optional<FusionRefusal> {
    if (std::optional<FusionRefusal> refusal = otherwise(candidate)) return refusal;
    return measured(candidate);
  };
}

bool sums_up(const Op& op) {
  const std::vector<OpPtr>& members = op.members;
  return (op.kind == OpKind::compute && op.combiner != Combiner::none) ||
         std::any_of(members.begin(), members.end(),
                     [](const OpPtr& member) { return sums_up(*member); });
}

// Whether elements that are neighbours in a row of a move come from other rows.
bool takes_across(const Op& move) {
  if (move.kind != OpKind::compute || move.body->op != ExprOp::read || move.axes.empty()) {
    return false;
  }
  const std::vector<Expr>& indices = move.body->args;
  const std::string& along = move.axes.back().name();
  return !indices.empty() && !mentions(indices.back(), along) &&
         std::any_of(indices.begin(), indices.end(),
                     [&](const Expr& index) { return mentions(index, along); });
}

// Whether it is what benchmark_pattern() measures of a pattern by shape.
bool is_as_measured(const LoopCandidate& candidate) {
  const std::vector<const Op*>& operations = candidate.operations;
  if (candidate.pattern == kLayerBlocks) return operations.size() == 2;
  if (candidate.pattern == kReadThrough) return takes_across(*operations.front());
  if (candidate.pattern != kSlidingWindows) return true;
  return operations.size() == 2 && std::none_of(operations.begin(), operations.end(),
                                                [](const Op* op) { return sums_up(*op); });
}

bool has_contraction(const Op& op) {
  if (op.kind == OpKind::compute) return classify(op) == OpClass::contraction;
  return std::any_of(op.members.begin(), op.members.end(),
                     [](const OpPtr& member) { return has_contraction(*member); });
}

}  // namespace

const std::vector<std::string>& patterns_by_shape() {
  static const std::vector<std::string> kPatterns = {kSiblings, kLayerBlocks, kSlidingWindows,
                                                     kReadThrough, kBordersThrough};
  return kPatterns;
}

void check_measured_fusion(const MeasuredFusion& fact) {
  if (!is_by_shape(fact.pattern)) NamedPattern(kWhat, fact.pattern);
  if (!is_shape_class(fact.shape_class)) {
    fail("{}, {}: expected a class of shapes, two or three powers of two as in 512x1024x64, got {}",
         kWhat, fact.pattern, fact.shape_class.empty() ? "nothing" : fact.shape_class);
  }
  try {
    Target::parse(fact.target);
  } catch (const Error& error) {
    fail("{}, {}: {}", kWhat, fact.pattern, error.what());
  }
  if (!std::isfinite(fact.speed_up) || fact.speed_up <= 0) {
    fail("{}, {}: expected a speed-up above 0, got {}", kWhat, fact.pattern, fact.speed_up);
  }
  if (fact.runs < 1) fail("{}, {}: expected runs, got {}", kWhat, fact.pattern, fact.runs);
}

std::optional<std::string> shape_class(const Shape& shape, const std::vector<Axis>& summed) {
  int64_t rows = 1, columns = 1, depth = 1;
  const auto multiply = [](const Extent& extent, int64_t* product) {
    const std::optional<int64_t> value = extent.as_constant();
    return value && *value > 0 && !__builtin_mul_overflow(*product, *value, product);
  };
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!multiply(shape[i], i + 1 < shape.size() ? &rows : &columns)) return std::nullopt;
  }
  for (const Axis& axis : summed) {
    if (!multiply(axis.extent(), &depth)) return std::nullopt;
  }
  std::string text = fmt::format("{}x{}", power_of_two_below(rows), power_of_two_below(columns));
  if (!summed.empty()) text += fmt::format("x{}", power_of_two_below(depth));
  return text;
}

std::optional<std::string> shape_class_of(const Match& match) {
  std::vector<Axis> summed = match.result->reduction_axes;
  for (const OpPtr& inner : match.inner) {
    summed.insert(summed.end(), inner->reduction_axes.begin(), inner->reduction_axes.end());
  }
  return shape_class(match.result->shape, summed);
}

FusionPolicy learn_from(const Graph& graph, const Target& target,
                        const std::vector<MeasuredFusion>& facts, FusionPolicy otherwise) {
  return and_then(std::move(otherwise),
                  [verdicts = verdicts_on(graph, target, facts)](const FusionCandidate& candidate) {
                    return refusal_of(candidate.producer, candidate.consumer, verdicts);
                  });
}

RecomputePolicy learn_from(const Graph& graph, const Target& target,
                           const std::vector<MeasuredFusion>& facts, RecomputePolicy otherwise) {
  return and_then(std::move(otherwise),
                  [verdicts = verdicts_on(graph, target, facts)](
                      const RecomputeCandidate& candidate) -> std::optional<FusionRefusal> {
                    for (const Op* reader : candidate.readers) {
                      if (auto refusal = refusal_of(candidate.producer, *reader, verdicts)) {
                        return refusal;
                      }
                    }
                    return std::nullopt;
                  });
}

LoopPolicy learn_from(const Graph& graph, const Target& target,
                      const std::vector<MeasuredFusion>& facts, LoopPolicy otherwise) {
  return and_then(
      std::move(otherwise),
      [verdicts = verdicts_on(graph, target, facts), by_shape = verdicts_by_shape(target, facts)](
          const LoopCandidate& candidate) -> std::optional<FusionRefusal> {
        const std::vector<const Op*>& operations = candidate.operations;
        if (is_by_shape(candidate.pattern) && is_as_measured(candidate)) {
          return refusal_of(candidate.pattern, operations.front()->shape, by_shape);
        }
        const bool is_of_products = std::any_of(operations.begin(), operations.end(),
                                                [](const Op* op) { return has_contraction(*op); });
        return is_of_products ? std::nullopt : refusal_between(operations, verdicts);
      });
}

SiblingPolicy learn_from(const Target& target, const std::vector<MeasuredFusion>& facts,
                         SiblingPolicy otherwise) {
  return and_then(std::move(otherwise),
                  [verdicts = verdicts_by_shape(target, facts)](const SiblingCandidate& candidate) {
                    return refusal_of(kSiblings, candidate.sibling->shape, verdicts);
                  });
}

}  // namespace emulsion
