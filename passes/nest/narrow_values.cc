#include "passes/nest/narrow_values.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/range_arithmetic.h"
#include "dsl/types.h"

namespace emulsion {
namespace {

constexpr int kByte = 1, kTwoBytes = 2;

bool is_narrow(DType type) { return is_integer(type) && size_in_bytes(type) <= kTwoBytes; }

bool is_positive_constant(const Expr& e) { return e->op == ExprOp::constant && e->int_value > 0; }

// From where to where integers go, and bools as 0 and 1.
class Ranges {
 public:
  const IntegerRange& of(const Expr& e) {
    const auto known = known_.find(&e.node());
    if (known != known_.end()) return known->second;
    const IntegerRange type = integer_range(e.dtype());
    const IntegerRange computed = of_new(e, type);
    // What leaves the type wraps around.
    return known_.emplace(&e.node(), type.contains(computed) ? computed : type).first->second;
  }

 private:
  IntegerRange of_new(const Expr& e, const IntegerRange& type) {
    if (e->op == ExprOp::constant) return {e->int_value, e->int_value};
    if (e->op == ExprOp::read || e->args.empty()) return type;
    IntegerRange args[3];
    for (size_t i = 0; i < e->args.size(); ++i) {
      if (is_float(e->args[i].dtype())) return type;
      args[i] = of(e->args[i]);
    }
    return range_of(e->op, args[0], args[1], args[2]);
  }

  std::unordered_map<const ExprNode*, IntegerRange> known_;
};

class Narrower {
 public:
  // What is narrow or a bool, with what it is made of.
  Expr narrowed(const Expr& e, int bytes) {
    const auto known = narrowed_.find({&e.node(), bytes});
    if (known != narrowed_.end()) return known->second;
    return narrowed_.emplace(std::pair(&e.node(), bytes), new_narrowed(e, bytes)).first->second;
  }

 private:
  // `bytes` of each of the numbers that a bool chooses among, or casts.
  Expr new_narrowed(const Expr& e, int bytes) {
    if (e->args.empty()) return e;
    const DType of = e->args[0].dtype();
    if (e->op == ExprOp::cast && is_narrow(e.dtype()) && of == DType::i32) {
      return cast_from_wide(e);
    }
    if (is_comparison(e->op) && of == DType::i32) return narrow_comparison(e, bytes);
    const int of_own = is_narrow(e.dtype()) ? size_in_bytes(e.dtype()) : bytes;
    std::vector<Expr> args;
    for (const Expr& arg : e->args) {
      const bool goes_on = is_narrow(arg.dtype()) || arg.dtype() == DType::boolean;
      args.push_back(goes_on ? narrowed(arg, of_own) : arg);
    }
    return with_args(e, std::move(args));
  }

  Expr cast_from_wide(const Expr& e) {
    const DType type = e.dtype();
    if (size_in_bytes(type) == kByte) {
      const Expr made = modulo(e->args[0], type);
      if (made.defined()) return made;
    }
    const DType wider = type == DType::i16 ? DType::i16 : DType::u16;
    const Expr made = modulo(e->args[0], wider);
    return made.defined() ? of_type(made, type) : e;
  }

  // A mask of longer or shorter elements than what it is for would have to be made one of these.
  Expr narrow_comparison(const Expr& e, int bytes) {
    for (int some = bytes; some <= kTwoBytes; some *= 2) {
      const Expr made = exact(e, some);
      if (made.defined()) return made;
    }
    return e;
  }

  // The operation of arguments that a type of so many bytes holds. Undefined if none does.
  Expr exact(const Expr& e, int bytes) {
    IntegerRange range = ranges_.of(e->args[0]);
    for (const Expr& arg : e->args) range = united(range, ranges_.of(arg));
    // The least and most of 16 bits are found faster with a sign, quotients without.
    const bool divides = e->op == ExprOp::div || e->op == ExprOp::mod;
    std::vector<DType> types = {DType::i16, DType::u16};
    if (bytes == kByte) types = {DType::i8, DType::u8};
    if (divides || bytes == kByte) std::swap(types[0], types[1]);
    for (const DType type : types) {
      if (!integer_range(type).contains(range)) continue;
      std::vector<Expr> args;
      for (const Expr& arg : e->args) args.push_back(modulo(arg, type));
      if (std::all_of(args.begin(), args.end(), [](const Expr& arg) { return arg.defined(); })) {
        return args.size() == 1 ? unary(e->op, args[0]) : binary(e->op, args[0], args[1]);
      }
    }
    return Expr();
  }

  // A value of that type that is the i32 `e` modulo its 2^bits, of no wider ones. Undefined where
  // there is none.
  Expr modulo(const Expr& e, DType type) {
    const auto known = modulo_.find({&e.node(), type});
    if (known != modulo_.end()) return known->second;
    return modulo_.emplace(std::pair(&e.node(), type), new_modulo(e, type)).first->second;
  }

  Expr new_modulo(const Expr& e, DType type) {
    const int bytes = size_in_bytes(type);
    switch (e->op) {
      case ExprOp::constant:
        return number(type, e->int_value);
      case ExprOp::cast:
        return modulo_cast(e->args[0], type);
      case ExprOp::select: {
        const Expr a = modulo(e->args[1], type), b = modulo(e->args[2], type);
        if (!a.defined() || !b.defined()) return Expr();
        return select(narrowed(e->args[0], bytes), a, b);
      }
      case ExprOp::mul:
        if (bytes == kByte) return Expr();  // no processor has vectors of these
        [[fallthrough]];
      case ExprOp::add:
      case ExprOp::sub: {
        const Expr a = modulo(e->args[0], type), b = modulo(e->args[1], type);
        return a.defined() && b.defined() ? binary(e->op, a, b) : Expr();
      }
      case ExprOp::neg: {
        const Expr a = modulo(e->args[0], type);
        return a.defined() ? number(type, 0) - a : Expr();
      }
      case ExprOp::div:
      case ExprOp::mod:
        // Nor any of quotients: they are shifts and the upper halves of products.
        if (bytes == kByte || !is_positive_constant(e->args[1])) return Expr();
        return of_type(exact(e, bytes), type);
      case ExprOp::min:
      case ExprOp::max:
        return modulo_chosen(e, type);
      case ExprOp::abs:
        return of_type(exact(e, bytes), type);
      default:
        return Expr();
    }
  }

  // Of a least or most: what is always chosen is all that it is.
  Expr modulo_chosen(const Expr& e, DType type) {
    const IntegerRange &a = ranges_.of(e->args[0]), &b = ranges_.of(e->args[1]);
    const bool is_least = e->op == ExprOp::min;
    if (is_least ? a.highest <= b.lowest : a.lowest >= b.highest) return modulo(e->args[0], type);
    if (is_least ? b.highest <= a.lowest : b.lowest >= a.highest) return modulo(e->args[1], type);
    return of_type(exact(e, size_in_bytes(type)), type);
  }

  Expr modulo_cast(const Expr& from, DType type) {
    if (!is_narrow(from.dtype()) && from.dtype() != DType::boolean) return Expr();
    return of_type(narrowed(from, size_in_bytes(type)), type);
  }

  static Expr number(DType type, int64_t value) {
    return constant(type, static_cast<double>(wrap_integer(type, value)));
  }

  static Expr of_type(const Expr& e, DType type) {
    if (!e.defined() || e.dtype() == type) return e;
    const bool is_between = e->op == ExprOp::cast && is_integer(e->args[0].dtype()) &&
                            size_in_bytes(e.dtype()) >= size_in_bytes(type);
    return is_between ? of_type(e->args[0], type) : cast(type, e);
  }

  Ranges ranges_;
  std::map<std::pair<const ExprNode*, int>, Expr> narrowed_;
  std::map<std::pair<const ExprNode*, DType>, Expr> modulo_;
};

}  // namespace

Expr narrow_values(const Expr& body) {
  if (!is_narrow(body.dtype()) && body.dtype() != DType::boolean) return body;
  return Narrower().narrowed(body, kByte);
}

}  // namespace emulsion
