#include "passes/index/bind_sizes.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "dsl/count_text.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// One dimension of one argument: an equation in the sizes.
struct Dimension {
  std::string argument;
  size_t axis;
  Extent declared;
  int64_t actual;

  std::string place() const { return fmt::format("argument {}, axis {}", argument, axis); }
};

std::vector<Dimension> collect_dimensions(
    const std::vector<std::pair<std::string, Shape>>& declared,
    const std::vector<std::vector<int64_t>>& actual) {
  EMULSION_CHECK(declared.size() == actual.size(), "{} shapes for {} arguments", actual.size(),
                 declared.size());
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < declared.size(); ++i) {
    const auto& [name, shape] = declared[i];
    if (actual[i].size() != shape.size()) {
      fail("argument {}: expected {} {}, got {} [{}]", name,
           count_text(shape.size(), "axis", "axes"), to_string(shape),
           count_text(actual[i].size(), "axis", "axes"), fmt::join(actual[i], ", "));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      Dimension dimension{name, d, shape[d], actual[i][d]};
      if (dimension.actual < 0) {
        fail("{}: expected 0 or greater, got {}", dimension.place(), dimension.actual);
      }
      dimensions.push_back(std::move(dimension));
    }
  }
  return dimensions;
}

class Binder {
 public:
  explicit Binder(const SizeValues& known) : sizes_(known) {
    for (const auto& [name, value] : known) {
      if (value < 0) fail("run-time size {}: expected 0 or greater, got {}", name, value);
      origin_[name] = "given by the caller";
    }
  }

  // Whether the dimension had exactly one unknown, which is now bound.
  bool solve(const Dimension& dimension) {
    std::optional<std::string> unknown;
    for (const auto& [name, coefficient] : dimension.declared.coefficients()) {
      if (sizes_.count(name)) continue;
      if (unknown) return false;
      unknown = name;
    }
    if (!unknown) return false;  // of most dimensions of a call
    Extent rest = dimension.declared;
    for (const auto& [name, coefficient] : dimension.declared.coefficients()) {
      if (name == *unknown) continue;
      rest = rest + Extent(coefficient) * (Extent(sizes_.at(name)) - Extent::size(name));
    }
    int64_t coefficient = rest.coefficients().at(*unknown);
    int64_t difference = (Extent(dimension.actual) - Extent(rest.constant_term())).constant_term();
    if (difference % coefficient != 0 || difference / coefficient < 0) {
      fail("{}: expected {} with a whole number {} of 0 or greater, got {}", dimension.place(),
           dimension.declared.to_string(), *unknown, dimension.actual);
    }
    sizes_[*unknown] = difference / coefficient;
    origin_[*unknown] = "from " + dimension.place();
    return true;
  }

  void check(const Dimension& dimension) const {
    for (const auto& [name, coefficient] : dimension.declared.coefficients()) {
      if (sizes_.count(name)) continue;
      fail("{}: expected shapes from which run-time size {} follows, got {} = {} alone",
           dimension.place(), name, dimension.declared.to_string(), dimension.actual);
    }
    const int64_t expected = dimension.declared.evaluate(sizes_);
    if (expected == dimension.actual) return;
    std::string origins;
    for (const auto& [name, coefficient] : dimension.declared.coefficients()) {
      origins += fmt::format(", {} = {} {}", name, sizes_.at(name), origin_.at(name));
    }
    std::string shown = std::to_string(expected);
    if (!origins.empty()) {
      shown = fmt::format("{} ({}{})", expected, dimension.declared.to_string(), origins);
    }
    fail("{}: expected {}, got {}", dimension.place(), shown, dimension.actual);
  }

  const SizeValues& sizes() const { return sizes_; }

 private:
  SizeValues sizes_;
  std::map<std::string, std::string> origin_;
};

}  // namespace

SizeValues bind_sizes(const std::vector<std::pair<std::string, Shape>>& declared,
                      const std::vector<std::vector<int64_t>>& actual, const SizeValues& known) {
  std::vector<Dimension> dimensions = collect_dimensions(declared, actual);
  Binder binder(known);
  bool progress = true;
  while (progress) {
    progress = false;
    for (const Dimension& dimension : dimensions) {
      if (binder.solve(dimension)) progress = true;
    }
  }
  for (const Dimension& dimension : dimensions) binder.check(dimension);
  return binder.sizes();
}

}  // namespace emulsion
