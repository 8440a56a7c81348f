// Lesson 5: softmax and layer_norm, a block of rows at a time.
//
//   ./bazelw run //examples/lesson_05_softmax
//
// Both are chains of small operations over rows: as they stand, each goes through memory. Computed
// at a block of rows of the last one, what is between them stays in the cache, and the threads
// share the blocks. The number of rows is a run-time size.

#include <cstdio>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "dsl/schedule_idioms.h"
#include "examples/lesson.h"
using namespace emulsion;

namespace {

constexpr int64_t kColumns = 1000, kTimedRows = 2048, kBlock = 4;
// exp() in f32 is a polynomial of ours, and partial sums are sums in another order.
constexpr double kRounding = 1e-5;

const Axis rows("i0"), column("i1"), reduced("r1");
const Axis block("block"), row("row"), lane("lane");

TensorValues arguments_for(int64_t count) {
  return {{"x", random_integers(f32, {count, kColumns}, 1)},
          {"gamma", random_integers(f32, {kColumns}, 2)},
          {"beta", random_integers(f32, {kColumns}, 3)}};
}

TensorValues only(TensorValues arguments, const Graph& graph) {
  TensorValues wanted;
  for (const OpPtr& op : graph.arguments()) wanted.insert(arguments.extract(op->name));
  return wanted;
}

std::vector<lesson::Trial> trials_of(const Graph& graph) {
  std::vector<lesson::Trial> trials;
  for (int64_t count : {0, 1, 7}) {
    trials.push_back(lesson::make_trial(graph, only(arguments_for(count), graph)));
  }
  return trials;
}

void report_speed(const lesson::Step& step, const Graph& graph) {
  const double bytes = 2.0 * sizeof(float) * kTimedRows * kColumns;  // x in, y out
  std::printf("%lld rows: %.2f GB/s\n\n", static_cast<long long>(kTimedRows),
              bytes / lesson::seconds(step, only(arguments_for(kTimedRows), graph)) * 1e-9);
}

int lanes() { return Target::host().vector_lanes(f32); }

// One partial result in each lane of a vector, and then the partial results together: a reduction
// along a row has no other loop to put in vectors. An idiom: a split, an rfactor and a reorder.
void in_lanes(Schedule* schedule, const std::string& name) {
  reduce_in_lanes(*schedule, name, {reduced}, lane, lanes(), name + "_lanes")
      .compute_at(name, rows);
}

void softmax_lesson(const Tensor& x) {
  Tensor y = softmax(x, -1, "y");  // y_max, y_exp, y_sum, y
  const std::vector<lesson::Trial> trials = trials_of(y);
  report_speed(lesson::show("1. Softmax as defined, one operation after the other.", Schedule(y),
                            trials, kRounding),
               y);

  Schedule blocks(y);
  blocks[y].split(rows, block, row, kBlock).parallel(block).vectorize(column, lanes());
  blocks["y_exp"].compute_at(y, block).vectorize(column, lanes());
  blocks["y_max"].compute_at(y, block);
  blocks["y_sum"].compute_at(y, block);
  report_speed(
      lesson::show("2. At a block of rows of the last operation.", blocks, trials, kRounding), y);

  Schedule vectors = blocks;
  in_lanes(&vectors, "y_max");
  in_lanes(&vectors, "y_sum");
  report_speed(lesson::show("3. And the reductions in vectors, a partial result in each lane.",
                            vectors, trials, kRounding),
               y);
}

void layer_norm_lesson(const Tensor& x) {
  Tensor gamma = weight("gamma", f32, {kColumns}), beta = weight("beta", f32, {kColumns});
  Tensor y = layer_norm(x, gamma, beta, 1e-5, "y");  // y_sum, y_mean, y_squares, y_scale, y
  const std::vector<lesson::Trial> trials = trials_of(y);
  Schedule vectors(y);
  vectors[y].split(rows, block, row, kBlock).parallel(block).vectorize(column, lanes());
  for (const char* name : {"y_sum", "y_mean", "y_squares", "y_scale"}) {
    vectors[name].compute_at(y, block);
  }
  in_lanes(&vectors, "y_sum");
  in_lanes(&vectors, "y_squares");
  report_speed(lesson::show("4. layer_norm in the same way.", vectors, trials, kRounding), y);
}

void teach() {
  Tensor x = input("x", f32, {Extent::size("B"), kColumns});
  softmax_lesson(x);
  layer_norm_lesson(x);
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_05_softmax",
                     "softmax and layer_norm, a block of rows at a time.", teach);
}
