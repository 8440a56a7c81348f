#include "passes/nest/sample_loops.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace emulsion {
namespace {

// All combinations up to this many.
constexpr int64_t kMaximumSamples = 81;

// One point at which a uOp is looked at: what every run-time size is, and, in turn from the
// outermost loop inwards, which iteration each loop is at.
class Sample {
 public:
  // all: combination `number` of all of them; else one at random, the first two of which are all
  // first and all last iterations.
  Sample(int64_t size, bool all, int64_t number)
      : size_(size), all_(all), number_(number), rest_(static_cast<uint64_t>(number)) {}

  int64_t size() const { return size_; }
  int64_t next_iteration(int64_t extent) {
    const int64_t choice = next_choice(static_cast<uint64_t>(std::clamp<int64_t>(extent, 1, 3)));
    return choice == 0 ? 0 : choice == 1 ? extent - 1 : extent / 2;
  }

 private:
  int64_t next_choice(uint64_t choices) {
    if (!all_ && number_ < 2) return number_;
    if (!all_) {
      rest_ = rest_ * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<int64_t>((rest_ >> 33) % choices);
    }
    const auto choice = static_cast<int64_t>(rest_ % choices);
    rest_ /= choices;
    return choice;
  }

  int64_t size_;
  bool all_;
  int64_t number_;
  uint64_t rest_;
};

class LoopSampler {
 public:
  LoopSampler(const std::vector<const Loop*>& loops, const std::vector<std::string>& names,
              const std::vector<int64_t>& sizes)
      : loops_(loops), names_(names), sizes_(sizes) {}

  LoopSamples samples() const {
    std::vector<Sample> samples;
    const std::vector<int64_t> combinations = count_combinations();
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const bool all = combinations[i] <= kMaximumSamples;
      for (int64_t n = 0; n < std::min(combinations[i], kMaximumSamples); ++n) {
        samples.emplace_back(sizes_[i], all, n);
      }
    }
    LoopSamples result{IndexTable(samples.size()), PointMask(samples.size(), 1)};
    set_sizes(samples, &result.table);
    for (const Loop* loop : loops_) {
      const IndexColumn& mins = result.table.values(loop->min, result.runs);
      const IndexColumn& extents = result.table.values(loop->extent, result.runs);
      IndexColumn iterations(samples.size());
      for (size_t i = 0; i < samples.size(); ++i) {
        iterations[i] = mins[i] + samples[i].next_iteration(extents[i]);
        result.runs[i] &= extents[i] > 0 ? 1 : 0;
      }
      result.table.set(loop->variable(), std::move(iterations));
    }
    return result;
  }

 private:
  // For each size, of all loops together; 0 where one never runs; just above what is tried where
  // there are more. A window that slides makes extents that differ in the first iteration of a
  // loop: a loop's choices follow from the values of the loops around it, and there are at most as
  // many as here.
  std::vector<int64_t> count_combinations() const {
    IndexTable table(2 * sizes_.size());  // each size with all loops at 0, and at 1
    IndexColumn size_column, at;
    for (int64_t size : sizes_) {
      size_column.insert(size_column.end(), {size, size});
      at.insert(at.end(), {0, 1});
    }
    for (const std::string& name : names_) table.set(name, size_column);
    for (const Loop* loop : loops_) table.set(loop->variable(), at);
    std::vector<int64_t> combinations(sizes_.size(), 1);
    for (const Loop* loop : loops_) {
      const IndexColumn& extents = table.values(loop->extent, PointMask(table.points(), 1));
      for (size_t i = 0; i < sizes_.size(); ++i) {
        const int64_t longest = std::max({int64_t{0}, extents[2 * i], extents[2 * i + 1]});
        combinations[i] =
            std::min(combinations[i] * std::min<int64_t>(longest, 3), kMaximumSamples + 1);
      }
    }
    return combinations;
  }

  void set_sizes(const std::vector<Sample>& samples, IndexTable* table) const {
    IndexColumn column;
    for (const Sample& sample : samples) column.push_back(sample.size());
    for (const std::string& name : names_) table->set(name, column);
  }

  const std::vector<const Loop*>& loops_;
  const std::vector<std::string>& names_;
  const std::vector<int64_t>& sizes_;
};

}  // namespace

LoopSamples sample_loops(const std::vector<const Loop*>& loops,
                         const std::vector<std::string>& names, const std::vector<int64_t>& sizes) {
  return LoopSampler(loops, names, sizes).samples();
}

}  // namespace emulsion
