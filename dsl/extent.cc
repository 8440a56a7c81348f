#include "dsl/extent.h"

#include <cctype>
#include <cstring>

#include "dsl/checked_arithmetic.h"
#include "dsl/error.h"
#include "dsl/reserved_names.h"

namespace emulsion {
namespace {

// The lowest number has no negation in 64 bits with a sign.
uint64_t magnitude(int64_t a) {
  return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
}

}  // namespace

Extent Extent::size(const std::string& name) {
  check_identifier("run-time size", name);
  Extent result;
  result.coefficients_[name] = 1;
  return result;
}

Extent operator+(const Extent& a, const Extent& b) {
  Extent result = a;
  result.constant_ = checked_add(a.constant_, b.constant_, "extent");
  for (const auto& [name, coefficient] : b.coefficients_) {
    int64_t sum = checked_add(result.coefficients_[name], coefficient, "extent");
    if (sum == 0) {
      result.coefficients_.erase(name);
    } else {
      result.coefficients_[name] = sum;
    }
  }
  return result;
}

Extent operator-(const Extent& a, const Extent& b) { return a + b * Extent(-1); }

Extent operator*(const Extent& a, const Extent& b) {
  if (!a.is_constant() && !b.is_constant()) {
    fail(
        "extent ({0}) * ({1}): expected an affine expression, got a product of run-time sizes; "
        "legal: a size of its own, and in expressions Expr({0}) * Expr({1})",
        a.to_string(), b.to_string());
  }
  if (!b.is_constant()) return b * a;
  Extent result(checked_mul(a.constant_, b.constant_, "extent"));
  if (b.constant_ == 0) return result;
  for (const auto& [name, coefficient] : a.coefficients_) {
    result.coefficients_[name] = checked_mul(coefficient, b.constant_, "extent");
  }
  return result;
}

std::optional<Extent> Extent::exact_quotient(int64_t divisor) const {
  if (divisor == -1) return *this * Extent(-1);  // the lowest number overflows: checked there
  if (divisor == 0 || constant_ % divisor != 0) return std::nullopt;
  Extent result(constant_ / divisor);
  for (const auto& [name, coefficient] : coefficients_) {
    if (coefficient % divisor != 0) return std::nullopt;
    result.coefficients_[name] = coefficient / divisor;
  }
  return result;
}

std::optional<int64_t> Extent::lower_bound() const {
  for (const auto& [name, coefficient] : coefficients_) {
    if (coefficient < 0) return std::nullopt;
  }
  return constant_;
}

int64_t Extent::evaluate(const SizeValues& sizes) const {
  int64_t result = constant_;
  for (const auto& [name, coefficient] : coefficients_) {
    auto found = sizes.find(name);
    if (found == sizes.end()) fail("run-time size {}: expected a value, got none", name);
    if (found->second < 0) {
      fail("run-time size {}: expected 0 or greater, got {}", name, found->second);
    }
    result = checked_add(result, checked_mul(coefficient, found->second, "extent"), "extent");
  }
  return result;
}

std::string Extent::to_string() const {
  std::string text;
  for (const auto& [name, coefficient] : coefficients_) {
    if (text.empty()) {
      text = coefficient == 1 ? name : fmt::format("{}*{}", coefficient, name);
    } else {
      text += coefficient < 0 ? " - " : " + ";
      text +=
          magnitude(coefficient) == 1 ? name : fmt::format("{}*{}", magnitude(coefficient), name);
    }
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ > 0) text += fmt::format(" + {}", constant_);
  if (constant_ < 0) text += fmt::format(" - {}", magnitude(constant_));
  return text;
}

bool never_negative(const Extent& extent) { return extent.lower_bound().value_or(-1) >= 0; }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].to_string();
  return text + "]";
}

std::optional<int64_t> element_count(const Shape& shape) {
  int64_t count = 1;
  bool constant = true;
  for (const Extent& extent : shape) constant = constant && extent.is_constant();
  if (!constant) return std::nullopt;
  for (const Extent& extent : shape) {
    if (extent.constant_term() == 0) return 0;
  }
  for (const Extent& extent : shape) {
    if (__builtin_mul_overflow(count, extent.constant_term(), &count)) {
      fail("shape {}: the number of elements does not fit 64 bits", to_string(shape));
    }
  }
  return count;
}

void check_identifier(const std::string& what, const std::string& name) {
  bool legal = !name.empty() && name.size() <= 128 && name.find("__") == std::string::npos &&
               std::isalpha(static_cast<unsigned char>(name[0]));
  for (char c : name) legal = legal && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  legal = legal && !is_cpp_keyword(name);
  if (legal && is_macro(name)) {
    fail("{} '{}': expected a name of its own, got a macro of the C library's headers or of ours",
         what, name);
  }
  if (!legal) {
    std::string shown = name.substr(0, 40);
    for (char& c : shown) c = std::isprint(static_cast<unsigned char>(c)) ? c : '?';
    fail(
        "{} '{}': expected a letter, then letters, digits and single underscores, at most 128 in "
        "all, and no keyword of C, C++ or Emulsion's texts (emulsion, inf, nan)",
        what, shown);
  }
}

}  // namespace emulsion
