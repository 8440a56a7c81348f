#ifndef EMULSION_BENCHMARKS_SMALL_PROGRAMS_H_
#define EMULSION_BENCHMARKS_SMALL_PROGRAMS_H_

// Small programs of all kinds, each written twice: as a graph and as plain loops (peers/plain_*.h).

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/nest_kernel.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion::benchmarks {

// Of the matrices, where a program does not define its own.
inline constexpr int kRows = 256, kColumns = 1024;
// Of results that are not whole numbers, where the terms of sums keep their order.
inline constexpr double kTolerance = 1e-5;

struct SmallProgram {
  std::string name;
  Graph graph;
  std::function<void(KernelValues&)> plain;  // reads the graph's arguments, writes its output
  SizeValues sizes = {};
  double tolerance = 0;                          // of results that are not whole numbers
  std::function<void(KernelValues&)> fill = {};  // arguments that small whole numbers are not for
};

std::vector<SmallProgram> pointwise_programs();
std::vector<SmallProgram> movement_programs();
std::vector<SmallProgram> reduction_programs();
std::vector<SmallProgram> product_programs();
std::vector<SmallProgram> window_programs();
std::vector<SmallProgram> choice_programs();
std::vector<SmallProgram> column_programs();
std::vector<SmallProgram> short_axis_programs();
std::vector<SmallProgram> turn_programs();

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_SMALL_PROGRAMS_H_
