#include "backends/entry/run_time_sizes.h"

#include <set>

#include "dsl/error.h"

namespace emulsion {
namespace {

// The only size in `extent` that is not known yet; empty when there is none, or more than one.
std::string only_unknown(const Extent& extent, const std::set<std::string>& known) {
  std::string found;
  for (const auto& [name, coefficient] : extent.coefficients()) {
    if (known.count(name)) continue;
    if (!found.empty()) return "";
    found = name;
  }
  return found;
}

SizeSource solve(const std::string& size, const Extent& extent, size_t argument, size_t axis) {
  const int64_t coefficient = extent.coefficients().at(size);
  return {size, argument, axis, coefficient, extent - Extent::size(size) * Extent(coefficient)};
}

}  // namespace

std::vector<SizeSource> size_sources(const LoopNest& nest) {
  std::vector<SizeSource> sources;
  std::set<std::string> known;
  const std::vector<const Buffer*> arguments = nest.arguments();
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Shape& shape = arguments[i]->shape;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        std::string size = only_unknown(shape[axis], known);
        if (size.empty()) continue;
        sources.push_back(solve(size, shape[axis], i, axis));
        known.insert(size);
        progress = true;
      }
    }
  }
  for (const std::string& size : nest.sizes) {
    if (!known.count(size)) {
      fail("kernel {}: expected an argument whose shape gives the run-time size {}, got none",
           nest.name, size);
    }
  }
  return sources;
}

}  // namespace emulsion
