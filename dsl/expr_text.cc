#include "dsl/expr_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dsl/error.h"

namespace emulsion {
namespace {

// How tightly the outermost operator of an expression binds; as in C.
enum Precedence {
  kLowest,  // reduce: reaches as far to the right as it can
  kOr,
  kAnd,
  kEquality,
  kOrder,
  kAdditive,
  kMultiplicative,
  kUnary,
  kAtom,
  kNever,  // a place where even an atom needs parentheses
};

struct Infix {
  const char* symbol;
  Precedence precedence;
};

// The infix operators; a null symbol for everything else.
Infix infix(ExprOp op) {
  switch (op) {
    case ExprOp::logical_or:
      return {" || ", kOr};
    case ExprOp::logical_and:
      return {" && ", kAnd};
    case ExprOp::eq:
      return {" == ", kEquality};
    case ExprOp::ne:
      return {" != ", kEquality};
    case ExprOp::lt:
      return {" < ", kOrder};
    case ExprOp::le:
      return {" <= ", kOrder};
    case ExprOp::gt:
      return {" > ", kOrder};
    case ExprOp::ge:
      return {" >= ", kOrder};
    case ExprOp::add:
      return {" + ", kAdditive};
    case ExprOp::sub:
      return {" - ", kAdditive};
    case ExprOp::mul:
      return {" * ", kMultiplicative};
    case ExprOp::div:
      return {" / ", kMultiplicative};
    case ExprOp::mod:
      return {" % ", kMultiplicative};
    default:
      return {nullptr, kAtom};
  }
}

std::string constant_text(const ExprNode& node) {
  switch (node.dtype) {
    case DType::boolean:
      return node.int_value ? "true" : "false";
    case DType::i32:
      return std::to_string(node.int_value);
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
      return fmt::format("{}{}", node.int_value, to_string(node.dtype));
    case DType::f32:
    case DType::f64:
      return float_literal(node.dtype, node.float_value);
    case DType::bf16:
      return fmt::format("bf16({})", float_literal(DType::f32, node.float_value));
  }
  EMULSION_CHECK(false, "no such type {}", static_cast<int>(node.dtype));
  return "";
}

class Printer {
 public:
  explicit Printer(const std::set<std::string>& axes) : axes_(axes) {}

  // Appends `expr`, in parentheses when it binds less tightly than its place needs.
  void print(const Expr& expr, Precedence place) {
    if (!expr.defined()) {
      out_ += "<undefined>";
      return;
    }
    Precedence own = precedence(expr.node());
    if (own < place) out_ += "(";
    print_bare(expr.node(), own);
    if (own < place) out_ += ")";
  }

  std::string take() { return std::move(out_); }

 private:
  static Precedence precedence(const ExprNode& node) {
    if (node.op == ExprOp::reduce) return kLowest;
    if (node.op == ExprOp::neg || node.op == ExprOp::logical_not) return kUnary;
    return infix(node.op).precedence;
  }

  void print_bare(const ExprNode& node, Precedence own) {
    if (const char* symbol = infix(node.op).symbol) {
      // Left-associative: the tree is kept, since float addition is not associative.
      print(node.args[0], own);
      out_ += symbol;
      print(node.args[1], static_cast<Precedence>(own + 1));
      return;
    }
    switch (node.op) {
      case ExprOp::constant:
        out_ += constant_text(node);
        break;
      case ExprOp::axis:
        out_ += node.name;
        break;
      case ExprOp::size:
        out_ += axes_.count(node.name) ? "size(" + node.name + ")" : node.name;
        break;
      case ExprOp::read:
        out_ += node.name;
        print_list(node.args, "[", "]");
        break;
      case ExprOp::neg:
      case ExprOp::logical_not: {
        out_ += node.op == ExprOp::neg ? "-" : "!";
        // "-2f" is a constant; the negation of the constant 2f is "-(2f)". And "--a" is hard to
        // read.
        const Expr& arg = node.args[0];
        bool apart = arg.defined() && (arg->op == ExprOp::constant || arg->op == ExprOp::neg);
        print(arg, apart ? kNever : kUnary);
        break;
      }
      case ExprOp::cast:
        print_list(node.args, to_string(node.dtype) + "(", ")");
        break;
      case ExprOp::reduce:
        out_ += to_string(node.combiner) + "(";
        for (size_t i = 0; i < node.axes.size(); ++i) {
          const Axis& axis = node.axes[i];
          out_ += (i ? ", " : "") + axis.name();
          if (axis.has_extent()) out_ += ": " + axis.extent().to_string();
        }
        out_ += ") ";
        print(node.args[0], kLowest);
        break;
      default:
        print_list(node.args, to_string(node.op) + "(", ")");
    }
  }

  void print_list(const std::vector<Expr>& args, const std::string& open, const char* close) {
    out_ += open;
    for (size_t i = 0; i < args.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(args[i], kLowest);
    }
    out_ += close;
  }

  const std::set<std::string>& axes_;
  std::string out_;
};

// Whether it has so few parts, those that are shared counted each time.
bool has_at_most(const Expr& expr, int* parts) {
  if (--*parts < 0) return false;
  return std::all_of(expr->args.begin(), expr->args.end(),
                     [&](const Expr& part) { return has_at_most(part, parts); });
}

}  // namespace

std::string float_literal(DType dtype, double value) {
  bool single = dtype == DType::f32;
  EMULSION_CHECK(single || dtype == DType::f64, "float_literal of {}", to_string(dtype));
  if (std::isinf(value)) return fmt::format("{}inf({})", value < 0 ? "-" : "", to_string(dtype));
  if (std::isnan(value)) {
    uint64_t bits = 0;
    std::string payload;
    if (single) {
      float narrow = static_cast<float>(value);
      std::memcpy(&bits, &narrow, sizeof(narrow));
      if (bits != 0x7fc00000u) payload = fmt::format(", 0x{:08x}", bits);
    } else {
      std::memcpy(&bits, &value, sizeof(value));
      if (bits != 0x7ff8000000000000u) payload = fmt::format(", 0x{:016x}", bits);
    }
    return fmt::format("nan({}{})", to_string(dtype), payload);
  }
  // The shortest digits that read back as the same number.
  return single ? fmt::format("{}f", static_cast<float>(value)) : fmt::format("{}d", value);
}

std::string to_string(const Expr& expr, const std::set<std::string>& axes) {
  Printer printer(axes);
  printer.print(expr, kLowest);
  return printer.take();
}

std::string to_string(const Expr& expr) { return to_string(expr, {}); }

std::string cast_text(DType to, const Expr& expr) {
  constexpr size_t kLongest = 40;
  int parts = 20;  // or the text may have more than memory
  const std::string text = has_at_most(expr, &parts) ? to_string(expr) : "...";
  return to_string(to) + "(" + (text.size() > kLongest ? "..." : text) + ")";
}

}  // namespace emulsion
