#include "passes/fuse/join_products.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/analyse/count_flops.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/fuse/sibling_level.h"
#include "passes/rewrite/graph_names.h"
#include "passes/rewrite/remove_dead_ops.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

// Products of one input, and what follows each of them alike.
using Family = std::vector<SiblingLevel>;

// Who reads what, of a graph that does not change.
class Surroundings {
 public:
  explicit Surroundings(const Graph& graph) : legality_(graph) {
    for (const OpPtr& op : graph.ops()) {
      for (const OpPtr& operand : operands(*op)) users_[operand.get()].push_back(op);
    }
    for (const OpPtr& output : graph.outputs()) outputs_.insert(output.get());
  }

  // The only user of an operation that is no output, or null.
  OpPtr only_user(const Op& op) const {
    const auto found = users_.find(&op);
    const bool is_only = found != users_.end() && found->second.size() == 1;
    return is_only && outputs_.count(&op) == 0 ? found->second[0] : nullptr;
  }

  Family family_of(const std::vector<OpPtr>& products) {
    std::optional<SiblingLevel> level = sibling_level(products);
    EMULSION_CHECK(level, "{} and its siblings are not alike", products[0]->name);
    Family family;
    while (level) {
      family.push_back(std::move(*level));
      const SiblingLevel& before = family.back();
      std::vector<OpPtr> next;
      for (const OpPtr& member : before.members) {
        const OpPtr user = only_user(*member);
        if (!user || user->kind != OpKind::compute || legality_.why_not_pair(*member, *user)) break;
        if (std::find(next.begin(), next.end(), user) == next.end()) next.push_back(user);
      }
      level = next.size() == before.members.size() ? sibling_level(next, &before) : std::nullopt;
    }
    return family;
  }

  bool is_output(const Op& op) const { return outputs_.count(&op) > 0; }
  // The elementwise operation into which it would be fused, or null.
  OpPtr epilogue(const Op& op) {
    OpPtr user = only_user(op);
    return user && !legality_.why_not_pair(op, *user) ? user : nullptr;
  }

 private:
  FusionLegality legality_;
  std::unordered_map<const Op*, std::vector<OpPtr>> users_;
  std::unordered_set<const Op*> outputs_;
};

double bytes_of(const Op& op) {
  double bytes = size_in_bytes(op.dtype);
  for (const Extent& extent : op.shape) {
    double value = static_cast<double>(extent.constant_term());
    for (const auto& [name, coefficient] : extent.coefficients()) {
      value += static_cast<double>(coefficient);
    }
    bytes *= value;
  }
  return bytes;
}

JoinCandidate candidate_of(const std::vector<OpPtr>& products, const Family& family,
                           Surroundings* around) {
  JoinCandidate candidate{products};
  const Op& input = *match_product(*products[0])->a->tensor;
  candidate.saved = bytes_of(input) * static_cast<double>(products.size() - 1);
  for (const SiblingLevel& level : family) {
    for (const SiblingLevel::Operand& operand : level.operands) {
      for (const OpPtr& part : operand.parts) {
        if (part->kind == OpKind::weight) candidate.weights += 2 * bytes_of(*part);
      }
    }
  }
  std::set<OpPtr> epilogues;  // each takes in one product
  for (const OpPtr& member : family.back().members) {
    const OpPtr epilogue = around->epilogue(*member);
    const bool is_stored =
        around->is_output(*member) || (epilogue && epilogues.insert(epilogue).second);
    if (is_stored) candidate.results += 2 * bytes_of(*member);
  }
  return candidate;
}

// Writes the graph anew.
class Joiner {
 public:
  Joiner(const Graph& graph, const std::vector<Family>& families)
      : graph_(graph), names_(names_of(graph)) {
    for (const Family& family : families) {
      for (size_t i = 0; i < family.size(); ++i) {
        for (size_t m = 0; m < family[i].members.size(); ++m) {
          places_[family[i].members[m].get()] = {&family, i, m};
        }
      }
    }
  }

  Graph run() {
    for (const OpPtr& op : graph_.ops()) {
      const auto found = places_.find(op.get());
      if (found == places_.end()) {
        place(op, rewired(op));
        continue;
      }
      const auto& [family, level, member] = found->second;
      OpPtr& joined = joined_[&(*family)[level]];
      if (!joined) joined = join_level(*family, level);
      if (level + 1 == family->size()) place(op, slice_of((*family)[level], member, joined));
    }
    std::vector<OpPtr> outputs;
    for (const OpPtr& output : graph_.outputs()) outputs.push_back(now(output));
    return remove_dead_ops(Graph(std::move(ops_), std::move(outputs)));
  }

 private:
  struct Place {
    const Family* family;
    size_t level, member;
  };

  OpPtr now(const OpPtr& op) const {
    const auto found = replaced_.find(op.get());
    return found == replaced_.end() ? op : found->second;
  }
  OpPtr rewired(const OpPtr& op) const {
    std::unordered_map<const Op*, OpPtr> moved;
    for (const OpPtr& operand : operands(*op)) {
      if (now(operand) != operand) moved[operand.get()] = now(operand);
    }
    return moved.empty() ? op : replace_reads(op, moved);
  }
  void place(const OpPtr& op, OpPtr with) {
    if (with != op) replaced_[op.get()] = with;
    if (placed_.insert(with.get()).second) ops_.push_back(std::move(with));
  }
  std::string joined_name(const Op& of) {
    constexpr size_t kRoom = 100;  // of the 128 characters of a name
    return take_name(of.name.substr(0, kRoom) + "_joined", &names_);
  }

  static Extent total_columns(const SiblingLevel& level) {
    Extent total;
    for (const OpPtr& member : level.members) total = total + member->shape.back();
    return total;
  }

  // Of each outer index the parts' elements, one after another.
  static std::vector<uint8_t> joined_bytes(const SiblingLevel::Operand& operand) {
    const Op& first = *operand.parts[0];
    int64_t outer = 1, inner = size_in_bytes(first.dtype);
    for (size_t i = 0; i < first.shape.size(); ++i) {
      if (i < operand.along) outer *= first.shape[i].constant_term();
      if (i > operand.along) inner *= first.shape[i].constant_term();
    }
    std::vector<uint8_t> bytes;
    for (int64_t row = 0; row < outer; ++row) {
      for (const OpPtr& part : operand.parts) {
        const int64_t length = inner * part->shape[operand.along].constant_term();
        const auto from = part->data->begin() + row * length;
        bytes.insert(bytes.end(), from, from + length);
      }
    }
    return bytes;
  }

  OpPtr join_operand(const SiblingLevel::Operand& operand) {
    const Op& first = *operand.parts[0];
    const std::string name = joined_name(first);
    if (first.kind == OpKind::constant) {
      Shape shape = first.shape;
      shape[operand.along] = Extent();
      for (const OpPtr& part : operand.parts) {
        shape[operand.along] = shape[operand.along] + part->shape[operand.along];
      }
      return constant(name, first.dtype, shape, joined_bytes(operand)).op();
    }
    std::vector<Tensor> parts;
    for (const OpPtr& part : operand.parts) {
      place(part, part);  // an argument, which may be declared behind this
      parts.emplace_back(part);
    }
    return concat(parts, static_cast<int>(operand.along), name).op();
  }

  OpPtr join_level(const Family& family, size_t at) {
    const SiblingLevel& level = family[at];
    const Op& leader = *level.members[0];
    std::unordered_map<const Op*, OpPtr> reads;
    for (const OpPtr& operand : operands(leader)) {
      if (now(operand) != operand) reads[operand.get()] = now(operand);
    }
    if (at > 0) reads[family[at - 1].members[0].get()] = joined_.at(&family[at - 1]);
    for (const SiblingLevel::Operand& operand : level.operands) {
      const OpPtr joined = join_operand(operand);
      ops_.push_back(joined);
      reads[operand.parts[0].get()] = joined;
    }
    auto joined = std::make_shared<Op>(*replace_reads(level.members[0], reads));
    joined->name = joined_name(leader);
    joined->shape.back() = total_columns(level);
    joined->axes.back() = Axis(leader.axes.back().name(), joined->shape.back());
    ops_.push_back(joined);
    return joined;
  }

  static OpPtr slice_of(const SiblingLevel& level, size_t member, const OpPtr& joined) {
    Extent begin;
    for (size_t i = 0; i < member; ++i) begin = begin + level.members[i]->shape.back();
    auto slice = std::make_shared<Op>(*level.members[member]);
    std::vector<Expr> indices(slice->axes.begin(), slice->axes.end());
    if (begin != Extent(0)) indices.back() = indices.back() + extent_value(begin);
    slice->combiner = Combiner::none;
    slice->reduction_axes.clear();
    slice->body = read_op(joined, std::move(indices));
    return slice;
  }

  const Graph& graph_;
  std::set<std::string> names_;
  std::unordered_map<const Op*, Place> places_;
  std::unordered_map<const SiblingLevel*, OpPtr> joined_;
  std::unordered_map<const Op*, OpPtr> replaced_;
  std::unordered_set<const Op*> placed_;
  std::vector<OpPtr> ops_;
};

// "expected ..." when what is joined would be larger than a tensor may be.
Reason why_not_size(const std::vector<OpPtr>& products, const Op& sibling) {
  double bytes = bytes_of(sibling), weights = bytes_of(*match_product(sibling)->b->tensor);
  for (const OpPtr& product : products) {
    bytes += bytes_of(*product);
    weights += bytes_of(*match_product(*product)->b->tensor);
  }
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  if (std::max(bytes, weights) <= kMost) return std::nullopt;
  return fmt::format("expected joined tensors of at most 2^31 - 1 bytes, got {} with {}",
                     std::max(bytes, weights), sibling.name);
}

// Products that read one tensor, sorted into those that can be joined. The refusals are reported.
std::vector<std::vector<OpPtr>> sorted(const std::vector<OpPtr>& products, FusionReport* report) {
  constexpr size_t kMostKinds = 8;  // that one more is compared with
  std::vector<std::vector<OpPtr>> kinds;
  for (const OpPtr& product : products) {
    Reason refused;
    bool found = false;
    for (size_t i = 0; i < kinds.size() && i < kMostKinds && !found; ++i) {
      Reason reason = why_not_joinable(*kinds[i][0], *product);
      if (!reason) reason = why_not_size(kinds[i], *product);
      found = !reason;
      if (found) kinds[i].push_back(product);
      if (reason && !refused) refused = reason;
    }
    if (found) continue;
    if (refused && report) {
      report->decisions.push_back(
          {kinds[0][0]->name, product->name, false, *refused, kSiblingProducts});
    }
    kinds.push_back({product});
  }
  return kinds;
}

// As many columns as a register tile has in AVX-512, the widest: narrower vectors fill theirs with
// fewer, so there some are joined that gain nothing.
constexpr int64_t kWide = 64;

int64_t columns_of(const JoinCandidate& candidate) {
  int64_t columns = 0;
  for (const OpPtr& product : candidate.products) columns += product->shape.back().constant_term();
  return columns;
}

}  // namespace

std::optional<std::string> why_not_joinable(const Op& first, const Op& sibling) {
  for (const Op* op : {&first, &sibling}) {
    if (op->kind != OpKind::compute) {
      return fmt::format("expected a product, got {}, which is no single operation", op->name);
    }
    std::string why_not;
    const std::optional<Contraction> product = match_product(*op, &why_not);
    if (!product) return fmt::format("{} for {}", why_not, op->name);
    const std::vector<std::string>& columns = product->column_axes;
    if (columns.empty() || columns.back() != op->axes.back().name()) {
      return fmt::format("expected the last axis of {} to be of the weights alone", op->name);
    }
  }
  return why_not_alike(first, sibling);
}

std::optional<std::string> join_what_saves(const JoinCandidate& candidate) {
  const auto count = static_cast<int64_t>(candidate.products.size());
  const int64_t columns = columns_of(candidate);
  if (columns >= kWide * count) {
    return fmt::format(
        "expected fewer than {} columns a product, of which one alone fills the registers, got {} "
        "in {} products",
        kWide, columns, count);
  }
  if (candidate.saved > candidate.weights + candidate.results) return std::nullopt;
  return fmt::format(
      "expected to read more bytes less than the join moves, got {} of the input that are read "
      "less, {} of weights that every call joins, {} of results that are stored for it",
      candidate.saved, candidate.weights, candidate.results);
}

JoinPolicy join_what_pays(const MachineModel& machine) {
  check_machine_model(machine);
  return [machine](const JoinCandidate& candidate) -> Reason {
    const auto count = static_cast<int64_t>(candidate.products.size());
    if (columns_of(candidate) < kWide * count) return join_what_saves(candidate);
    double operations = 0, bytes = 0, apart = 0;
    for (const OpPtr& product : candidate.products) {
      double moved = bytes_of(*product);
      bool known = true;
      for (const OpPtr& operand : operands(*product)) {
        known = known && element_count(operand->shape).has_value();
        moved += bytes_of(*operand);
      }
      if (!known || !element_count(product->shape)) {
        return fmt::format(
            "expected sizes that are known, or fewer than {} columns a product, got "
            "{} of shape {}",
            kWide, product->name, to_string(product->shape));
      }
      const auto flops = static_cast<double>(total_flops(count_flops(*product), {}));
      apart += machine.seconds(flops, moved);
      operations += flops;
      bytes += moved;
    }
    const double together = machine.seconds(operations, bytes - candidate.saved) +
                            machine.seconds(0, candidate.weights + candidate.results);
    constexpr double kLeastGain = 1.05;
    if (apart >= kLeastGain * together) return std::nullopt;
    return fmt::format(
        "expected to be {} times as fast by the model as apart, got {:.2f} times, of {} and {} "
        "others",
        kLeastGain, apart / together, candidate.products[0]->name, count - 1);
  };
}

Graph join(const Graph& graph, const std::vector<OpPtr>& products) {
  for (const OpPtr& product : products) {
    const Reason reason = why_not_joinable(*products[0], *product);
    EMULSION_CHECK(!reason, "join {} and {}: {}", products[0]->name, product->name, *reason);
  }
  return Joiner(graph, {Surroundings(graph).family_of(products)}).run();
}

Graph join_products(const Graph& graph, const JoinPolicy& policy, FusionReport* report) {
  std::unordered_map<const Op*, std::vector<OpPtr>> of_input;
  std::vector<const Op*> inputs;  // in the order of the graph
  for (const OpPtr& op : graph.ops()) {
    if (op->kind != OpKind::compute || op->combiner != Combiner::sum) continue;
    const std::optional<Contraction> product = match_product(*op);
    if (!product) continue;
    std::vector<OpPtr>& siblings = of_input[product->a->tensor.get()];
    if (siblings.empty()) inputs.push_back(product->a->tensor.get());
    siblings.push_back(op);
  }
  Surroundings around(graph);
  std::vector<Family> families;
  for (const Op* input : inputs) {
    if (of_input.at(input).size() < 2) continue;
    for (const std::vector<OpPtr>& products : sorted(of_input.at(input), report)) {
      if (products.size() < 2) continue;
      Family family = around.family_of(products);
      const Reason reason = policy(candidate_of(products, family, &around));
      for (size_t i = 1; i < products.size() && report; ++i) {
        report->decisions.push_back(
            {products[0]->name, products[i]->name, !reason, reason.value_or(""), kSiblingProducts});
      }
      if (!reason) families.push_back(std::move(family));
    }
  }
  return families.empty() ? graph : Joiner(graph, families).run();
}

}  // namespace emulsion
