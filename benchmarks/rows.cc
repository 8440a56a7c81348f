// Kernels as derived that combine the elements of rows, or of columns, beside the same in plain
// C++: with extents that are numbers, and with extents that are known when the kernel is called.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/plain_reductions.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures softmax, norms and sums of rows, and sums of columns, of everything, of channels "
    "and\n"
    "of small feature maps, as derived, with extents that are numbers and with extents that are\n"
    "known at run time, against the same in plain C++.";

using MakeGraph = std::function<Graph(const Extent& rows, const Extent& columns)>;

// On one thread, and on all where there are more; the peer has one. `run_time_columns`: whether the
// number of columns, too, is a run-time size of the second kernel.
void add_rows(const std::string& name, int64_t rows, int64_t columns, double bytes,
              const MakeGraph& graph, const std::function<void(KernelValues*)>& plain,
              std::vector<Comparison>* all, bool run_time_columns = true) {
  SizeValues sizes = {{"R", rows}};
  if (run_time_columns) sizes["C"] = columns;
  for (const bool at_run_time : {false, true}) {
    const bool all_at_run_time = at_run_time && run_time_columns;
    const Graph one = graph(at_run_time ? Extent::size("R") : Extent(rows),
                            all_at_run_time ? Extent::size("C") : Extent(columns));
    const Values values = values_of(one, at_run_time ? sizes : SizeValues());
    Comparison comparison{
        fmt::format("{}/{}x{}/{}", name, rows, columns, at_run_time ? "run_time" : "constant"),
        "GB/s", bytes * 1e-9};
    comparison.emulsion.call = kernel_call(run_pipeline(one, Target::host()).nest, values);
    comparison.peers.push_back({"plain C++", [plain, values] { plain(values.get()); }});
    add_on_one_and_all_threads(comparison, values, all, 1e-4);
  }
}

// Of few columns, whose number is known.
void add_sums_of_few_columns(std::vector<Comparison>* all) {
  for (const auto& [r, c] : {std::pair<int64_t, int64_t>{1000, 10}, {100000, 10}, {100000, 64}}) {
    const int64_t rows = r, columns = c;
    const double read = 4.0 * static_cast<double>(rows * columns);
    add_rows(
        "sum_of_columns", rows, columns, read,
        [](const Extent& m, const Extent& n) {
          return Graph(sum(input("x", f32, {m, n}), {0}, false, "y"));
        },
        [=](KernelValues* values) {
          plain_sum_columns(rows, columns, values->data<float>("x"), values->data<float>("y"));
        },
        all, false);
    add_rows(
        "sum_of_all", rows, columns, read,
        [](const Extent& m, const Extent& n) {
          return Graph(sum(input("x", f32, {m, n}), {0, 1}, false, "y"));
        },
        [=](KernelValues* values) {
          plain_sum_rows(1, rows * columns, values->data<float>("x"), values->data<float>("y"));
        },
        all, false);
  }
}

// Of each channel of pictures that have their channels last; a row is a picture.
void add_sums_of_channels(std::vector<Comparison>* all) {
  for (const auto& [s, c] : {std::pair<int64_t, int64_t>{7, 1024}, {28, 250}}) {
    constexpr int64_t kPictures = 32;
    const int64_t side = s, channels = c, pixels = kPictures * side * side;
    add_rows(
        fmt::format("sum_of_channels_{}", side), kPictures, channels,
        4.0 * static_cast<double>(pixels * channels),
        [=](const Extent& m, const Extent& n) {
          return Graph(sum(input("x", f32, {m, side, side, n}), {0, 1, 2}, false, "y"));
        },
        [=](KernelValues* values) {
          plain_sum_columns(pixels, channels, values->data<float>("x"), values->data<float>("y"));
        },
        all, false);
  }
}

// Of each channel of pictures whose channels are small maps, of that many pixels; a row is a
// picture.
void add_sums_of_maps(std::vector<Comparison>* all) {
  for (const auto& [p, c] :
       {std::pair<int64_t, int64_t>{64, 512}, {16, 100}, {9, 500}, {49, 256}}) {
    constexpr int64_t kPictures = 128;
    const int64_t pixels = p, channels = c;
    add_rows(
        fmt::format("sum_of_maps_{}", pixels), kPictures, channels,
        4.0 * static_cast<double>(kPictures * pixels * channels),
        [=](const Extent& m, const Extent& n) {
          return Graph(sum(input("x", f32, {m, n, pixels}), {0, 2}, false, "y"));
        },
        [=](KernelValues* values) {
          plain_sum_maps(kPictures, channels, pixels, values->data<float>("x"),
                         values->data<float>("y"));
        },
        all, false);
  }
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  for (const auto& [r, c] : {std::pair<int64_t, int64_t>{64, 1000}, {4096, 128}}) {
    const int64_t rows = r, columns = c;
    const double read = 4.0 * static_cast<double>(rows * columns);
    const auto x_of = [](const Extent& m, const Extent& n) { return input("x", f32, {m, n}); };
    add_rows(
        "softmax", rows, columns, 2 * read,
        [&](const Extent& m, const Extent& n) { return Graph(softmax(x_of(m, n), -1, "y")); },
        [=](KernelValues* values) {
          plain_softmax(rows, columns, values->data<float>("x"), values->data<float>("y"));
        },
        &all);
    add_rows(
        "layer_norm", rows, columns, 2 * read,
        [&](const Extent& m, const Extent& n) {
          return Graph(
              layer_norm(x_of(m, n), input("gamma", f32, {n}), input("beta", f32, {n}), 1e-5, "y"));
        },
        [=](KernelValues* values) {
          plain_layer_norm(rows, columns, values->data<float>("x"), values->data<float>("gamma"),
                           values->data<float>("beta"), values->data<float>("y"));
        },
        &all);
    add_rows(
        "rms_norm", rows, columns, 2 * read,
        [&](const Extent& m, const Extent& n) {
          return Graph(rms_norm(x_of(m, n), input("gamma", f32, {n}), 1e-5, "y"));
        },
        [=](KernelValues* values) {
          plain_rms_norm(rows, columns, values->data<float>("x"), values->data<float>("gamma"),
                         values->data<float>("y"));
        },
        &all);
    add_rows(
        "sum_of_rows", rows, columns, read,
        [&](const Extent& m, const Extent& n) { return Graph(sum(x_of(m, n), {1}, false, "y")); },
        [=](KernelValues* values) {
          plain_sum_rows(rows, columns, values->data<float>("x"), values->data<float>("y"));
        },
        &all);
    add_rows(
        "sum_of_columns", rows, columns, read,
        [&](const Extent& m, const Extent& n) { return Graph(sum(x_of(m, n), {0}, false, "y")); },
        [=](KernelValues* values) {
          plain_sum_columns(rows, columns, values->data<float>("x"), values->data<float>("y"));
        },
        &all);
  }
  add_sums_of_few_columns(&all);
  add_sums_of_channels(&all);
  add_sums_of_maps(&all);
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv,
                     {"rows", kMeasures, "--benchmark_filter='softmax|layer_norm'", run});
}
