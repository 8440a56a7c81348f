#include "passes/fuse/fusion_legality.h"

#include <algorithm>

#include "dsl/error.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {
namespace {

using Reason = FusionLegality::Reason;

std::string kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::input:
      return "input";
    case OpKind::weight:
      return "weight";
    case OpKind::constant:
      return "constant";
    case OpKind::compute:
      return "operation";
    case OpKind::fused:
      return "group";
  }
  EMULSION_CHECK(false, "no such kind {}", static_cast<int>(kind));
  return "";
}

}  // namespace

// Graph::user_count() walks the whole graph for every op, so users are counted here, and by the
// comprehension: a group's members one by one, so that fusing two users of an op does not make them
// one.
FusionLegality::FusionLegality(const Graph& graph) {
  for (const OpPtr& op : graph.ops()) {
    for (const OpPtr& reader : comprehensions(op)) {
      for (const OpPtr& operand : operands(*reader)) {
        users_[operand.get()].push_back(reader.get());
        ++edges_;
      }
    }
  }
  for (const OpPtr& output : graph.outputs()) outputs_.insert(output.get());
}

OpClass FusionLegality::class_of(const Op& op) {
  auto [found, is_new] = classes_.try_emplace(&op, OpClass::elementwise);
  if (is_new) found->second = classify(op);
  return found->second;
}

const Op* FusionLegality::contraction_in(const Op& op) {
  if (op.kind == OpKind::compute) return class_of(op) == OpClass::contraction ? &op : nullptr;
  for (const OpPtr& member : op.members) {
    if (class_of(*member) == OpClass::contraction) return member.get();
  }
  return nullptr;
}

std::string FusionLegality::pattern_of(const Op& producer) {
  if (contraction_in(producer)) return kContractionEpilogue;
  const Op& result = result_of(producer);
  return class_of(result) == OpClass::elementwise ? kElementwiseChain : "";
}

void FusionLegality::collect_reads(const Op& consumer) {
  if (consumer_ == &consumer) return;
  consumer_ = &consumer;
  reads_.clear();
  auto collect = [&](const Op& reader) {
    if (!reader.body.defined()) return;
    visit(reader.body, [&](const Expr& e) {
      if (e->op == ExprOp::read) reads_[e->tensor.get()].push_back({&reader, e});
    });
  };
  collect(consumer);
  for (const OpPtr& member : consumer.members) collect(*member);
}

Reason FusionLegality::why_not_producer(const Op& producer) {
  if (!is_computed(producer)) {
    return fmt::format("expected a producer that is computed, got {} {}", kind_name(producer.kind),
                       producer.name);
  }
  const Op& result = result_of(producer);
  OpClass found = class_of(result);
  if (found == OpClass::contraction || found == OpClass::elementwise) return std::nullopt;
  return fmt::format("expected a contraction or an elementwise producer, got {} {}",
                     to_string(found), producer.name);
}

// One read: by an elementwise op of the same shape, at its own axes in order.
Reason FusionLegality::why_not_read(const Op& producer, const Read& read) {
  const Op& reader = *read.reader;
  if (class_of(reader) != OpClass::elementwise) {
    return fmt::format("expected an elementwise consumer, got {} {}", to_string(class_of(reader)),
                       reader.name);
  }
  if (reader.shape != producer.shape) {
    return fmt::format("expected {} of the shape of {}, {}, got {}", reader.name, producer.name,
                       to_string(producer.shape), to_string(reader.shape));
  }
  std::string axes;
  bool identity = true;
  for (size_t i = 0; i < reader.axes.size(); ++i) {
    const Expr& index = read.expr->args[i];
    identity = identity && index->op == ExprOp::axis && index->name == reader.axes[i].name();
    axes += (i > 0 ? ", " : "") + reader.axes[i].name();
  }
  if (identity) return std::nullopt;
  return fmt::format("expected {} to read {} at its own axes [{}], got {}", reader.name,
                     producer.name, axes, to_string(read.expr));
}

Reason FusionLegality::why_not_pair(const Op& producer, const Op& consumer) {
  if (Reason reason = why_not_producer(producer)) return reason;
  if (!is_computed(consumer)) {
    return fmt::format("expected a consumer that is computed, got {} {}", kind_name(consumer.kind),
                       consumer.name);
  }
  collect_reads(consumer);
  auto found = reads_.find(&producer);
  if (found == reads_.end()) {
    return fmt::format("expected {} to read {}", consumer.name, producer.name);
  }
  for (const Read& read : found->second) {
    if (Reason reason = why_not_read(producer, read)) return reason;
  }
  return std::nullopt;
}

Reason FusionLegality::why_not_contractions(const Op* of_producer, const Op* of_consumer) {
  if (!of_producer || !of_consumer) return std::nullopt;
  return fmt::format("expected at most one contraction in a group, got {} and {}",
                     of_consumer->name, of_producer->name);
}

ExprSize FusionLegality::written_out(const Op& op, const Sizes& sizes) {
  if (op.combiner != Combiner::none) return ExprSize();  // stored, and read
  Sizes inside = sizes;
  const auto size_in = [&](const Op& one) {
    return size_of(one.body, [&](const Expr& read) -> std::optional<ExprSize> {
      auto found = inside.find(read->tensor.get());
      if (found == inside.end()) return ExprSize();  // as one operation
      return found->second;
    });
  };
  if (op.kind != OpKind::fused) return size_in(op);
  for (const OpPtr& member : op.members) {
    const bool stored = member->combiner != Combiner::none;
    inside[member.get()] = stored ? ExprSize() : size_in(*member);
  }
  return inside.at(op.members.back().get());
}

Reason FusionLegality::why_not_size(const Op& producer, const Op& consumer,
                                    const ExprSize& together) {
  if (together.nodes <= kMostOperations) return std::nullopt;
  return fmt::format("expected at most {} operations when {} is written out in {}, got {}",
                     kMostOperations, producer.name, consumer.name, together.nodes);
}

const std::vector<const Op*>& FusionLegality::readers_of(const Op& op) const {
  static const std::vector<const Op*> kNone;
  const auto found = users_.find(&op);
  return found == users_.end() ? kNone : found->second;
}

Reason FusionLegality::why_not_output(const Op& producer) const {
  if (!outputs_.count(&producer)) return std::nullopt;
  return fmt::format("expected {} to be no output of the graph", producer.name);
}

Reason FusionLegality::why_not_recomputed(const Op& producer, const ExprSize& written) {
  if (Reason reason = why_not_output(producer)) return reason;
  if (!is_computed(producer)) return why_not_producer(producer);
  const auto why_not_class = [&](const Op& part) -> Reason {
    if (class_of(part) == OpClass::elementwise) return std::nullopt;
    return fmt::format("expected an elementwise value to compute again, got {} {}",
                       to_string(class_of(part)), part.name);
  };
  if (producer.kind == OpKind::compute) {
    if (Reason reason = why_not_class(producer)) return reason;
  }
  for (const OpPtr& member : producer.members) {
    if (Reason reason = why_not_class(*member)) return reason;
  }
  const size_t copies = readers_of(producer).size();
  if (copies > kMostCopies) {
    return fmt::format("expected at most {} users to compute {} again in, got {}", kMostCopies,
                       producer.name, copies);
  }
  if (written.nodes <= kMostCopiedOperations) return std::nullopt;
  return fmt::format("expected at most {} operations to compute again for each user of {}, got {}",
                     kMostCopiedOperations, producer.name, written.nodes);
}

bool FusionLegality::has_several_users(const Op& producer) const {
  return !why_not_output(producer) && readers_of(producer).size() > 1;
}

bool FusionLegality::has_all_users(const Op& consumer, const Op& producer) const {
  std::unordered_set<const Op*> inside = {&consumer};
  for (const OpPtr& member : consumer.members) inside.insert(member.get());
  const std::vector<const Op*>& readers = readers_of(producer);
  return std::all_of(readers.begin(), readers.end(),
                     [&](const Op* reader) { return inside.count(reader) > 0; });
}

Reason FusionLegality::why_not_users(const Op& producer) const {
  if (Reason reason = why_not_output(producer)) return reason;
  const std::vector<const Op*>& readers = readers_of(producer);
  const size_t count = readers.size();
  if (count == 1) return std::nullopt;
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(count, 3); ++i) {
    names += (i > 0 ? ", " : "") + readers[i]->name;
  }
  return fmt::format("expected {} to have one user, got {} ({}{})", producer.name, count, names,
                     count > 3 ? ", .." : "");
}

}  // namespace emulsion
