#include "passes/pipeline_with_fallback.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

// A way to make kernels of a graph, and what it is called in a warning.
struct Way {
  const char* name;
  std::function<std::vector<Lowered>()> lower;
};

DeriveOptions without_shared_loops(DeriveOptions options) {
  FusionRefusal reason("expected loops that can be lowered, got a fallback");
  options.loops = [=](const LoopCandidate&) { return reason; };
  options.siblings = [=](const SiblingCandidate&) { return reason; };
  return options;
}

DeriveOptions without_fusion(DeriveOptions options) {
  options = without_shared_loops(std::move(options));
  options.fuse = false;
  return options;
}

std::vector<Lowered> lower_in_plain_loops(const Graph& graph, size_t targets, std::string* dump) {
  const Schedule schedule(graph);
  return {targets, {graph, {}, schedule, run_pipeline(graph, schedule, dump)}};
}

// A tile machine has tiles or no kernel; what must be fused is, or there is no kernel.
bool may_fall_back(const std::vector<Target>& targets, const FusionConfig& fusion) {
  return std::none_of(targets.begin(), targets.end(), [&](const Target& target) {
    return target.is_tile_machine() || !rules_for(fusion, target).fail_on_unfused.empty();
  });
}

}  // namespace

LoweredForTargets run_pipeline_with_fallback(const Graph& graph, const std::vector<Target>& targets,
                                             const DeriveOptions& options, std::string* dump,
                                             const FusionConfig& fusion) {
  const auto derived = [&](const DeriveOptions& with) {
    return run_pipeline(graph, targets, with, dump, fusion);
  };
  const std::vector<Way> ways = {
      {"as derived", [&] { return derived(options); }},
      {"with no operation in the loops of another",
       [&] { return derived(without_shared_loops(options)); }},
      {"operation by operation", [&] { return derived(without_fusion(options)); }},
      {"every operation in plain loops",
       [&] { return lower_in_plain_loops(graph, targets.size(), dump); }},
  };
  std::exception_ptr first;
  std::vector<std::string> warnings;
  for (const Way& way : ways) {
    if (dump != nullptr && first) *dump += fmt::format("=== fallback: {}\n", way.name);
    try {
      return {way.lower(), std::move(warnings)};
    } catch (const InternalError& error) {
      if (!may_fall_back(targets, fusion)) throw;
      if (!first) first = std::current_exception();
      warnings.push_back(fmt::format("{}: {}", way.name, error.what()));
    }
  }
  std::rethrow_exception(first);
}

}  // namespace emulsion
