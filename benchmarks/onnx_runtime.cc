// Kernels as derived beside ONNX Runtime, which is what many would use instead: on one thread, with
// extents that are numbers and with extents that are known when the kernel is called.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "benchmarks/onnx_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures softmax, layer_norm, attention and an MLP as derived against ONNX Runtime, both on\n"
    "one thread, with extents that are numbers and with extents that are known at run time.";

constexpr double kTolerance = 1e-4;  // exp() and the order of sums

void add_softmax_and_norms(int64_t rows, int64_t columns, std::vector<OnnxProgram>* all) {
  const std::string size = fmt::format("{}x{}", rows, columns);
  const double array = 4e-9 * static_cast<double>(rows * columns);
  for (const bool at_run_time : {false, true}) {
    const SizeValues sizes = at_run_time ? SizeValues{{"R", rows}} : SizeValues();
    const Extent m = at_run_time ? Extent::size("R") : Extent(rows);
    const Tensor x = input("x", f32, {m, columns}), z = input("z", f32, {m, columns});
    const Tensor gamma = input("gamma", f32, {columns}), beta = input("beta", f32, {columns});
    auto add = [&](const std::string& name, const Tensor& y, double bytes) {
      all->push_back({name, size, Graph(y), sizes, bytes, "GB/s"});
    };
    add("softmax", softmax(x, -1, "y"), 2 * array);
    add("layer_norm", layer_norm(x, gamma, beta, 1e-5, "y"), 2 * array);
    add("layer_norm_residual", layer_norm(x + z, gamma, beta, 1e-5, "y"), 3 * array);
  }
}

// Each head's rows: softmax(q k^T / 8 [+ mask]) v.
Graph attention(int64_t heads, const Extent& queries, const Extent& length, int64_t width,
                bool has_mask) {
  const Axis h("h", heads), s("s", queries), t("t", length), d("d", width);
  const Tensor q = input("q", f32, {heads, queries, width});
  const Tensor k = input("k", f32, {heads, length, width}),
               v = input("v", f32, {heads, length, width});
  const Tensor mask = input("mask", f32, {queries, length});
  const Tensor scores = compute("scores", {h, s, t}, sum(d, q(h, s, d) * k(h, t, d)));
  const Tensor scaled = scores * 0.125F;
  const Tensor weights = softmax(has_mask ? scaled + mask : scaled);
  return Graph(compute("y", {h, s, d}, sum(t, weights(h, s, t) * v(h, t, d))));
}

void add_attention(int64_t heads, int64_t rows, int64_t width, std::vector<OnnxProgram>* all) {
  const double work = 4e-9 * static_cast<double>(heads * rows * rows * width);
  for (const bool at_run_time : {false, true}) {
    for (const bool has_mask : {false, true}) {
      const Extent length = at_run_time ? Extent::size("S") : Extent(rows);
      all->push_back({has_mask ? "masked_attention" : "attention",
                      fmt::format("{}x{}x{}", heads, rows, width),
                      attention(heads, length, length, width, has_mask),
                      at_run_time ? SizeValues{{"S", rows}} : SizeValues(), work, "GF/s"});
    }
  }
}

// One new row of each head beside all that came before it: a step of a decoder.
void add_attention_of_one(int64_t heads, int64_t rows, int64_t width,
                          std::vector<OnnxProgram>* all) {
  const double array = 8e-9 * static_cast<double>(heads * rows * width);  // keys and values
  for (const bool at_run_time : {false, true}) {
    const Extent length = at_run_time ? Extent::size("S") : Extent(rows);
    all->push_back({"attention", fmt::format("{}x1of{}x{}", heads, rows, width),
                    attention(heads, 1, length, width, false),
                    at_run_time ? SizeValues{{"S", rows}} : SizeValues(), array, "GB/s"});
  }
}

void add_mlp(int64_t rows, int64_t width, std::vector<OnnxProgram>* all) {
  for (const bool at_run_time : {false, true}) {
    const Extent m = at_run_time ? Extent::size("R") : Extent(rows);
    Tensor layer = input("x", f32, {m, width});
    for (const char* number : {"1", "2"}) {
      const std::string i = number;
      const Tensor w = weight("w" + i, f32, {width, width}), b = weight("b" + i, f32, {width});
      layer = relu(matmul(layer, w) + b, i == "2" ? "y" : "h");
    }
    all->push_back({"mlp", fmt::format("{}x{}", rows, width), Graph(layer),
                    at_run_time ? SizeValues{{"R", rows}} : SizeValues(),
                    4e-9 * static_cast<double>(rows * width * width), "GF/s"});
  }
}

std::vector<OnnxProgram> programs() {
  std::vector<OnnxProgram> all;
  add_softmax_and_norms(64, 1000, &all);
  add_softmax_and_norms(4096, 128, &all);
  add_softmax_and_norms(512, 768, &all);
  add_softmax_and_norms(8192, 256, &all);
  add_softmax_and_norms(16384, 128, &all);
  add_softmax_and_norms(16, 32768, &all);
  add_softmax_and_norms(8, 131072, &all);
  add_softmax_and_norms(1023, 100, &all);
  add_softmax_and_norms(20000, 64, &all);
  add_softmax_and_norms(30000, 17, &all);
  add_softmax_and_norms(4096, 10, &all);
  for (const int64_t rows : {16, 128, 512}) add_attention(12, rows, 64, &all);
  for (const int64_t rows : {50, 1000}) add_attention_of_one(12, rows, 64, &all);
  add_mlp(16, 512, &all);
  add_mlp(256, 512, &all);
  add_mlp(200, 1000, &all);
  return all;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(
      argc, argv,
      {"onnx_runtime", kMeasures, "--benchmark_filter='^softmax|attention/12x128'",
       [&](const ProgramOptions& options) {
         return measure_against_onnx_runtime(programs(), {1, kTolerance}, options, argv[0]);
       }});
}
