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
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/read_through.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

bool reads_data(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part->op == ExprOp::read; });
}

// Whether it compares one axis at a time, and no data.
bool is_by_place(const Expr& condition) {
  const ExprOp op = condition->op;
  if (op == ExprOp::logical_and || op == ExprOp::logical_or || op == ExprOp::logical_not) {
    return std::all_of(condition->args.begin(), condition->args.end(), is_by_place);
  }
  if (op != ExprOp::lt && op != ExprOp::le && op != ExprOp::gt && op != ExprOp::ge) return false;
  std::set<std::string> axes;
  visit(condition, [&](const Expr& part) {
    if (part->op == ExprOp::axis) axes.insert(part->name);
  });
  return axes.size() == 1 && !reads_data(condition);
}

// Whether it is chosen by place among reads at places that no data say, and numbers.
bool chooses_by_place(const Expr& e) {
  switch (e->op) {
    case ExprOp::select:
      return is_by_place(e->args[0]) && chooses_by_place(e->args[1]) &&
             chooses_by_place(e->args[2]);
    case ExprOp::read:
      return std::none_of(e->args.begin(), e->args.end(), reads_data);
    default:
      return e->op == ExprOp::constant;
  }
}

// An index without what keeps it inside of a tensor.
Expr without_clamps(const Expr& index) {
  return transform(index, [](const Expr& e) -> Expr {
    if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
    const auto is_bound = [](const Expr& bound) {
      const auto affine = affine_of(bound);
      return affine && affine->coefficients.empty();
    };
    if (is_bound(e->args[1])) return e->args[0];
    return is_bound(e->args[0]) ? e->args[1] : Expr();
  });
}

// Every read in a body, of that tensor or of any.
std::vector<Expr> reads_in(const Expr& body, const Op* of = nullptr) {
  std::vector<Expr> reads;
  visit(body, [&](const Expr& e) {
    if (e->op == ExprOp::read && (of == nullptr || e->tensor.get() == of)) reads.push_back(e);
  });
  return reads;
}

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

class Finder {
 public:
  Finder(const Graph& grouped, const Target& target, const std::unordered_set<const Op*>& done,
         const std::function<std::optional<FusionRefusal>(const Op&)>& unwanted)
      : grouped_(grouped), target_(target), done_(done), unwanted_(unwanted), readers_(grouped) {}

  ReadBorders find() {
    for (const OpPtr& op : grouped_.ops()) {
      if (done_.count(op.get()) == 0 && !why_not_borders(*op)) consider(*op);
    }
    return std::move(found_);
  }

 private:
  void consider(const Op& op) {
    const std::vector<const Op*>* const reading = readers_.only_readers(op);
    if (reading == nullptr || reading->empty()) return;  // an output
    if (found_.readers.count(&op) > 0) {
      found_.refused.emplace(
          op.name, fmt::format("expected {} to choose among what is stored, got {}", op.name,
                               inlined_.at(&op).front()->name));
      return;
    }
    std::vector<std::pair<const Op*, OpPtr>> chosen;
    for (const Op* reader : *reading) {
      OpPtr chooses;
      if (Reason reason = why_not(op, *reader, &chooses)) {
        found_.refused.emplace(op.name, *reason);
        return;
      }
      chosen.emplace_back(reader, std::move(chooses));
    }
    if (auto refusal = unwanted_ ? unwanted_(op) : std::nullopt) {
      found_.refused.emplace(op.name, *refusal);
      return;
    }
    found_.inlined.insert(op.name);
    for (auto& [reader, chooses] : chosen) {
      found_.readers[reader] = std::move(chooses);
      inlined_[reader].push_back(&op);
    }
  }

  Reason why_not(const Op& op, const Op& reader, OpPtr* chooses) {
    if (done_.count(&reader) > 0) {
      return fmt::format("expected loops of its own for {}, got those of what it is computed in",
                         reader.name);
    }
    if (Reason reason = why_not_choose(op, reader)) return reason;
    std::vector<const Op*> all = inlined_[&reader];
    all.push_back(&op);
    *chooses = written_out(reader, all);
    return why_not_worth_choosing(op, reader, **chooses, target_);
  }

  const Graph& grouped_;
  const Target& target_;
  const std::unordered_set<const Op*>& done_;
  const std::function<std::optional<FusionRefusal>(const Op&)>& unwanted_;
  const Readers readers_;
  std::unordered_map<const Op*, std::vector<const Op*>> inlined_;  // by reader
  ReadBorders found_;
};

}  // namespace

Reason why_not_borders(const Op& op) {
  if (op.kind != OpKind::compute || op.combiner != Combiner::none || is_always_empty(op)) {
    return fmt::format("expected {} to be elements that are chosen one by one", op.name);
  }
  if (op.body->op != ExprOp::select || !chooses_by_place(op.body)) {
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
  for (const Op* op : inlined) bodies[op] = op->body;
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
  for (const Expr& read : reads_of(op, reader)) {
    if (is_plain(read)) continue;
    return fmt::format("expected {} to read {} at plain axes, at which loops are cut, got {}",
                       reader.name, op.name, to_string(read));
  }
  const std::string along = chooses.axes[vector_axis(chooses, target)].name();
  for (const Expr& read : reads_in(chooses.body)) {
    std::vector<Expr> indices;
    for (const Expr& index : read->args) indices.push_back(without_clamps(index));
    if (step_of(read_op(read->tensor, std::move(indices)), along) != Step::elsewhere) continue;
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
  return Finder(grouped, target, done, unwanted).find();
}

}  // namespace emulsion
