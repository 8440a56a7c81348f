#ifndef EMULSION_BENCHMARKS_TIMED_IN_TURNS_H_
#define EMULSION_BENCHMARKS_TIMED_IN_TURNS_H_

// What hundreds of programs are measured with, each for a few milliseconds: the calls of one
// program take turns in an order that changes, by the time of this thread's processor, which leaves
// out what others take of it meanwhile.

#include <cstdint>
#include <random>
#include <string>

#include "benchmarks/comparison.h"
#include "benchmarks/report.h"

namespace emulsion::benchmarks {

// Seconds of one call, the mean of `calls`.
double processor_seconds(const Call& call, int64_t calls);

class TimedInTurns {
 public:
  // `peer` has its name and its mark. The row has its times in microseconds.
  TimedInTurns(const std::string& name, Call emulsion, Contender peer);
  // Adds to the samples: in each repetition each call is timed for as long as `seconds` of the
  // peer.
  void measure(int repetitions, double seconds);
  // The peer's time over Emulsion's: above 1, Emulsion is the faster one.
  double ratio() const;
  const Row& row() const { return row_; }

 private:
  Call emulsion_;
  Contender peer_;
  Row row_;
  std::mt19937 engine_;
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_TIMED_IN_TURNS_H_
