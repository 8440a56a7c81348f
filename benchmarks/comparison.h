#ifndef EMULSION_BENCHMARKS_COMPARISON_H_
#define EMULSION_BENCHMARKS_COMPARISON_H_

// How everything here is measured: calls in one process, repeated in random order over the whole
// run, each of Emulsion's twice. What disturbs the machine for a while then disturbs all alike, and
// the two copies show by how much.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/report.h"

namespace emulsion::benchmarks {

using Call = std::function<void()>;

struct Contender {
  std::string name;  // of a peer: "Halide"
  Call call;
  Call before_call = {};               // outside the time of each call: it empties the caches
  std::optional<double> mark = kMark;  // of a peer
  // Of a peer in another process: measures one call there. `call` then only shows what it computes.
  std::function<double()> seconds = {};
};

// One computation, with the peers that compute the same: it becomes a row of the table.
struct Comparison {
  std::string name, unit;
  double work = 0;
  Call prepare = {};  // before each repetition: it sets the number of threads
  Contender emulsion = {};
  std::vector<Contender> peers = {};
  std::optional<double> limit = {};
  bool on_one_thread = false;  // what is timed, of all of them: see TimedCall
};

// In the order of `all`. Google Benchmark knows the measurements as "1024x1024x1024/emulsion",
// ".../emulsion_again", ".../peer", and ".../peer_2" where there are more.
std::vector<Row> measure(const std::vector<Comparison>& all, const ProgramOptions& options);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_COMPARISON_H_
