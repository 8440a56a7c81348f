#ifndef EMULSION_BENCHMARKS_DRAWN_PROGRAMS_H_
#define EMULSION_BENCHMARKS_DRAWN_PROGRAMS_H_

// Programs that fusion has to be good at, of shapes that nobody chose: the four classical pairs,
// chains, what follows a product, norms, softmax, losses, what is kept of rows, attention and MLPs.
// A name says what a program is and of which shape, and makes the same program again:
//
//   layer_norm_gelu/240x13       rows of 13 elements, 240 of them
//   softmax/R240x13              of a run-time number of rows, which is 240 when it is measured
//   add_relu/4x60x13             with an axis outside
//   matmul_gelu/240x13_of_32     sums of 32 products
//   attention/8x50_of_16         8 heads, 50 rows, 16 columns of each head

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion::benchmarks {

struct DrawnProgram {
  std::string name;
  Graph graph;
  SizeValues sizes;  // of the run-time number of rows, if it has one
};

// The names of all that are drawn, without shapes.
std::vector<std::string> drawn_kinds();
// The program of a name. Error: a name that says none.
DrawnProgram program_named(const std::string& name);
// Names, the same for the same seed. Of as many bytes as the largest tensor may have, between 1 KiB
// and `most_bytes`, small ones are as likely as large ones; and so are few columns and many.
std::vector<std::string> draw_names(uint64_t seed, size_t count, int64_t most_bytes);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_DRAWN_PROGRAMS_H_
