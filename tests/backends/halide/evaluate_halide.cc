#include "tests/backends/halide/evaluate_halide.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class DataFinder : public hi::IRGraphVisitor {
 public:
  bool finds_in(const Halide::Expr& e) {
    include(e);
    return found_;
  }

 protected:
  using hi::IRGraphVisitor::include;

  void include(const Halide::Expr& e) override {
    found_ = found_ || e.type().is_float() || e.as<hi::Load>() != nullptr;
    if (!found_) hi::IRGraphVisitor::include(e);
  }

 private:
  bool found_ = false;
};

[[noreturn]] void refuse(const Halide::Expr& e, const std::string& why) {
  std::ostringstream text;
  text << why << ": " << e;
  throw std::runtime_error(text.str());
}

// The remainder is not negative; by zero, both are zero.
int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return a % b >= 0 ? q : b > 0 ? q - 1 : q + 1;
}
int64_t remainder(int64_t a, int64_t b) { return b == 0 ? 0 : a - quotient(a, b) * b; }

int64_t in_type(int64_t value, const Halide::Type& type) {
  if (type.bits() >= 64) return value;
  const int64_t range = int64_t{1} << type.bits();
  const int64_t rest = remainder(value, range);
  return type.is_int() && rest >= range / 2 ? rest - range : rest;
}

class Evaluator {
 public:
  explicit Evaluator(const std::map<std::string, int64_t>& variables) : variables_(variables) {}

  int64_t value(const Halide::Expr& e) const {
    switch (e.node_type()) {
      case hi::IRNodeType::IntImm:
        return e.as<hi::IntImm>()->value;
      case hi::IRNodeType::UIntImm:
        return static_cast<int64_t>(e.as<hi::UIntImm>()->value);
      case hi::IRNodeType::Variable:
        return variable(e);
      case hi::IRNodeType::Cast:
        return in_type(value(e.as<hi::Cast>()->value), e.type());
      case hi::IRNodeType::Reinterpret:
        return in_type(value(e.as<hi::Reinterpret>()->value), e.type());
      case hi::IRNodeType::Not:
        return value(e.as<hi::Not>()->a) == 0 ? 1 : 0;
      case hi::IRNodeType::Select: {
        const auto* op = e.as<hi::Select>();
        return value(value(op->condition) != 0 ? op->true_value : op->false_value);
      }
      case hi::IRNodeType::Call:
        return call(e);
      default:
        return binary(e);
    }
  }

 private:
  int64_t variable(const Halide::Expr& e) const {
    auto found = variables_.find(e.as<hi::Variable>()->name);
    if (found == variables_.end()) refuse(e, "a variable without a value");
    return found->second;
  }

  int64_t call(const Halide::Expr& e) const {
    const auto* op = e.as<hi::Call>();
    if (op->is_intrinsic({hi::Call::likely, hi::Call::likely_if_innermost})) {
      return value(op->args[0]);
    }
    if (op->is_intrinsic(hi::Call::abs)) return std::abs(value(op->args[0]));
    refuse(e, "a call that is not known here");
  }

  template <typename Op, typename Function>
  int64_t of_both(const Halide::Expr& e, const Function& function) const {
    const auto* op = e.as<Op>();
    return static_cast<int64_t>(function(value(op->a), value(op->b)));
  }

  int64_t binary(const Halide::Expr& e) const {
    using Number = int64_t;
    switch (e.node_type()) {
      case hi::IRNodeType::Add:
        return of_both<hi::Add>(e, [](Number a, Number b) { return a + b; });
      case hi::IRNodeType::Sub:
        return of_both<hi::Sub>(e, [](Number a, Number b) { return a - b; });
      case hi::IRNodeType::Mul:
        return of_both<hi::Mul>(e, [](Number a, Number b) { return a * b; });
      case hi::IRNodeType::Div:
        return of_both<hi::Div>(e, quotient);
      case hi::IRNodeType::Mod:
        return of_both<hi::Mod>(e, remainder);
      case hi::IRNodeType::Min:
        return of_both<hi::Min>(e, [](Number a, Number b) { return std::min(a, b); });
      case hi::IRNodeType::Max:
        return of_both<hi::Max>(e, [](Number a, Number b) { return std::max(a, b); });
      case hi::IRNodeType::EQ:
        return of_both<hi::EQ>(e, [](Number a, Number b) { return a == b; });
      case hi::IRNodeType::NE:
        return of_both<hi::NE>(e, [](Number a, Number b) { return a != b; });
      case hi::IRNodeType::LT:
        return of_both<hi::LT>(e, [](Number a, Number b) { return a < b; });
      case hi::IRNodeType::LE:
        return of_both<hi::LE>(e, [](Number a, Number b) { return a <= b; });
      case hi::IRNodeType::GT:
        return of_both<hi::GT>(e, [](Number a, Number b) { return a > b; });
      case hi::IRNodeType::GE:
        return of_both<hi::GE>(e, [](Number a, Number b) { return a >= b; });
      case hi::IRNodeType::And:
        return of_both<hi::And>(e, [](Number a, Number b) { return a != 0 && b != 0; });
      case hi::IRNodeType::Or:
        return of_both<hi::Or>(e, [](Number a, Number b) { return a != 0 || b != 0; });
      default:
        refuse(e, "an expression that is not known here");
    }
  }

  const std::map<std::string, int64_t>& variables_;
};

}  // namespace

bool follows_from_variables(const Halide::Expr& expr) { return !DataFinder().finds_in(expr); }

int64_t evaluate_halide(const Halide::Expr& expr, const std::map<std::string, int64_t>& variables) {
  return Evaluator(variables).value(expr);
}

}  // namespace emulsion
