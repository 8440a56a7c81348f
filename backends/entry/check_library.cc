#include "backends/entry/check_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "backends/entry/descriptor_text.h"
#include "dsl/count_text.h"
#include "dsl/error.h"
#include "dsl/reserved_names.h"

namespace emulsion {
namespace {

// A kernel of such a name would take the place of that function in every program that links it.
void check_not_of_the_c_library(const std::string& function) {
  for (const char* library : {"libc.so.6", "libm.so.6"}) {
    std::unique_ptr<void, int (*)(void*)> opened(dlopen(library, RTLD_LAZY), dlclose);
    if (opened && dlsym(opened.get(), function.c_str()) != nullptr) {
      fail("kernel {}: expected a name of its own, got that of a function of the C library ({})",
           function, library);
    }
  }
}

// Nor of what headers declare outside of all namespaces, or of a header: NAME.h would be found in
// its place.
void check_not_of_headers(const std::string& function) {
  if (is_declared_by_headers(function)) {
    fail("kernel {}: expected a name of its own, got one that headers of C or C++ declare",
         function);
  }
  if (is_header(function)) {
    fail("kernel {0}: expected a name of its own, got that of the header {0}.h", function);
  }
}

// Nor of what kernels call, and what that calls: their runtime's functions and OpenMP's.
void check_not_of_the_runtime(const std::string& function) {
  for (const char* prefix : {"emulsion_", "halide_", "omp_", "GOMP_", "kmp_"}) {
    if (function.rfind(prefix, 0) != 0) continue;
    fail(
        "kernel {}: expected a name of its own, got one that starts with {}, as functions that "
        "kernels call",
        function, prefix);
  }
}

// Whether every machine that runs code for `target` runs that for `least`, too.
bool runs_wherever(const Target& least, const Target& target) {
  return least.arch == target.arch && least.os == target.os &&
         std::includes(target.features.begin(), target.features.end(), least.features.begin(),
                       least.features.end());
}

}  // namespace

void check_kernel_name(const std::string& function) {
  check_identifier("kernel", function);
  check_not_of_the_c_library(function);
  check_not_of_headers(function);
  check_not_of_the_runtime(function);
}

void check_targets(const std::string& name, const std::vector<Target>& targets) {
  if (targets.empty()) fail("kernel {}: expected at least one target, got none", name);
  for (size_t later = 0; later < targets.size(); ++later) {
    for (size_t first = 0; first < later; ++first) {
      const std::string one = targets[first].to_string(), other = targets[later].to_string();
      if (one == other) fail("kernel {}: expected distinct targets, got {} twice", name, one);
      if (runs_wherever(targets[first], targets[later])) {
        fail(
            "kernel {}: expected the best target first, got {} before {}, which would never be "
            "run; legal: {} before {}",
            name, one, other, other, one);
      }
    }
  }
}

int zen_generation(const Target& target) {
  if (target.has("avx512_zen5")) return 5;
  // Sapphire Rapids implies zen4's AVX-512, but its code is Intel's.
  return target.has("avx512_zen4") && !target.has("avx512_sapphirerapids") ? 4 : 0;
}

void check_same_arguments(const std::string& name, const LoopNest& first, const LoopNest& other) {
  std::string expected = descriptor_text(first, name), found = descriptor_text(other, name);
  if (found != expected) {
    fail(
        "kernel {}: expected the same arguments for every target, weights packed for the widest "
        "vectors; legal: that target first; got\n{}and\n{}",
        name, expected, found);
  }
  bool same = first.packs.size() == other.packs.size();
  for (size_t i = 0; same && i < first.packs.size(); ++i) {
    same = first.packs[i].weight == other.packs[i].weight &&
           to_string(*first.packs[i].nest) == to_string(*other.packs[i].nest);
  }
  if (!same) fail("kernel {}: expected the same packed weights for every target", name);
}

void check_library(const std::vector<LoopNest>& nests, const std::string& name,
                   const std::vector<Target>& targets) {
  check_kernel_name(name);
  check_targets(name, targets);
  if (nests.size() != targets.size()) {
    fail("kernel {}: expected {}, one for each target, got {}", name,
         count_text(targets.size(), "nest", "nests"), nests.size());
  }
  for (const LoopNest& nest : nests) check_same_arguments(name, nests.front(), nest);
}

}  // namespace emulsion
