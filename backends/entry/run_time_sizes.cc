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

SizeSource solve(const std::string& size, const Buffer& argument, size_t axis) {
  SizeSource source;
  source.size = size;
  source.argument = argument.name;
  source.axis = axis;
  source.coefficient = argument.shape[axis].coefficients().at(size);
  source.rest = argument.shape[axis] - Extent::size(size) * Extent(source.coefficient);
  return source;
}

}  // namespace

std::vector<SizeSource> size_sources(const LoopNest& nest) {
  std::vector<SizeSource> sources;
  std::set<std::string> known;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Buffer* argument : nest.arguments()) {
      for (size_t axis = 0; axis < argument->shape.size(); ++axis) {
        std::string size = only_unknown(argument->shape[axis], known);
        if (size.empty()) continue;
        sources.push_back(solve(size, *argument, axis));
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
