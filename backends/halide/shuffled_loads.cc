#include "backends/halide/shuffled_loads.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/halide/named_vectors.h"
#include "backends/halide/one_lane.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// Two of the longest registers: one instruction shuffles no more. Into one of them two shuffle what
// three have.
constexpr int64_t kLongest = 512, kMostBits = 2 * kLongest, kMostBitsOfLongest = 3 * kLongest;

// How far each lane is behind the first element of all; nothing where that is no number.
struct Distances {
  Halide::Expr first;
  std::vector<int> of_lanes;
  int count = 0;  // of elements from the first to the last
};

std::optional<Distances> distances(const Halide::Expr& index, int bits) {
  const int lanes = index.type().lanes();
  const Halide::Expr of_first = one_lane(index, 0);
  if (!of_first.defined()) return std::nullopt;
  std::vector<int64_t> steps(1, 0);
  for (int lane = 1; lane < lanes; ++lane) {
    const auto step = hi::as_const_int(hi::simplify(one_lane(index, lane) - of_first));
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  const bool is_longest = int64_t{lanes} * bits >= kLongest;
  if ((*most - *least + 1) * bits > (is_longest ? kMostBitsOfLongest : kMostBits)) {
    return std::nullopt;
  }
  Distances found{
      hi::simplify(of_first + static_cast<int>(*least)), {}, static_cast<int>(*most - *least) + 1};
  for (const int64_t step : steps) found.of_lanes.push_back(static_cast<int>(step - *least));
  return found;
}

// Where each element that is read is read by lanes one behind another: for each of them the first
// lane behind; nothing where there are more than a few, or where an element is skipped. Of the
// longest vectors alone, whose lanes a mask chooses as soon as they are loaded.
std::vector<int> ends_of_runs(const Distances& near, int bits) {
  constexpr int kMostRuns = 3;
  const int lanes = static_cast<int>(near.of_lanes.size());
  if (near.count > kMostRuns || int64_t{lanes} * bits < kLongest) return {};
  std::vector<int> ends(static_cast<size_t>(near.count), 0);
  int element = 0;
  for (size_t lane = 0; lane < near.of_lanes.size(); ++lane) {
    const int step = near.of_lanes[lane] - element;
    if (step < 0 || step > 1) return {};
    element += step;
    ends[static_cast<size_t>(element)] = static_cast<int>(lane) + 1;
  }
  return ends;
}

class ShuffleLoads : public NamedVectors {
  using NamedVectors::visit;

  Halide::Expr visit(const hi::Load* op) override {
    const bool is_shuffled = op->type.is_vector() && hi::is_const_one(op->predicate) &&
                             op->index.as<hi::Ramp>() == nullptr &&
                             op->index.as<hi::Broadcast>() == nullptr;
    if (!is_shuffled) return NamedVectors::visit(op);
    const auto near = distances(with_values(op->index), op->type.bits());
    if (!near) return NamedVectors::visit(op);
    if (const std::vector<int> ends = ends_of_runs(*near, op->type.bits()); !ends.empty()) {
      return chosen(*op, *near, ends);
    }
    if (const int part = lanes_of_part(*near, op->type.bits()); part > 0) {
      std::vector<int> of_lanes;
      const int before = near->count - part;  // the first element of the second part
      for (const int lane : near->of_lanes)
        of_lanes.push_back(lane < part ? lane : lane - before + part);
      const Halide::Expr second = hi::simplify(near->first + before);
      return hi::Shuffle::make({loaded(*op, near->first, part), loaded(*op, second, part)},
                               of_lanes);
    }
    return hi::Shuffle::make({loaded(*op, near->first, near->count)}, near->of_lanes);
  }

  static Halide::Expr loaded(const hi::Load& load, const Halide::Expr& first, int count) {
    const Halide::Expr index = count == 1 ? first : hi::Ramp::make(first, 1, count);
    return hi::Load::make(load.type.with_lanes(count), load.name, index, load.image, load.param,
                          hi::const_true(count), {});
  }

  // Bytes, or pairs of them, whose number is no power of two are in two loads of one, which
  // overlap: LLVM loads an odd end in pieces, and shuffles each of them. 0: of what is shorter than
  // a piece, or longer than the longest register.
  static int lanes_of_part(const Distances& near, int bits) {
    constexpr int kPiece = 32;
    int part = 1;
    while (2 * part <= near.count) part *= 2;
    if (bits >= kPiece || part == near.count) return 0;
    return part * bits >= kPiece && int64_t{2} * part * bits <= kLongest ? part : 0;
  }

  // Of a few elements each is loaded into all lanes, and the lanes are chosen by a mask that is a
  // constant. LLVM makes lane by lane what shuffles a vector of two or three elements.
  static Halide::Expr chosen(const hi::Load& load, const Distances& near,
                             const std::vector<int>& ends) {
    const int lanes = load.type.lanes();
    const auto element = [&](size_t at) {
      const Halide::Expr index = hi::simplify(near.first + static_cast<int>(at));
      return hi::Broadcast::make(hi::Load::make(load.type.element_of(), load.name, index,
                                                load.image, load.param, hi::const_true(), {}),
                                 lanes);
    };
    Halide::Expr value = element(ends.size() - 1);
    const Halide::Expr lane = hi::Ramp::make(0, 1, lanes);
    for (size_t at = ends.size() - 1; at-- > 0;) {
      value = hi::Select::make(lane < hi::Broadcast::make(ends[at], lanes), element(at), value);
    }
    return value;
  }
};

}  // namespace

hi::Stmt shuffle_loads(const hi::Stmt& statement) { return ShuffleLoads().mutate(statement); }

}  // namespace emulsion
