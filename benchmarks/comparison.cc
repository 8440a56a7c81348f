#include "benchmarks/comparison.h"

#include <utility>

namespace emulsion::benchmarks {
namespace {

std::string name_of_peer(const Comparison& one, size_t i) {
  return one.name + "/peer" + (i == 0 ? "" : "_" + std::to_string(i + 1));
}

}  // namespace

std::vector<Row> measure(const std::vector<Comparison>& all, const ProgramOptions& options) {
  std::vector<TimedCall> calls;
  for (const Comparison& one : all) {
    auto add = [&](const std::string& name, const Contender& contender) {
      calls.push_back({name, one.on_one_thread, one.prepare, contender.before_call, contender.call,
                       contender.seconds});
    };
    add(one.name + "/emulsion", one.emulsion);
    add(one.name + "/emulsion_again", one.emulsion);
    for (size_t i = 0; i < one.peers.size(); ++i) add(name_of_peer(one, i), one.peers[i]);
  }
  std::map<std::string, Samples> seconds = measure(calls, options);
  std::vector<Row> rows;
  rows.reserve(all.size());
  for (const Comparison& one : all) {
    Row row{one.name, one.unit, one.work};
    row.seconds = std::move(seconds[one.name + "/emulsion"]);
    row.again = std::move(seconds[one.name + "/emulsion_again"]);
    row.limit = one.limit;
    for (size_t i = 0; i < one.peers.size(); ++i) {
      row.peers.push_back(
          {one.peers[i].name, std::move(seconds[name_of_peer(one, i)]), 0, one.peers[i].mark});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace emulsion::benchmarks
