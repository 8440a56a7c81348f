// Blocks of models as derived, each one kernel, beside ONNX Runtime: on one thread, with extents
// that are numbers and, where blocks are called so, with a length or a batch that is known at run
// time.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "benchmarks/onnx_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures blocks of models (a transformer's layer, a ResNet's bottleneck, a step of an LSTM, "
    "..)\n"
    "as derived, one kernel each, against ONNX Runtime, both on one thread.";

constexpr double kTolerance = 2e-4;  // exp(), erf() and the order of sums

// Values are the whole numbers of values_of() over this, so that scores and gates are of the size
// that they have in models.
constexpr float kDivisor = 64;

// An extent: a number, or a run-time size with the value that it has in a call.
struct Length {
  Extent extent;
  SizeValues sizes;
};
Length length(const std::string& name, int64_t value, bool at_run_time) {
  if (at_run_time) return {Extent::size(name), {{name, value}}};
  return {value, {}};
}

Tensor dense(const Tensor& x, const std::string& n, int64_t from, int64_t to) {
  const Tensor w = weight("w" + n, f32, {from, to});
  const Tensor b = weight("b" + n, f32, {to});
  return matmul(x, w) + b;
}

Tensor norm(const Tensor& x, const std::string& n, int64_t width) {
  const Tensor gamma = weight("gamma" + n, f32, {width});
  const Tensor beta = weight("beta" + n, f32, {width});
  return layer_norm(x, gamma, beta);
}

// The heads of columns `first` to `first` + width of x [S, ..], as [heads, S, width / heads].
Tensor heads_of(const Tensor& x, const Extent& rows, int64_t first, int64_t width, int64_t heads) {
  const Tensor part = slice(x, {0, first}, {rows, first + width});
  return transpose(reshape(part, {rows, heads, width / heads}), {1, 0, 2});
}

// Vaswani et al., 2017, with the norms in front (Xiong et al., 2020).
OnnxProgram transformer_layer(int64_t rows, int64_t width, int64_t heads, bool at_run_time) {
  const Length s = length("S", rows, at_run_time);
  const Tensor x = input("x", f32, {s.extent, width});
  const Tensor qkv = dense(norm(x, "1", width), "1", width, 3 * width);
  const Tensor q = heads_of(qkv, s.extent, 0, width, heads);
  const Tensor k = heads_of(qkv, s.extent, width, width, heads);
  const Tensor v = heads_of(qkv, s.extent, 2 * width, width, heads);
  const Tensor weights = softmax(matmul(q, transpose(k, {0, 2, 1})) * 0.125F);
  const Tensor mixed = reshape(transpose(matmul(weights, v), {1, 0, 2}), {s.extent, width});
  const Tensor a = x + dense(mixed, "2", width, width);
  const Tensor h = gelu(dense(norm(a, "2", width), "3", width, 4 * width), Gelu::erf);
  const Tensor y = add(a, dense(h, "4", 4 * width, width), "y");
  const auto m = static_cast<double>(rows), n = static_cast<double>(width);
  return {"transformer_layer", fmt::format("{}x{}", rows, width), Graph(y), s.sizes,
          1e-9 * (24 * m * n * n + 4 * m * m * n)};
}

// Zhang and Sennrich, 2019, and Shazeer, 2020: what stands between attentions in Llama.
OnnxProgram gated_ffn(int64_t rows, int64_t width, int64_t hidden, bool at_run_time) {
  const Length s = length("S", rows, at_run_time);
  const Tensor x = input("x", f32, {s.extent, width});
  const Tensor gamma = weight("gamma", f32, {width});
  const Tensor w1 = weight("w1", f32, {width, hidden});
  const Tensor w2 = weight("w2", f32, {width, hidden});
  const Tensor w3 = weight("w3", f32, {hidden, width});
  const Tensor n = rms_norm(x, gamma);
  const Tensor gate = matmul(n, w1);
  const Tensor y = add(x, matmul(gate * sigmoid(gate) * matmul(n, w2), w3), "y");
  const auto m = static_cast<double>(rows);
  return {"gated_ffn", fmt::format("{}x{}x{}", rows, width, hidden), Graph(y), s.sizes,
          6e-9 * m * static_cast<double>(width * hidden)};
}

// One query of each of `groups` heads that share keys and values (Ainslie et al., 2023), which a
// cache holds.
OnnxProgram decode_step(int64_t shared, int64_t groups, int64_t keys, int64_t width,
                        bool at_run_time) {
  const Length t = length("T", keys, at_run_time);
  const Tensor q = input("q", f32, {shared, groups, width});
  const Tensor k = input("k", f32, {shared, t.extent, width});
  const Tensor v = input("v", f32, {shared, t.extent, width});
  const Tensor weights = softmax(matmul(q, transpose(k, {0, 2, 1})) * 0.125F);
  return {"decode_step",
          fmt::format("{}x{}x{}x{}", shared, groups, keys, width),
          Graph(matmul(weights, v, "y")),
          t.sizes,
          8e-9 * static_cast<double>(shared * keys * width),
          "GB/s"};
}

// Su et al., 2021, in halves.
OnnxProgram rotary(int64_t rows, int64_t heads, int64_t width, bool at_run_time) {
  const Length s = length("S", rows, at_run_time);
  const Tensor x = input("x", f32, {heads, s.extent, width});
  const Tensor cosines = input("cosines", f32, {s.extent, width});
  const Tensor sines = input("sines", f32, {s.extent, width});
  const Tensor low = slice(x, {0, 0, 0}, {heads, s.extent, width / 2});
  const Tensor high = slice(x, {0, 0, width / 2}, {heads, s.extent, width});
  const Tensor y = add(x * cosines, concat({-high, low}, 2) * sines, "y");
  return {"rotary", fmt::format("{}x{}x{}", heads, rows, width),      Graph(y),
          s.sizes,  8e-9 * static_cast<double>(rows * heads * width), "GB/s"};
}

// Hochreiter and Schmidhuber, 1997, with a forget gate: the next h.
OnnxProgram lstm_step(int64_t batch, int64_t from, int64_t hidden, bool at_run_time) {
  const Length b = length("B", batch, at_run_time);
  const Tensor x = input("x", f32, {b.extent, from});
  const Tensor h = input("h", f32, {b.extent, hidden});
  const Tensor c = input("c", f32, {b.extent, hidden});
  const Tensor w = weight("w2", f32, {hidden, 4 * hidden});
  const Tensor gates = dense(x, "1", from, 4 * hidden) + matmul(h, w);
  auto gate = [&](int64_t n) {
    return slice(gates, {0, n * hidden}, {b.extent, (n + 1) * hidden});
  };
  const Tensor next = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
  const Tensor y = mul(sigmoid(gate(3)), tanh(next), "y");
  return {"lstm_step", fmt::format("{}x{}x{}", batch, from, hidden), Graph(y), b.sizes,
          8e-9 * static_cast<double>(batch * (from + hidden) * hidden)};
}

// Tolstikhin et al., 2021: the half that mixes tokens.
OnnxProgram mixer(int64_t tokens, int64_t channels, int64_t hidden) {
  const Tensor x = input("x", f32, {tokens, channels});
  const Tensor turned = transpose(norm(x, "1", channels), {1, 0});
  const Tensor h = gelu(dense(turned, "1", tokens, hidden), Gelu::erf);
  const Tensor y = add(x, transpose(dense(h, "2", hidden, tokens), {1, 0}), "y");
  return {"mixer",
          fmt::format("{}x{}x{}", tokens, channels, hidden),
          Graph(y),
          {},
          4e-9 * static_cast<double>(tokens * channels * hidden)};
}

// Each row of a beside each of b, by the cosine between them.
OnnxProgram cosines(int64_t rows, int64_t others, int64_t width) {
  const Tensor a = input("a", f32, {rows, width}), b = input("b", f32, {others, width});
  auto unit = [](const Tensor& x) { return x / sqrt(sum(x * x, {-1}, true) + 1e-6F); };
  return {"cosines",
          fmt::format("{}x{}x{}", rows, others, width),
          Graph(matmul(unit(a), transpose(unit(b), {1, 0}), "y")),
          {},
          2e-9 * static_cast<double>(rows * others * width)};
}

OnnxProgram log_softmax(int64_t rows, int64_t columns, bool at_run_time) {
  const Length r = length("R", rows, at_run_time);
  const Tensor x = input("x", f32, {r.extent, columns});
  const Tensor shifted = x - reduce_max(x, {-1}, true);
  const Tensor y = sub(shifted, log(sum(exp(shifted), {-1}, true)), "y");
  return {"log_softmax", fmt::format("{}x{}", rows, columns),        Graph(y),
          r.sizes,       8e-9 * static_cast<double>(rows * columns), "GB/s"};
}

Tensor convolution(const Tensor& x, const std::string& n, int64_t window, int64_t from, int64_t to,
                   int groups = 1, int stride = 1) {
  const Tensor w = weight("w" + n, f32, {window, window, from / groups, to});
  const Tensor b = weight("b" + n, f32, {to});
  const int border = static_cast<int>(window / 2);
  return conv2d(x, w, {stride, stride, border, border, border, border, 1, 1, groups}) + b;
}

// He et al., 2015.
OnnxProgram bottleneck(int64_t side, int64_t channels, int64_t inner) {
  const Tensor x = input("x", f32, {1, side, side, channels});
  const Tensor a = relu(convolution(x, "1", 1, channels, inner));
  const Tensor b = relu(convolution(a, "2", 3, inner, inner));
  const Tensor y = relu(convolution(b, "3", 1, inner, channels) + x, "y");
  return {"bottleneck",
          fmt::format("{}x{}x{}", side, channels, inner),
          Graph(y),
          {},
          2e-9 * static_cast<double>(side * side * inner * (2 * channels + 9 * inner))};
}

// Sandler et al., 2018.
OnnxProgram inverted_residual(int64_t side, int64_t channels, int64_t inner) {
  const Tensor x = input("x", f32, {1, side, side, channels});
  const Tensor a = clamp(convolution(x, "1", 1, channels, inner), 0, 6);
  const Tensor b = clamp(convolution(a, "2", 3, inner, inner, static_cast<int>(inner)), 0, 6);
  const Tensor y = add(convolution(b, "3", 1, inner, channels), x, "y");
  return {"inverted_residual",
          fmt::format("{}x{}x{}", side, channels, inner),
          Graph(y),
          {},
          2e-9 * static_cast<double>(side * side * inner * (2 * channels + 9))};
}

// The first layers of a ResNet.
OnnxProgram stem(int64_t side, int64_t channels) {
  const Tensor x = input("x", f32, {1, side, side, 3});
  const Tensor a = relu(convolution(x, "1", 7, 3, channels, 1, 2));
  const Tensor y = max_pool(a, {3, 3, 2, 2, 1, 1, 1, 1}, "y");
  return {"stem",
          fmt::format("{}x{}", side, channels),
          Graph(y),
          {},
          2e-9 * static_cast<double>(side * side / 4 * channels * 147)};
}

// The last layers: the mean over a picture, a product and a softmax.
OnnxProgram classifier(int64_t batch, int64_t side, int64_t channels, int64_t classes) {
  const Tensor x = input("x", f32, {batch, side, side, channels});
  const Tensor y = softmax(dense(mean(x, {1, 2}), "1", channels, classes), -1, "y");
  return {"classifier",
          fmt::format("{}x{}x{}x{}", batch, side, channels, classes),
          Graph(y),
          {},
          4e-9 * static_cast<double>(batch * side * side * channels + channels * classes),
          "GB/s"};
}

std::vector<OnnxProgram> blocks() {
  std::vector<OnnxProgram> all;
  for (const bool at_run_time : {false, true}) {
    all.push_back(transformer_layer(128, 256, 4, at_run_time));
    all.push_back(transformer_layer(64, 768, 12, at_run_time));
    all.push_back(gated_ffn(64, 512, 1376, at_run_time));
    all.push_back(gated_ffn(1, 512, 1376, at_run_time));
    all.push_back(decode_step(8, 4, 1024, 64, at_run_time));
    all.push_back(decode_step(2, 1, 4096, 128, at_run_time));
    all.push_back(rotary(256, 8, 64, at_run_time));
    all.push_back(lstm_step(1, 256, 256, at_run_time));
    all.push_back(lstm_step(32, 128, 256, at_run_time));
    all.push_back(log_softmax(64, 1000, at_run_time));
    all.push_back(log_softmax(16, 32000, at_run_time));
  }
  all.push_back(mixer(196, 512, 256));
  all.push_back(cosines(256, 1000, 128));
  all.push_back(bottleneck(28, 256, 64));
  all.push_back(bottleneck(7, 1024, 256));
  all.push_back(inverted_residual(28, 32, 192));
  all.push_back(inverted_residual(7, 160, 960));
  all.push_back(stem(112, 64));
  all.push_back(classifier(1, 7, 512, 1000));
  return all;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(
      argc, argv,
      {"model_blocks", kMeasures, "--benchmark_filter='transformer|lstm'",
       [&](const ProgramOptions& options) {
         return measure_against_onnx_runtime(blocks(), {kDivisor, kTolerance}, options, argv[0]);
       }});
}
