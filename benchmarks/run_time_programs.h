#ifndef EMULSION_BENCHMARKS_RUN_TIME_PROGRAMS_H_
#define EMULSION_BENCHMARKS_RUN_TIME_PROGRAMS_H_

// Small programs whose extents may be numbers or run-time sizes, of the same values.

#include <functional>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion::benchmarks {

// The extent of that name: a number, or the run-time size.
using ExtentOf = std::function<Extent(const std::string& name)>;

struct RunTimeProgram {
  std::string name;
  SizeValues sizes;  // what each name stands for
  std::function<Graph(const ExtentOf&)> graph;
};

std::vector<RunTimeProgram> run_time_contractions();
std::vector<RunTimeProgram> run_time_reductions();
std::vector<RunTimeProgram> run_time_pointwise();

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_RUN_TIME_PROGRAMS_H_
