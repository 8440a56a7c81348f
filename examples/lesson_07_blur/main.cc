// Lesson 7: a 3x3 blur in five schedules, and what each of them trades.
//
//   ./bazelw run //examples/lesson_07_blur
//
// The example of the Halide papers (Ragan-Kelley et al., PLDI 2013): a mean of three columns, then
// of three rows, of 16-bit pixels. No schedule has it all: the table at the end says how much each
// computes again, how far apart a value's making and its use lie and how much storage that takes,
// how many threads and lanes it can keep busy, and how long it takes here.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/emulsion.h"
#include "dsl/schedule_idioms.h"
#include "examples/lesson.h"
#include "passes/analyse/measure_work.h"
using namespace emulsion;

namespace {

constexpr int64_t kTileRows = 32, kTileColumns = 128;
// Whole tiles, so that the schedules differ in nothing else; how many is for each call to say.
const Extent kRows = Extent::size("TY") * kTileRows, kColumns = Extent::size("TX") * kTileColumns;
const Axis y("y", kRows), x("x", kColumns), halo("y", kRows + 2);
const Axis yo("yo"), yi("yi"), xo("xo"), xi("xi");

TensorValues picture(int64_t rows, int64_t columns) {
  const std::vector<int64_t> shape = {rows * kTileRows + 2, columns * kTileColumns + 2};
  return {{"in", random_integers(u16, shape, 1, 0, 4095)}};
}

struct Row {
  std::string name;
  Work work;
  double seconds;
};

constexpr int64_t kTilesDown = 48, kTilesAcross = 16;  // 1536 rows of 2048 pixels

Row measure(const std::string& name, const lesson::Step& step) {
  return {name, measure_work(step.nest, {{"TY", kTilesDown}, {"TX", kTilesAcross}}),
          lesson::seconds(step, picture(kTilesDown, kTilesAcross))};
}

int64_t lanes_of(const Work& work) {
  int64_t lanes = work.stages.front().lanes;
  for (const StageWork& stage : work.stages) lanes = std::min(lanes, stage.lanes);
  return lanes;
}

// Work and distance in operations, storage in bytes; iterations that could run at once, threads'
// tasks and lanes of vectors.
void print_table(const std::vector<Row>& rows) {
  const double least = static_cast<double>(rows.front().work.operations());
  fmt::print("{} x {} pixels\n\n", kTilesDown * kTileRows, kTilesAcross * kTileColumns);
  fmt::print("{:<21} {:>9} {:>14} {:>11} {:>9} {:>6} {:>6} {:>7}\n", "", "redundant",
             "reuse distance", "storage", "span", "tasks", "lanes", "ms");
  for (const Row& row : rows) {
    const double again = static_cast<double>(row.work.operations()) / least - 1;
    fmt::print("{:<21} {:>7.1f} % {:>14} {:>11} {:>9} {:>6} {:>6} {:>7.2f}\n", row.name,
               again * 100, row.work.reuse_distance(), row.work.peak_bytes, row.work.span(),
               row.work.parallel(), lanes_of(row.work), row.seconds * 1e3);
  }
}

void teach() {
  Tensor in = input("in", u16, {kRows + 2, kColumns + 2});
  Func bx("bx"), by("by");
  bx(halo, x) = (in(halo, x) + in(halo, x + 1) + in(halo, x + 2)) / 3;
  by(y, x) = (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3;
  const int lanes = Target::host().vector_lanes(u16);

  std::vector<lesson::Trial> trials;
  for (int64_t rows : {0, 1, 2}) {
    trials.push_back(lesson::make_trial(by.tensor(), picture(rows, 1)));
  }
  trials.push_back(lesson::make_trial(by.tensor(), picture(1, 2)));
  std::vector<Row> table;

  Schedule breadth_first(by);
  breadth_first[bx].vectorize(x, lanes).parallel(y);
  breadth_first[by].vectorize(x, lanes).parallel(y);
  table.push_back(measure("breadth first", lesson::show("1. Breadth first: all of bx, then by.",
                                                        breadth_first, trials)));

  Schedule inlined(by);
  inlined[bx].compute_inline();
  inlined[by].vectorize(x, lanes).parallel(y);
  table.push_back(
      measure("inline",
              lesson::show("2. Inline: bx again for each point that reads it.", inlined, trials)));

  Schedule tiles(by);
  tiles[by].tile(y, x, yo, xo, yi, xi, kTileRows, kTileColumns).vectorize(xi, lanes).parallel(yo);
  tiles[bx].compute_at(by, xo).vectorize(x, lanes);
  table.push_back(
      measure("tiles", lesson::show("3. Tiles: bx for a tile and its halo.", tiles, trials)));

  Schedule sliding(by);
  sliding[by].vectorize(x, lanes);
  sliding[bx].store_root().compute_at(by, y).vectorize(x, lanes);
  table.push_back(
      measure("sliding window",
              lesson::show("4. A sliding window: each row of bx once, three of them kept.", sliding,
                           trials)));

  Schedule strips(by);
  strips[by].split(y, yo, yi, kTileRows).vectorize(x, lanes).parallel(yo);
  sliding_window(strips[bx], "by", yo, yi).vectorize(x, lanes);
  table.push_back(measure(
      "sliding within tiles",
      lesson::show("5. A sliding window within each of the threads' tiles.", strips, trials)));
  print_table(table);
}

}  // namespace

int main(int argc, char** argv) {
  return lesson::run(argc, argv, "lesson_07_blur",
                     "A 3x3 blur in five schedules, and what each of them trades.", teach);
}
