#include "benchmarks/progress.h"

#include <chrono>
#include <cstdio>

namespace emulsion::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilence{5};

const Clock::time_point program_start = Clock::now();
Clock::time_point last_line = program_start;

}  // namespace

void announce(const std::string& what) {
  last_line = Clock::now();
  double seconds = std::chrono::duration<double>(last_line - program_start).count();
  std::fprintf(stderr, "%4.0f s  %s\n", seconds, what.c_str());
}

void report_progress(const std::string& what) {
  if (Clock::now() - last_line >= kSilence) announce(what);
}

}  // namespace emulsion::benchmarks
