// What fusion gains: each graph as derived, beside the same operation by operation, through memory;
// products of one input joined, beside the same apart; elementwise siblings in one loop, beside
// loops of their own; values that two users compute again, beside the same stored. The notes say
// what the traffic between memory and the arithmetic allows at best.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "benchmarks/channel_graphs.h"
#include "benchmarks/nest_kernel.h"
#include "dsl/operators.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/differentiate/differentiate.h"
#include "passes/fuse/join_products.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures the four classical pairs (add + relu, mul + relu, matmul + bias + relu, affine +\n"
    "relu), chains, values with two users, what is moved between two steps, norms, softmax and\n"
    "gradients of them, with several results, attention and an MLP as derived, fused, against the\n"
    "same operation by operation, in and out of the caches; layers of an MLP by blocks of rows\n"
    "against layer by layer; softmax and norms of channels by blocks of columns against the\n"
    "same without; batch norms in training and their gradients; products of one input joined\n"
    "against the same apart; elementwise siblings in one loop against loops of their own; and\n"
    "values that two users compute again against the same stored.\n"
    "Notes give the traffic of both, the gain that it allows, and what is stored in between.";

constexpr double kNeverSlower = 0.97;  // of the unfused kernel's speed
constexpr double kTolerance = 1e-4;    // exp() and the order of sums

struct FusedProgram {
  std::string name;
  Graph graph;
  double literature = 0;  // the gain that is told of it where memory is the limit; 0: none
};

Tensor matrix(const std::string& name, const Extent& rows, int columns) {
  return input(name, f32, {rows, columns});
}

// y = max(x1 * 0.5 + x2, 0) and so on: one step more for each number.
Graph chain_of(int length, int rows, int columns) {
  Tensor x = matrix("x", rows, columns);
  for (int step = 1; step < length; ++step)
    x = x * 0.5F + matrix(fmt::format("x{}", step), rows, columns);
  return Graph(relu(x, "y"));
}

// Four results of one input, which are no chain.
Graph four_of_one(int rows, int columns) {
  const Tensor x = matrix("x", rows, columns), z = matrix("z", rows, columns);
  return Graph({relu(x, "a"), add(x, z, "b"), mul(x, z, "c"), sub(x, z, "d")});
}

// A product times its own sigmoid: a value with two users.
Graph silu_of(const Tensor& product) { return Graph(mul(product, sigmoid(product), "y")); }

// As frameworks write a rotary embedding: the halves of each row change places.
Graph rotary(const Tensor& x, int rows, int columns) {
  const Tensor first = slice(x, {0, 0}, {rows, columns / 2});
  const Tensor second = slice(x, {0, columns / 2}, {rows, columns});
  const Tensor turned = concat({neg(second), first}, 1);
  return Graph(
      add(x * matrix("cosines", rows, columns), turned * matrix("sines", rows, columns), "y"));
}

// Each head's rows: softmax(q k^T) v.
Graph attention(int heads, const Extent& rows, int width) {
  const Axis h("h", heads), s("s", rows), t("t", rows), d("d", width);
  const Shape shape = {heads, rows, width};
  const Tensor q = input("q", f32, shape), k = input("k", f32, shape), v = input("v", f32, shape);
  const Tensor scores = compute("scores", {h, s, t}, sum(d, q(h, s, d) * k(h, t, d)));
  const Tensor weights = softmax(scores * 0.125F);
  return Graph(compute("y", {h, s, d}, sum(t, weights(h, s, t) * v(h, t, d))));
}

Graph mlp(int rows, int width) {
  Tensor layer = matrix("x", rows, width);
  for (const char* number : {"1", "2"}) {
    const std::string suffix = number;
    layer = relu(matmul(layer, weight("w" + suffix, f32, {width, width})) +
                     weight("b" + suffix, f32, {width}),
                 "y" + suffix);
  }
  return Graph(layer);
}

// As digits are told apart: few rows of a run-time number of them, and few columns at the end.
Graph classifier(const Extent& rows, int width, int hidden, int classes) {
  const auto layer = [](const Tensor& x, const std::string& number, int columns) {
    return matmul(x, weight("w" + number, f32, {x.shape().back(), columns})) +
           weight("b" + number, f32, {columns});
  };
  const Tensor h = relu(layer(input("x", f32, {rows, width}), "1", hidden));
  return Graph(relu(layer(h, "2", classes), "y"));
}

// Rows of a matrix of each picture, more sums than registers hold, and what is behind them.
Graph middle_sum(int pictures, int rows, int columns) {
  return Graph(relu(sum(input("x", f32, {pictures, rows, columns}), {1}), "y"));
}

// A norm and a softmax whose sums of each row are outputs, too, as a gradient needs them.
Graph kept_norm(const Tensor& x, int rows, int columns) {
  const Axis i("i", rows), k("k", columns), r("r", columns);
  const float scale = 1.0F / static_cast<float>(columns);
  const Tensor average = compute("average", {i}, sum(r, x(i, r)) * scale);
  const Expr centred = x(i, r) - average(i);
  const Tensor squares = compute("squares", {i}, sum(r, centred * centred));
  const Tensor factor = compute("factor", {i}, 1.0F / sqrt(squares(i) * scale + 1e-5F));
  return Graph({compute("y", {i, k}, (x(i, k) - average(i)) * factor(i)), average, factor});
}
Graph kept_softmax(const Tensor& x, int rows, int columns) {
  const Axis i("i", rows), k("k", columns), r("r", columns);
  const Tensor highest = compute("highest", {i}, reduce_max(r, x(i, r)));
  const Tensor p = compute("p", {i, k}, exp(x(i, k) - highest(i)));
  const Tensor total = compute("total", {i}, sum(r, p(i, r)));
  return Graph({compute("y", {i, k}, p(i, k) / total(i)), highest, total});
}

// A loss of each row and the gradient of their mean, as training has it: -sum z log softmax x.
Graph cross_entropy(const Tensor& x, const Tensor& z) {
  const Tensor centred = x - reduce_max(x, {1}, true);
  const Tensor losses = sum(z * (log(sum(exp(centred), {1}, true)) - centred), {1});
  const Tensor loss = mean(losses, {0}, false, "loss");
  return Graph({loss, gradients(loss, {x})[0]});
}

// What goes through the same rows with several results.
std::vector<FusedProgram> programs_of_results(int rows, int columns) {
  const Tensor x = matrix("x", rows, columns), z = matrix("z", rows, columns);
  const Tensor dy = matrix("dy", rows, columns);
  const Tensor bias = input("bias", f32, {columns}), scale = input("scale", f32, {columns});
  const Tensor norm = layer_norm(x, scale, bias, 1e-5, "y"), weights = softmax(x, -1, "y");
  return {
      {"norm_and_relu", Graph({norm, relu(norm, "z")})},
      {"softmax_and_gradient", Graph({weights, gradients(weights, {x}, dy)[0]})},
      {"norm_of_product_gradients", Graph(gradients(layer_norm(x * z, scale, bias), {x, z}, dy))},
      {"cross_entropy_gradient", cross_entropy(x, z)},
      {"layer_norm_gradients", Graph(gradients(norm, {x, scale, bias}, dy))}};
}

// Rows of a vector or a few, no whole number of them; first those that combine rows.
constexpr std::ptrdiff_t kRowPrograms = 5;
std::vector<FusedProgram> programs_of_short_rows(const Extent& rows, int columns) {
  const Tensor x = matrix("x", rows, columns), z = matrix("z", rows, columns);
  const Tensor bias = input("bias", f32, {columns}), scale = input("scale", f32, {columns});
  return {{"short_rows_softmax", Graph(softmax(x * 0.5F, -1, "y"))},
          {"short_rows_logsumexp", Graph(log(sum(exp(x - reduce_max(x, {1}, true)), {1}), "y"))},
          {"short_rows_norm", Graph(layer_norm(x, scale, bias, 1e-5, "y"))},
          {"short_rows_norm_gelu", Graph(gelu(layer_norm(x, scale, bias), Gelu::tanh, "y"))},
          {"short_rows_norm_of_sum", Graph(layer_norm(x + z, scale, bias, 1e-5, "y"))},
          {"short_rows_bias_gelu", Graph(gelu(x + bias, Gelu::tanh, "y"))},
          {"one_class", Graph(sigmoid(matmul(x, weight("w", f32, {columns, 1})) + 0.5F, "y"))}};
}

std::vector<FusedProgram> programs_of(int rows, int columns) {
  constexpr int kInner = 32;  // few, so that the product does not hide what is around it
  const Tensor x = matrix("x", rows, columns), z = matrix("z", rows, columns);
  const Tensor bias = input("bias", f32, {columns}), scale = input("scale", f32, {columns});
  const Tensor product =
      matmul(matrix("a", rows, kInner), weight("w", f32, {kInner, columns}), "mm");
  return {{"add_relu", Graph(relu(add(x, z), "y")), 1.5},
          {"mul_relu", Graph(relu(mul(x, z), "y")), 1.5},
          {"matmul_bias_relu", Graph(relu(product + bias, "y")), 2.0},
          {"affine_relu", Graph(relu(x * scale + bias, "y")), 1.4},
          {"chain_of_3", chain_of(3, rows, columns)},
          {"chain_of_8", chain_of(8, rows, columns)},
          {"log_sigmoid", Graph(neg(log(exp(neg(x)) + 1.0F), "y"))},
          {"layer_norm_relu", Graph(relu(layer_norm(x, scale, bias), "y"))},
          {"rms_norm_residual", Graph(add(rms_norm(x, scale), z, "y"))},
          {"softmax", Graph(softmax(x, -1, "y"))},
          {"norm_kept", kept_norm(x, rows, columns)},
          {"softmax_kept", kept_softmax(x, rows, columns)},
          {"matmul_silu", silu_of(product)},
          {"rotary", rotary(x, rows, columns)},
          {"relu_reshape_relu",
           Graph(relu(reshape(x * 0.5F + z, {rows * 4, columns / 4}) + 1.0F, "y"))},
          {"sum_transposed", Graph(transpose(add(x, z), {1, 0}, "y"))},
          {"add_to_transposed", Graph(relu(transpose(x) + matrix("t", columns, rows), "y"))}};
}

// One kernel against another of the same values, which it is never to be slower than.
void add_pair(const Comparison& measured, const LoopNest& fused, const std::string& other,
              const LoopNest& nest, const Values& values, std::vector<Comparison>* all) {
  Comparison comparison = measured;
  comparison.emulsion.call = kernel_call(fused, values);
  comparison.peers.push_back({other, kernel_call(nest, values), {}, kNeverSlower});
  add_on_one_and_all_threads(comparison, values, all, kTolerance);
}

// A kernel each way, and a note on what the traffic allows.
void add_program(const FusedProgram& program, const std::string& size, std::vector<Comparison>* all,
                 std::vector<std::string>* notes, const SizeValues& sizes = {}) {
  const Target target = Target::host();
  DeriveOptions one_by_one;
  one_by_one.fuse = false;
  const LoopNest fused = run_pipeline(program.graph, target).nest;
  const LoopNest unfused = run_pipeline(program.graph, target, one_by_one).nest;
  const double after = static_cast<double>(measure_traffic(fused, sizes).bytes());
  const double before = static_cast<double>(measure_traffic(unfused, sizes).bytes());
  const std::string name = program.name + "/" + size;
  const std::string told =
      program.literature > 0 ? fmt::format("; told of it: {}", program.literature) : "";
  notes->push_back(fmt::format(
      "{}: {:.2f} MB of traffic to {:.2f}, so at most {:.2f} times as fast where memory is the "
      "limit{}; {:.2f} MB stored between operations to {:.2f}",
      name, before * 1e-6, after * 1e-6, before / after, told,
      static_cast<double>(measure_work(unfused, sizes).peak_bytes) * 1e-6,
      static_cast<double>(measure_work(fused, sizes).peak_bytes) * 1e-6));
  add_pair({name, "GB/s", after * 1e-9}, fused, "unfused", unfused, values_of(program.graph, sizes),
           all);
}

// Elementwise siblings in one loop, against the same each in its own.
void add_elementwise_siblings(int rows, int columns, std::vector<Comparison>* all,
                              std::vector<std::string>* notes) {
  const Graph graph = four_of_one(rows, columns);
  const Target target = Target::host();
  FusionConfig apart;
  apart.patterns = {"contraction epilogue", "elementwise chain"};
  const Lowered shared = run_pipeline(graph, target);
  const std::string name = fmt::format("elementwise_siblings/{}x{}", rows, columns);
  notes->push_back(fmt::format("{}: {} of {} share the first one's loop, which saves {}", name,
                               shared.fusion.fused_count(), shared.fusion.decisions.size(),
                               to_string(shared.fusion.gain.value())));
  const double bytes = static_cast<double>(measure_traffic(shared.nest).bytes());
  add_pair({name, "GB/s", bytes * 1e-9}, shared.nest, "apart",
           run_pipeline(graph, target, {}, nullptr, apart).nest, values_of(graph), all);
}

// y = s * c and z = s * d, of s, which is x after so many steps.
Graph value_with_two_users(int steps, int rows, int columns) {
  Tensor s = matrix("x", rows, columns);
  for (int i = 0; i < steps; ++i) s = s * 0.5F + 1.0F;
  s = relu(s, "s");
  const Tensor c = matrix("c", rows, columns), d = matrix("d", rows, columns);
  return Graph({mul(s, c, "y"), mul(s, d, "z")});
}

// Values that each user computes again where the model says so, against the same stored: both with
// all other fusions that run by themselves.
void add_recomputation(int steps, int rows, int columns, std::vector<Comparison>* all,
                       std::vector<std::string>* notes) {
  const Graph graph = value_with_two_users(steps, rows, columns);
  const Target target = Target::host();
  FusionConfig again;
  again.patterns.emplace_back(kRecomputedValues);
  const Lowered copied = run_pipeline(graph, target, {}, nullptr, again);
  const std::string name = fmt::format("recomputation_of_{}_steps/{}x{}", steps, rows, columns);
  FusionReport decision;
  for (const FusionDecision& one : copied.fusion.decisions) {
    if (one.pattern == kRecomputedValues) decision.decisions.push_back(one);
  }
  std::string text = to_string(decision);
  text.pop_back();  // the end of its line
  notes->push_back(fmt::format("{}: {}", name, text));
  const double bytes = static_cast<double>(measure_traffic(copied.nest).bytes());
  add_pair({name, "GB/s", bytes * 1e-9}, copied.nest, "stored", run_pipeline(graph, target).nest,
           values_of(graph), all);
}

// What is known when the kernel is built; whole numbers.
Tensor known(const std::string& name, int rows, int columns) {
  std::vector<float> values(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 5) - 2;
  return constant(name, {rows, columns}, values);
}

// y = q * k + v, of three products of x.
Graph siblings(int rows, int width, int columns) {
  const Tensor x = matrix("x", rows, width);
  const Tensor q = matmul(x, known("wq", width, columns), "q");
  const Tensor k = matmul(x, known("wk", width, columns), "k");
  const Tensor v = matmul(x, known("wv", width, columns), "v");
  return Graph(add(q * k, v, "y"));
}

// Products of one input joined, against the same apart: both with all other fusions.
void add_siblings(int rows, int width, int columns, std::vector<Comparison>* all,
                  std::vector<std::string>* notes) {
  const Graph graph = siblings(rows, width, columns);
  FusionReport report;
  const Graph joined = join_products(graph, join_what_saves, &report);
  const std::string name = fmt::format("siblings/{}x{}x{}", rows, width, columns);
  notes->push_back(fmt::format("{}: {} of {} products joined to the first", name,
                               report.fused_count(), report.decisions.size()));
  const Target target = Target::host();
  const double flops = 6.0 * rows * width * columns;
  add_pair({name, "GFLOPS", flops * 1e-9}, run_pipeline(joined, target).nest, "apart",
           run_pipeline(graph, target).nest, values_of(graph), all);
}

// Layers whose rows go through all of them by blocks, against the same layer by layer: both with
// all other fusions. The note says what was decided; where the two are one kernel there is no row.
void add_layers(const Extent& rows, int64_t width, int layers, const SizeValues& sizes,
                std::vector<Comparison>* all, std::vector<std::string>* notes) {
  Tensor y = input("x", f32, {rows, width});
  for (int number = 1; number <= layers; ++number) {
    const std::string suffix = std::to_string(number);
    y = relu(
        matmul(y, weight("w" + suffix, f32, {width, width})) + weight("b" + suffix, f32, {width}),
        "y" + suffix);
  }
  const Graph graph(y);
  const Target target = Target::host();
  FusionConfig apart;
  apart.patterns = {kContractionEpilogue, kElementwiseChain};
  const Lowered blocks = run_pipeline(graph, target);
  const int64_t count = rows.is_constant() ? rows.constant_term() : sizes.begin()->second;
  const std::string name =
      fmt::format("layers{}/{}x{}x{}", rows.is_constant() ? "" : "_run_time", count, width, layers);
  for (const FusionDecision& decision : blocks.fusion.decisions) {
    if (decision.pattern != kLayerBlocks) continue;
    notes->push_back(fmt::format("{}: {} -> {}: {}", name, decision.producer, decision.consumer,
                                 decision.fused ? "by blocks of rows" : decision.reason));
  }
  if (blocks.grouped.loop_groups().empty()) return;
  const double multiplications = static_cast<double>(count * width * width * layers);
  add_pair({name, "GFLOPS", 2 * multiplications * 1e-9}, blocks.nest, "layer by layer",
           run_pipeline(graph, target, {}, nullptr, apart).nest, values_of(graph, sizes), all);
}

void add_batch_norms(int pictures, int channels, int side, std::vector<Comparison>* all,
                     std::vector<std::string>* notes) {
  const Shape shape = {pictures, channels, side, side};
  const std::string size = fmt::format("{}x{}x{}x{}", pictures, channels, side, side);
  const Tensor x = input("x", f32, shape), y = batch_norm_train(x);
  const auto elements = static_cast<float>(pictures * side * side);
  add_program({"batch_norm_train", Graph(y)}, size, all, notes);
  add_program({"batch_norm_by_hand", Graph(batch_norm_by_hand(x, elements))}, size, all, notes);
  const Tensor gradient = gradients(y, {x}, input("dy", f32, shape))[0];
  add_program({"batch_norm_gradient", Graph(gradient)}, size, all, notes);
}

// Softmax and norms of channels by blocks of columns, against the same without these: both with all
// other fusions.
void add_columns(const std::string& name, const Graph& graph, std::vector<Comparison>* all,
                 std::vector<std::string>* notes) {
  const Target target = Target::host();
  const Lowered blocks = run_pipeline(graph, target);
  if (blocks.fusion.decisions.end() ==
      std::find_if(
          blocks.fusion.decisions.begin(), blocks.fusion.decisions.end(),
          [](const FusionDecision& d) { return d.pattern == kSharedColumns && d.fused; })) {
    notes->push_back(name + ": not by columns here");
    return;
  }
  FusionConfig apart;
  apart.patterns.erase(
      std::remove(apart.patterns.begin(), apart.patterns.end(), std::string(kSharedColumns)),
      apart.patterns.end());
  const double elements = static_cast<double>(element_count(graph.outputs()[0]->shape).value());
  add_pair({name, "GB/s", 2 * sizeof(float) * elements * 1e-9}, blocks.nest, "without columns",
           run_pipeline(graph, target, {}, nullptr, apart).nest, values_of(graph), all);
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  std::vector<std::string> notes = {
      "GB/s: of the traffic that the fused kernel needs, so the ratio is one of times"};
  // 128 KiB, 4 MiB and 64 MiB a matrix.
  for (const auto& [rows, columns] : {std::pair(64, 512), {1024, 1024}, {8192, 2048}}) {
    for (const auto& programs : {programs_of(rows, columns), programs_of_results(rows, columns)}) {
      for (const FusedProgram& program : programs) {
        add_program(program, fmt::format("{}x{}", rows, columns), &all, &notes);
      }
    }
  }
  for (const auto& [rows, columns] :
       {std::pair(20000, 17), {1000, 5}, {240, 13}, {997, 13}, {241, 20}, {5000, 64}, {240, 300}}) {
    for (const FusedProgram& program : programs_of_short_rows(rows, columns)) {
      add_program(program, fmt::format("{}x{}", rows, columns), &all, &notes);
    }
  }
  for (const auto& [rows, columns] : {std::pair(1, 50),
                                      {5, 20},
                                      {16, 13},
                                      {63, 50},
                                      {64, 10},
                                      {100, 13},
                                      {512, 100},
                                      {4096, 20}}) {
    std::vector<FusedProgram> programs = programs_of_short_rows(Extent::size("R"), columns);
    programs.erase(programs.begin() + kRowPrograms, programs.end());
    for (const FusedProgram& program : programs) {
      add_program({program.name + "_run_time", program.graph}, fmt::format("{}x{}", rows, columns),
                  &all, &notes, {{"R", rows}});
    }
  }
  for (const auto& [rows, columns] :
       {std::pair(64, 512), {256, 1024}, {1024, 1024}, {8192, 2048}, {1, 1 << 24}}) {
    add_elementwise_siblings(rows, columns, &all, &notes);
  }
  // Taken where memory is the limit; declined where the same value is dear and in a cache.
  for (const auto& [steps, rows, columns] :
       {std::tuple(0, 8192, 2048), {8, 8192, 2048}, {16, 16, 128}}) {
    add_recomputation(steps, rows, columns, &all, &notes);
  }
  for (const auto& [pictures, rows, columns] : {std::tuple(16, 256, 100), {8, 512, 512}}) {
    add_program({"middle_sum_relu", middle_sum(pictures, rows, columns)},
                fmt::format("{}x{}x{}", pictures, rows, columns), &all, &notes);
  }
  for (const auto& [rows, inner, columns] : {std::tuple(4096, 64, 64), {512, 512, 128}}) {
    add_program({"product_silu", silu_of(matmul(matrix("a", rows, inner),
                                                weight("w", f32, {inner, columns}), "mm"))},
                fmt::format("{}x{}x{}", rows, inner, columns), &all, &notes);
  }
  constexpr int kAttention[][3] = {{12, 11, 16}, {12, 13, 16}, {12, 17, 16}, {12, 25, 16},
                                   {12, 50, 64}, {8, 64, 64},  {8, 512, 64}};
  for (const auto& [heads, rows, width] : kAttention) {
    add_program({"attention", attention(heads, rows, width)},
                fmt::format("{}x{}x{}", heads, rows, width), &all, &notes);
  }
  for (const int columns : {17, 40}) {
    add_program({"padded_relu", Graph(relu(pad(matrix("x", 20000, columns), {1, 1}, {1, 1}), "y"))},
                fmt::format("20000x{}", columns), &all, &notes);
    add_program({"relu_padded", Graph(pad(relu(matrix("x", 20000, columns)), {1, 1}, {1, 1}))},
                fmt::format("20000x{}", columns), &all, &notes);
  }
  for (const auto& [heads, rows] : {std::pair(12, 5), {12, 10}, {12, 49}, {6, 100}}) {
    add_program({"attention_run_time", attention(heads, Extent::size("S"), 16)},
                fmt::format("{}x{}x16", heads, rows), &all, &notes, {{"S", rows}});
  }
  for (const auto& [rows, width] : {std::pair(64, 128), {1024, 512}}) {
    add_program({"mlp", mlp(rows, width)}, fmt::format("{}x{}", rows, width), &all, &notes);
  }
  for (const int64_t rows : {1, 2, 5, 9}) {
    add_program({"mlp_run_time", classifier(Extent::size("B"), 784, 128, 10)},
                fmt::format("{}x784x128x10", rows), &all, &notes, {{"B", rows}});
  }
  for (const auto& [rows, width] :
       {std::pair(16, 512), {1024, 64}, {4096, 64}, {4096, 128}, {16384, 128}, {65536, 64}}) {
    add_layers(rows, width, 3, {}, &all, &notes);
  }
  for (const int64_t rows : {1, 2, 5, 6, 9, 64, 1024, 65536}) {
    add_layers(Extent::size("B"), 64, 3, {{"B", rows}}, &all, &notes);
  }
  for (const auto& [pictures, channels, side] : {std::tuple(1, 3, 64),
                                                 {1, 12, 64},
                                                 {1, 21, 64},
                                                 {1, 21, 500},
                                                 {1, 21, 512},
                                                 {2, 64, 126},
                                                 {2, 64, 128},
                                                 {8, 96, 56}}) {
    const std::string shape = fmt::format("{}x{}x{}x{}", pictures, channels, side, side);
    add_columns("channel_softmax/" + shape, softmax_of_channels(pictures, channels, side), &all,
                &notes);
    add_columns("channel_norm/" + shape, norm_of_channels(pictures, channels, side), &all, &notes);
  }
  for (const auto& [pictures, channels, side] : {std::tuple(256, 64, 4),
                                                 {64, 64, 7},
                                                 {16, 64, 14},
                                                 {8, 32, 28},
                                                 {64, 64, 28},
                                                 {4, 16, 112}}) {
    add_batch_norms(pictures, channels, side, &all, &notes);
  }
  for (const auto& [rows, width, columns] :
       {std::tuple(64, 256, 4), {64, 256, 16}, {1024, 512, 4}, {1024, 512, 20}}) {
    add_siblings(rows, width, columns, &all, &notes);
  }
  Report report{measure(all, options)};
  report.notes = std::move(notes);
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv,
                     {"fusion", kMeasures, "--quick --benchmark_filter='relu/8192'", run});
}
