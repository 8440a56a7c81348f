#include "tests/fuzz/guided_fuzz.h"

#include <algorithm>
#include <utility>

#include "tests/fuzz/comparisons.h"
#include "tests/fuzz/mutate.h"

namespace emulsion {
namespace {

// A file that is long, or is much work, would be mutated at the cost of many others.
constexpr size_t kLongest = 4096;
constexpr uint64_t kMostMade = 20'000'000;

}  // namespace

GuidedFuzz::GuidedFuzz(FuzzTarget target, uint64_t seed)
    : target_(std::move(target)), random_(seed), is_seen_(kMostOutcomes) {}

FuzzFile GuidedFuzz::next() {
  // Half of the time one of those that came last: they are at the border of what is known.
  const size_t last = std::min<size_t>(kept_.size(), 8 + kept_.size() / 16);
  const size_t among = random_.below(2) == 0 ? last : kept_.size();
  const FuzzFile& base = kept_[kept_.size() - 1 - random_.next() % among];
  FuzzFile file = base;
  for (int i = random_.below(3) == 0 ? 1 + random_.below(4) : 1; i > 0; --i) {
    file.bytes = mutate(file.bytes, texts_, &random_);
  }
  return file;
}

FuzzOutcome GuidedFuzz::look(const FuzzFile& file) {
  start_comparing();
  FuzzOutcome outcome = look_at(target_, file);
  const Comparisons compared = stop_comparing();
  bool is_new = false;
  for (uint32_t one : compared.outcomes) {
    if (is_seen_[one]) continue;
    is_seen_[one] = true;
    is_new = true;
    ++outcomes_;
  }
  const bool is_small = file.bytes.size() <= kLongest && compared.made <= kMostMade;
  if (kept_.empty() || (is_new && is_small && outcome.failure.empty())) {
    kept_.push_back(file);
    texts_.push_back(file.bytes);
  }
  return outcome;
}

}  // namespace emulsion
