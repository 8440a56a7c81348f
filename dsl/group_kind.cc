#include "dsl/group_kind.h"

#include <algorithm>
#include <set>
#include <vector>

#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr char kFused[] = "fused";

std::string word_of(LoopGroupKind kind) {
  const std::string fused = kFused;
  switch (kind) {
    case LoopGroupKind::rows:
      return fused + "_rows";
    case LoopGroupKind::columns:
      return fused + "_columns";
    case LoopGroupKind::row_blocks:
      return fused + "_row_blocks";
    case LoopGroupKind::windows:
      return fused + "_windows";
    case LoopGroupKind::waiting_sums:
      return fused + "_waiting_sums";
  }
  EMULSION_CHECK(false, "no such kind {}", static_cast<int>(kind));
  return "";
}

bool is_number(const Expr& e, double value) {
  if (e->op != ExprOp::constant) return false;
  return (is_float(e.dtype()) ? e->float_value : static_cast<double>(e->int_value)) == value;
}

// The argument beside the one that `is_it`, where there is one: the other way round, too.
template <typename Predicate>
const Expr* beside(const Expr& e, const Predicate& is_it) {
  if (is_it(e->args[1])) return &e->args[0];
  return is_it(e->args[0]) ? &e->args[1] : nullptr;
}

bool is_one_of(const Expr& e, ExprOp a, ExprOp b) { return e->op == a || e->op == b; }

// Of 1 + f(..), f one of these: f(..).
const Expr* added_to_one(const Expr& e, ExprOp a, ExprOp b) {
  if (e->op != ExprOp::add) return nullptr;
  const Expr* other = beside(e, [](const Expr& arg) { return is_number(arg, 1); });
  return other != nullptr && is_one_of(*other, a, b) ? other : nullptr;
}

// Of x / 2 * (1 + erf(..)), or tanh: x.
const Expr* argument_of_gelu(const Expr& e) {
  if (e->op != ExprOp::mul) return nullptr;
  const Expr* half = beside(
      e, [](const Expr& arg) { return added_to_one(arg, ExprOp::erf, ExprOp::tanh) != nullptr; });
  if (half == nullptr || (*half)->op != ExprOp::mul) return nullptr;
  return beside(*half, [](const Expr& arg) { return is_number(arg, 0.5); });
}

// Of 1 / (1 + exp(-x)), and of sigmoid(), which takes the exp of -|x|: x.
const Expr* argument_of_sigmoid(const Expr& e) {
  if (e->op != ExprOp::div) return nullptr;
  const Expr* decayed = added_to_one(e->args[1], ExprOp::exp, ExprOp::exp);
  if (decayed == nullptr || (*decayed)->args[0]->op != ExprOp::neg) return nullptr;
  const Expr& below = (*decayed)->args[0]->args[0];
  if (is_number(e->args[0], 1)) return &below;
  return below->op == ExprOp::abs && e->args[0]->op == ExprOp::select ? &below->args[0] : nullptr;
}

const Expr* argument_of_relu(const Expr& e) {
  if (e->op != ExprOp::max) return nullptr;
  return beside(e, [](const Expr& arg) { return is_number(arg, 0); });
}

const Expr* argument_of_clamp(const Expr& e) {
  const auto is_constant = [](const Expr& arg) { return arg->op == ExprOp::constant; };
  if (!is_one_of(e, ExprOp::min, ExprOp::max)) return nullptr;
  const Expr* inner = beside(e, is_constant);
  const ExprOp other = e->op == ExprOp::min ? ExprOp::max : ExprOp::min;
  return inner != nullptr && (*inner)->op == other ? beside(*inner, is_constant) : nullptr;
}

// As its operator is called in C++ (where, not select), but for what is many operators of one kind.
std::string word_of(ExprOp op) {
  switch (op) {
    case ExprOp::select:
      return "where";
    case ExprOp::logical_not:
    case ExprOp::logical_and:
    case ExprOp::logical_or:
      return "logic";
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le:
    case ExprOp::gt:
    case ExprOp::ge:
      return "compare";
    default:
      return to_string(op);
  }
}

Expr without_casts(Expr e) {
  while (e->op == ExprOp::cast) e = Expr(e->args[0]);
  return e;
}

class Steps {
 public:
  explicit Steps(const std::vector<const Op*>& comprehensions)
      : members_(comprehensions.begin(), comprehensions.end()) {
    for (const Op* member : comprehensions) add(*member);
  }

  // Behind a word for what kind of group it is.
  std::string text(std::string text) const {
    const size_t shown = std::min(words_.size(), kMostSteps);
    for (size_t i = 0; i < shown; ++i) text += "_" + words_[i];
    return text + (is_cut_ || words_.size() > kMostSteps ? "_and_more" : "");
  }

 private:
  static constexpr int kDeepest = 40;  // operations below one another that are looked at

  void add(const Op& member) {
    member_ = &member;
    if (member.combiner == Combiner::none) return add_value(member.body, 0);
    const Expr body = without_casts(member.body);
    const bool is_product = member.combiner == Combiner::sum && body->op == ExprOp::mul &&
                            without_casts(body->args[0])->op == ExprOp::read &&
                            without_casts(body->args[1])->op == ExprOp::read;
    if (!is_product) {
      add_value(body, 0);
      words_.push_back(to_string(member.combiner));
      return;
    }
    words_.emplace_back(is_windowed(body) ? "conv" : "matmul");
  }

  // Whether an index is more than an axis: rows of a window, channels of a group.
  static bool is_windowed(const Expr& product) {
    for (const Expr& arg : product->args) {
      const Expr read = without_casts(arg);
      for (const Expr& index : read->args) {
        if (index->op != ExprOp::axis && index->op != ExprOp::constant) return true;
      }
    }
    return false;
  }

  bool is_done() const { return is_cut_ || words_.size() > kMostSteps; }

  static bool is_leaf(const Expr& e) { return e->args.empty() || e->op == ExprOp::read; }
  bool is_inside(const Expr& e) const {
    return e->op == ExprOp::read && members_.count(e->tensor.get()) > 0;
  }

  // Some of the axes, not all: one value for many.
  bool is_broadcast(const Expr& e) const {
    if (e->op != ExprOp::read) return false;
    std::set<std::string> axes;
    for (const Expr& index : e->args) {
      if (index->op == ExprOp::axis) axes.insert(index->name);
    }
    return !axes.empty() && axes.size() < member_->axes.size();
  }

  void add_value(const Expr& e, int depth) {
    if (is_leaf(e) || is_done()) return;
    if (depth > kDeepest) {
      is_cut_ = true;
      return;
    }
    struct Form {
      const char* word;
      const Expr* (*argument)(const Expr&);
    };
    static const Form kForms[] = {{"relu", argument_of_relu},
                                  {"clamp", argument_of_clamp},
                                  {"gelu", argument_of_gelu},
                                  {"sigmoid", argument_of_sigmoid}};
    for (const Form& form : kForms) {
      const Expr* argument = form.argument(e);
      if (argument == nullptr) continue;
      add_value(*argument, depth + 1);
      words_.emplace_back(form.word);
      return;
    }
    if (e->op == ExprOp::add) return add_sum(e, depth);
    for (const Expr& arg : e->args) add_value(arg, depth + 1);
    words_.emplace_back(word_of(e->op));
  }

  // What comes first of the two is the value that goes on, the other one may be a bias.
  void add_sum(const Expr& e, int depth) {
    const bool turned = (!is_leaf(e->args[1]) && is_leaf(e->args[0])) ||
                        (is_inside(e->args[1]) && !is_inside(e->args[0])) ||
                        (is_broadcast(e->args[0]) && !is_broadcast(e->args[1]));
    const Expr &first = e->args[turned ? 1 : 0], &other = e->args[turned ? 0 : 1];
    add_value(first, depth + 1);
    add_value(other, depth + 1);
    words_.emplace_back(is_broadcast(other) && !is_broadcast(first) ? "bias" : "add");
  }

  std::set<const Op*> members_;
  const Op* member_ = nullptr;
  std::vector<std::string> words_;
  bool is_cut_ = false;
};

}  // namespace

std::string group_kind(const Op& group) {
  std::vector<const Op*> comprehensions;
  for (const OpPtr& member : group.members) comprehensions.push_back(member.get());
  return Steps(comprehensions).text(kFused);
}

std::string group_kind(const LoopGroup& group) {
  std::vector<const Op*> comprehensions;
  for (const OpPtr& op : group.members) {
    if (op->kind == OpKind::compute) comprehensions.push_back(op.get());
    for (const OpPtr& member : op->members) comprehensions.push_back(member.get());
  }
  return Steps(comprehensions).text(word_of(group.kind));
}

std::optional<LoopGroupKind> loop_kind_in(std::string_view word) {
  for (const LoopGroupKind kind :
       {LoopGroupKind::rows, LoopGroupKind::columns, LoopGroupKind::row_blocks,
        LoopGroupKind::windows, LoopGroupKind::waiting_sums}) {
    const std::string first = word_of(kind);
    if (word == first || word.substr(0, first.size() + 1) == first + "_") return kind;
  }
  return std::nullopt;
}

}  // namespace emulsion
