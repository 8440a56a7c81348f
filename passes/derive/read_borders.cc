#include "passes/derive/read_borders.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/expr.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_sources.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

// Every read of `op` in a comprehension, or in those of a group.
std::vector<Expr> reads_of(const Op& op, const Op& reader) {
  std::vector<Expr> reads;
  if (reader.body.defined()) reads = reads_in(reader.body, &op);
  for (const OpPtr& member : reader.members) {
    const std::vector<Expr> more = reads_in(member->body, &op);
    reads.insert(reads.end(), more.begin(), more.end());
  }
  return reads;
}

// Whether it is at one axis an index, or a fixed distance from it, or one place; and no axis twice.
bool is_plain(const Expr& read) {
  std::set<std::string> axes;
  return std::all_of(read->args.begin(), read->args.end(), [&](const Expr& index) {
    const std::optional<Affine> affine = affine_of(index);
    if (!affine || affine->coefficients.size() > 1) return false;
    if (affine->coefficients.empty()) return true;
    const auto& [axis, coefficient] = *affine->coefficients.begin();
    return coefficient == 1 && axes.insert(axis).second;
  });
}

class BorderFinder {
 public:
  BorderFinder(const Graph& grouped, const Target& target,
               const std::unordered_set<const Op*>& done,
               const std::function<std::optional<FusionRefusal>(const Op&)>& unwanted)
      : grouped_(grouped), target_(target), done_(done), unwanted_(unwanted), readers_(grouped) {}

  // What reads an operation comes behind it and is decided by then.
  ReadBorders find() {
    for (size_t i = grouped_.ops().size(); i-- > 0;) {
      const Op& op = *grouped_.ops()[i];
      if (done_.count(&op) == 0 && !why_not_borders(op)) consider(op);
    }
    return std::move(found_);
  }

 private:
  void consider(const Op& op) {
    const std::vector<const Op*>* const reading = readers_.only_readers(op);
    if (reading == nullptr || reading->empty()) return;  // an output
    const std::vector<const Op*> readers = in_their_place(*reading, chosen_in_);
    std::vector<OpPtr> chosen;
    for (const Op* reader : readers) {
      OpPtr chooses;
      Reason reason = why_not(op, *reader, &chooses);
      if (!reason && readers.size() > 1) reason = why_not_again(op);
      if (reason) {
        found_.refused.emplace(op.name, *reason);
        return;
      }
      chosen.push_back(std::move(chooses));
    }
    if (auto refusal = unwanted_ ? unwanted_(op) : std::nullopt) {
      found_.refused.emplace(op.name, *refusal);
      return;
    }
    found_.inlined.insert(op.name);
    chosen_in_[&op] = readers;
    for (size_t i = 0; i < readers.size(); ++i) {
      found_.readers[readers[i]] = std::move(chosen[i]);
      inlined_[readers[i]].push_back(&op);
    }
  }

  Reason why_not(const Op& op, const Op& reader, OpPtr* chooses) {
    if (done_.count(&reader) > 0) {
      return fmt::format("expected loops of its own for {}, got those of what it is computed in",
                         reader.name);
    }
    const auto so_far = found_.readers.find(&reader);
    const Op& now = so_far == found_.readers.end() ? reader : *so_far->second;
    if (Reason reason = why_not_choose(op, now)) return reason;
    if (reads_of(op, now).size() > 1) {
      if (Reason reason = why_not_again(op)) return reason;
    }
    std::vector<const Op*> all = inlined_[&reader];
    all.push_back(&op);
    *chooses = written_out(reader, all);
    return why_not_worth_choosing(op, now, **chooses, target_);
  }

  // Whether it would be computed more than once.
  static Reason why_not_again(const Op& op) {
    if (chooses_by_place(op.body, Choice::of_elements)) return std::nullopt;
    return fmt::format("expected {} to be read once, for it computes what it chooses among",
                       op.name);
  }

  const Graph& grouped_;
  const Target& target_;
  const std::unordered_set<const Op*>& done_;
  const std::function<std::optional<FusionRefusal>(const Op&)>& unwanted_;
  const Readers readers_;
  // By reader: what it chooses among, each behind what reads it.
  std::unordered_map<const Op*, std::vector<const Op*>> inlined_;
  std::unordered_map<const Op*, std::vector<const Op*>> chosen_in_;  // the other way
  ReadBorders found_;
};

}  // namespace

Reason why_not_borders(const Op& op) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none || is_always_empty(op)) {
    return fmt::format("expected {} to be elements that are chosen one by one", op.name);
  }
  if (!chooses_by_place(op.body, Choice::of_values)) {
    return fmt::format("expected {} to choose by place, and nothing else", op.name);
  }
  return std::nullopt;
}

Reason why_not_choose(const Op& op, const Op& reader) {
  if (!is_computed(reader)) return fmt::format("expected {} to be computed", reader.name);
  const std::vector<Expr> reads = reads_of(op, reader);
  if (reads.empty()) return fmt::format("expected {} to read {}", reader.name, op.name);
  for (const Expr& read : reads) {
    if (std::none_of(read->args.begin(), read->args.end(), reads_data)) continue;
    return fmt::format("expected {} to read {} at places that its axes say, got {}", reader.name,
                       op.name, to_string(read));
  }
  FusionLegality::Sizes sizes;
  sizes[&op] = size_of(op.body);
  return FusionLegality::why_not_size(op, reader, FusionLegality::written_out(reader, sizes));
}

OpPtr written_out(const Op& reader, const std::vector<const Op*>& inlined) {
  std::unordered_map<const Op*, Expr> bodies;
  const auto write_out = [&](const Op& op) {
    return transform(op.body, [&](const Expr& e) -> Expr {
      const auto body = e->op == ExprOp::read ? bodies.find(e->tensor.get()) : bodies.end();
      if (body == bodies.end()) return Expr();
      return substitute_axes(body->second, [&](const std::string& axis) -> Expr {
        const std::optional<size_t> i = axis_index(body->first->axes, axis);
        return i ? e->args[*i] : Expr();
      });
    });
  };
  for (size_t i = inlined.size(); i-- > 0;) bodies[inlined[i]] = write_out(*inlined[i]);
  for (const OpPtr& member : reader.members) {
    if (member->combiner == Combiner::none) bodies[member.get()] = write_out(*member);
  }
  const Op& result = result_of(reader);
  auto made = std::make_shared<Op>(result);
  made->body = write_out(result);
  return made;
}

Reason why_not_worth_choosing(const Op& op, const Op& reader, const Op& chooses,
                              const Target& target) {
  if (const Op* sums = sums_of(reader)) {
    return fmt::format("expected no sums in {}, which would compare at every step, got {} {}",
                       reader.name, to_string(classify(*sums)), sums->name);
  }
  if (chooses.axes.empty()) {
    return fmt::format("expected loops of {} to be cut, got none", reader.name);
  }
  const bool has_clamps =  // of its own choices
      reader.kind == OpKind::compute && any_part(reader.body, [](const Expr& part) {
        return chooses_by_place(part, Choice::of_values);
      });
  for (const Expr& read : reads_of(op, reader)) {
    if (is_plain(has_clamps ? without_clamped_indices(read) : read)) continue;
    return fmt::format("expected {} to read {} at plain axes, at which loops are cut, got {}",
                       reader.name, op.name, to_string(read));
  }
  const std::string along = chooses.axes[vector_axis(chooses, target)].name();
  for (const Expr& read : reads_in(chooses.body)) {
    if (step_of(without_clamped_indices(read), along) != Step::elsewhere) continue;
    return fmt::format("expected {} to read neighbours along {}, as its vectors go, got {}",
                       reader.name, along, to_string(read));
  }
  return why_not_cut(chooses, target);
}

bool chooses_all(const std::vector<const Op*>& ops, const Op& reader, const Target& target) {
  for (const Op* op : ops) {
    if (why_not_borders(*op) || why_not_choose(*op, reader)) return false;
  }
  const OpPtr chooses = written_out(reader, ops);
  return std::all_of(ops.begin(), ops.end(), [&](const Op* op) {
    return !why_not_worth_choosing(*op, reader, *chooses, target);
  });
}

ReadBorders read_borders(
    const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
    const std::function<std::optional<FusionRefusal>(const Op& op)>& unwanted) {
  return BorderFinder(grouped, target, done, unwanted).find();
}

}  // namespace emulsion
