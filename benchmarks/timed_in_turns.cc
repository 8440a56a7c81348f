#include "benchmarks/timed_in_turns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "benchmarks/processor_clock.h"

namespace emulsion::benchmarks {
double processor_seconds(const Call& call, int64_t calls) {
  const double start = processor_clock();
  for (int64_t i = 0; i < calls; ++i) call();
  return (processor_clock() - start) / static_cast<double>(calls);
}

TimedInTurns::TimedInTurns(const std::string& name, Call emulsion, Contender peer)
    : emulsion_(std::move(emulsion)), peer_(std::move(peer)) {
  row_.name = name;
  row_.unit = "us";
  row_.peers.push_back({peer_.name, {}, 0, peer_.mark});
}

void TimedInTurns::measure(int repetitions, double seconds) {
  const double once = std::max(processor_seconds(peer_.call, 2), 1e-8);
  const int64_t calls = std::max<int64_t>(static_cast<int64_t>(seconds / once), 1);
  std::array<std::pair<const Call*, Samples*>, 3> turns = {{{&emulsion_, &row_.seconds},
                                                            {&peer_.call, &row_.peers[0].seconds},
                                                            {&emulsion_, &row_.again}}};
  for (int i = 0; i < repetitions; ++i) {
    std::shuffle(turns.begin(), turns.end(), engine_);
    for (const auto& [call, samples] : turns) {
      (*call)();
      samples->push_back(processor_seconds(*call, calls));
    }
  }
}

double TimedInTurns::ratio() const {
  Samples emulsion = row_.seconds;
  emulsion.insert(emulsion.end(), row_.again.begin(), row_.again.end());
  return quotient(median(row_.peers[0].seconds), median(emulsion)).value_or(1);
}

}  // namespace emulsion::benchmarks
