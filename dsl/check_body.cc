#include "dsl/check_body.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/condition_facts.h"
#include "dsl/error.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

// Whether e >= 0 for all iterations and sizes, seen without a proof.
bool is_never_negative(const Expr& e) {
  const std::optional<Affine> affine = affine_of(e);
  return affine && affine->coefficients.empty() && never_negative(affine->offset);
}

// Affine expressions that are 0 or more where some conditions hold.
class Facts {
 public:
  // What follows when the condition holds, or when it does not.
  void add(const Expr& condition, bool holds, const AxisExtents& axes) {
    for_each_fact(condition, holds, axes, [this](const Expr& fact) { add_fact(fact); });
  }

  const std::vector<Expr>& all() const { return facts_; }

  bool operator==(const Facts& other) const {
    return std::equal(facts_.begin(), facts_.end(), other.facts_.begin(), other.facts_.end(),
                      [](const Expr& a, const Expr& b) { return a.same_as(b); });
  }

  // Whether one of them is below 0 in all iterations, for all sizes.
  bool are_never_true(const AxisExtents& axes) const {
    return std::any_of(facts_.begin(), facts_.end(), [&](const Expr& fact) {
      return never_negative(Extent(-1) - largest_value(*affine_of(fact), axes));
    });
  }

  // Extents that are at least 1 then: of each fact, and of each two together (a <= i and i < b),
  // the largest value is 0 or more.
  std::vector<Extent> not_empty(const AxisExtents& axes) const {
    std::vector<Extent> result;
    const auto add = [&](const Expr& fact) {
      const Extent extent = largest_value(*affine_of(fact), axes) + Extent(1);
      const auto& terms = extent.coefficients();
      const bool grows =
          std::any_of(terms.begin(), terms.end(), [](const auto& term) { return term.second > 0; });
      if (grows && extent.lower_bound().value_or(0) < 1) result.push_back(extent);
    };
    for (size_t i = 0; i < facts_.size(); ++i) {
      add(facts_[i]);
      for (size_t j = 0; j < i; ++j) add(facts_[i] + facts_[j]);
    }
    return result;
  }

 private:
  // Only the strongest are kept: a chain of selects has one of each kind.
  void add_fact(const Expr& fact) {
    for (const Expr& known : facts_) {
      if (is_never_negative(fact - known)) return;
    }
    const auto follows = [&](const Expr& known) { return is_never_negative(known - fact); };
    facts_.erase(std::remove_if(facts_.begin(), facts_.end(), follows), facts_.end());
    facts_.push_back(fact);
  }

  std::vector<Expr> facts_;
};

class BodyChecker {
 public:
  BodyChecker(const std::string& what, const AxisExtents& axes) : what_(what), axes_(axes) {}

  // Nearly every body is proved without its conditions.
  Expr check(const Expr& body) {
    walk(body, 0);
    if (!unproved_) return body;
    done_.clear();
    by_branch_ = true;
    const Expr taken = reads_none_ ? without_sides_never_taken(body) : body;
    walk(taken, 0);
    return clamps_.empty() ? taken : with_clamps(taken);
  }

 private:
  // The side of a select, or several around one another.
  struct Branch {
    Facts facts;
    std::optional<std::vector<Extent>> not_empty;  // once it has been asked for
  };

  // `branch`: where the expression is.
  void walk(const Expr& e, size_t branch) {
    if (!done_.emplace(&e.node(), branch).second) return;
    if (e->op == ExprOp::axis) check_axis(e);
    if (e->op == ExprOp::read) check_read(e, branch);
    for (size_t i = 0; i < e->args.size(); ++i) {
      const bool chosen = e->op == ExprOp::select && i > 0;
      walk(e->args[i], chosen ? branch_of(branch, e->args[0], i == 1) : branch);
    }
  }

  size_t branch_of(size_t parent, const Expr& condition, bool holds) {
    // A select of a DAG may be reached through very many others. Without facts less is accepted,
    // nothing that is wrong.
    constexpr size_t kMostBranches = 10000;
    if (!by_branch_ || branches_.size() >= kMostBranches) return 0;
    Facts facts = branches_[parent].facts;
    facts.add(condition, holds, axes_);
    if (facts == branches_[parent].facts) return parent;
    branches_.push_back({std::move(facts), std::nullopt});
    return branches_.size() - 1;
  }

  // Of a tensor whose extent is 0 no clamp makes an index: what reads it may stand only where
  // nobody goes, as with numbers in the place of sizes.
  Expr without_sides_never_taken(const Expr& body) const {
    return transform(body, [&](const Expr& e) {
      for (const bool holds : {true, false}) {
        if (e->op != ExprOp::select) break;
        Facts facts;
        facts.add(e->args[0], holds, axes_);
        if (facts.are_never_true(axes_)) return e->args[holds ? 2 : 1];
      }
      return Expr();
    });
  }

  void check_axis(const Expr& e) const {
    if (axes_.count(e->name)) return;
    std::string legal;
    for (const auto& [name, extent] : axes_) legal += (legal.empty() ? "" : ", ") + name;
    fail("{}: expected an axis of this operation ({}), got {}", what_,
         legal.empty() ? "it has none" : legal, e->name);
  }

  std::string place_of(const Expr& read, size_t axis) const {
    return fmt::format("{}: read of {}, axis {}", what_, read->tensor->name, axis);
  }

  void check_within_i32(const Expr& read, size_t axis) const {
    const std::optional<BeyondI32> beyond = part_beyond_i32(read->args[axis], axes_);
    if (!beyond) return;
    fail("{}: expected an index that is computed within i32, got {}, which goes from {} to {}",
         place_of(read, axis), to_string(beyond->part), beyond->low, beyond->high);
  }

  void check_read(const Expr& e, size_t branch) {
    const Shape& shape = e->tensor->shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      visit(e->args[i], [&](const Expr& node) {
        if (node->op == ExprOp::axis) check_axis(node);
      });
      if (!by_branch_) check_within_i32(e, i);
      if (proves_in_bounds(e->args[i], shape[i], axes_)) continue;
      if (!by_branch_) {
        unproved_ = true;
        reads_none_ = reads_none_ || shape[i] == Extent(0);
        continue;
      }
      if (proves_in_bounds(e->args[i], shape[i], axes_, not_empty(branch))) continue;
      if (is_kept_inside(e, i, branch)) continue;
      const std::string place = place_of(e, i);
      if (shape[i] == Extent(0)) fail("{}: expected none, since the extent is 0", place);
      if (is_inside_unless_empty(e, i, branch)) {
        fail(
            "{}: expected a read where the extent {} is at least 1, got one that also happens "
            "where it is 0; choose it with select({} > 0, ..., ...)",
            place, shape[i].to_string(), shape[i].to_string());
      }
      const std::string last = (shape[i] - Extent(1)).to_string();
      fail(
          "{}: expected an index from 0 to {} for every iteration{}, got {}; wrap it as "
          "max(min(index, {}), 0){}",
          place, last, shape[i].is_constant() ? "" : " and every size", to_string(e->args[i]), last,
          beside_clamp(e->args[i]));
    }
  }

  // Whether conditions keep the index inside.
  bool is_kept_inside(const Expr& read, size_t axis, size_t branch) {
    const std::optional<NeededClamps> needed =
        clamps_for_conditions(read->args[axis], read->tensor->shape[axis], axes_, not_empty(branch),
                              branches_[branch].facts.all());
    if (!needed) return false;
    clamps_.insert_or_assign({&read.node(), axis}, *needed);  // whichever branch reads it
    return true;
  }

  Expr with_clamps(const Expr& e) {
    const auto known = clamped_.find(&e.node());
    if (known != clamped_.end()) return known->second;
    std::vector<Expr> args;
    for (size_t i = 0; i < e->args.size(); ++i) {
      args.push_back(with_clamps(e->args[i]));
      const auto needed = clamps_.find({&e.node(), i});
      if (needed == clamps_.end()) continue;
      args.back() = clamped(args.back(), e->tensor->shape[i], needed->second);
    }
    return clamped_.emplace(&e.node(), with_args(e, std::move(args))).first->second;
  }

  bool is_inside_unless_empty(const Expr& read, size_t axis, size_t branch) {
    const Extent& extent = read->tensor->shape[axis];
    const Expr& index = read->args[axis];
    return proves_in_bounds(index, extent, axes_, {extent}) ||
           clamps_for_conditions(index, extent, axes_, {extent}, branches_[branch].facts.all());
  }

  // What besides a clamp would keep the index inside. Of i / N nothing is proved, and of what is
  // read nothing is known.
  static const char* beside_clamp(const Expr& index) {
    if (any_part(index, [](const Expr& e) { return e->op == ExprOp::read; })) {
      return ", also inside of a select(...) that asks for it: of what is read nothing is known";
    }
    const bool divides_by_size = any_part(index, [](const Expr& e) {
      return e->op == ExprOp::div && e->args[1]->op != ExprOp::constant;
    });
    return divides_by_size ? ", or choose it with select(...) where it is inside, since of / "
                             "bounds are known where a number divides"
                           : ", or choose it with select(...) where it is inside";
  }

  const std::vector<Extent>& not_empty(size_t branch) {
    Branch& here = branches_[branch];
    if (!here.not_empty) here.not_empty = here.facts.not_empty(axes_);
    return *here.not_empty;
  }

  const std::string& what_;
  const AxisExtents& axes_;
  bool unproved_ = false, reads_none_ = false, by_branch_ = false;
  std::vector<Branch> branches_ = {Branch()};          // the first one: outside of all selects
  std::set<std::pair<const ExprNode*, size_t>> done_;  // trees may be DAGs
  // Of which reads which indices; of what is made of them.
  std::map<std::pair<const ExprNode*, size_t>, NeededClamps> clamps_;
  std::unordered_map<const ExprNode*, Expr> clamped_;
};

}  // namespace

Expr checked_body(const std::string& what, const AxisExtents& axes, const Expr& body) {
  return BodyChecker(what, axes).check(body);
}

}  // namespace emulsion
