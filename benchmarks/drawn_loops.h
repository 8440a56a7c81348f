#ifndef EMULSION_BENCHMARKS_DRAWN_LOOPS_H_
#define EMULSION_BENCHMARKS_DRAWN_LOOPS_H_

// Small programs as people write them without operators: one comprehension or two, over shapes,
// orders of axes, windows and types that nobody chose. A name says the kind, the seed and the
// number, and makes the same program again: window/7.231.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/extent.h"

namespace emulsion::benchmarks {

struct DrawnLoops {
  std::string name;
  std::string text;  // dsl/graph_text.h
  SizeValues sizes;  // of the run-time size R, if it has one
};

// Without seeds and numbers.
std::vector<std::string> loop_kinds();
// The program of a name. Error: a name that says none.
DrawnLoops loops_named(const std::string& name);
// Kinds in turns, or one kind alone where it is not empty. Error: no kind of that name.
std::vector<std::string> draw_loops(uint64_t seed, size_t count, const std::string& kind = "");

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_DRAWN_LOOPS_H_
