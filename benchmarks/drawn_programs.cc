#include "benchmarks/drawn_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "benchmarks/drawer.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/differentiate/differentiate.h"

namespace emulsion::benchmarks {
namespace {

struct Sizes {
  bool is_run_time = false;  // the number of rows
  int64_t outer = 1, rows = 1, columns = 1, inner = 0;
};

// The tensors of a program.
class Tensors {
 public:
  explicit Tensors(const Sizes& sizes) : sizes_(sizes) {}

  Extent rows() const { return sizes_.is_run_time ? Extent::size("R") : Extent(sizes_.rows); }
  int64_t columns() const { return sizes_.columns; }
  int64_t inner() const { return sizes_.inner; }
  int64_t outer() const { return sizes_.outer; }

  Shape shape(const Extent& columns) const {
    return sizes_.outer > 1 ? Shape{sizes_.outer, rows(), columns} : Shape{rows(), columns};
  }
  Tensor matrix(const std::string& name) const { return input(name, f32, shape(columns())); }
  Tensor row(const std::string& name) const { return input(name, f32, {columns()}); }
  Tensor product() const {
    return matmul(input("a", f32, shape(inner())), weight("w", f32, {inner(), columns()}), "mm");
  }
  Tensor norm(const Tensor& x) const { return layer_norm(x, row("scale"), row("bias")); }
  // The last axis.
  int last() const { return sizes_.outer > 1 ? 2 : 1; }

 private:
  const Sizes& sizes_;
};

Tensor silu(const Tensor& x) { return mul(x, sigmoid(x)); }

Tensor chain_of(const Tensors& t, int length) {
  Tensor x = t.matrix("x");
  for (int step = 1; step < length; ++step) x = x * 0.5F + t.matrix(fmt::format("x{}", step));
  return relu(x);
}

Tensor log_softmax(const Tensor& x, int axis) {
  const Tensor centred = x - reduce_max(x, {axis}, true);
  return centred - log(sum(exp(centred), {axis}, true));
}

Tensor kl(const Tensor& x, const Tensor& z, int axis) {
  const Tensor p = softmax(x), q = softmax(z);
  return sum(p * (log(p) - log(q)), {axis});
}

Tensor attention(const Tensors& t, bool has_mask) {
  const Axis h("h", t.outer()), s("s", t.rows()), k("k", t.rows()), d("d", t.inner());
  const Shape shape = {t.outer(), t.rows(), t.inner()};
  const Tensor q = input("q", f32, shape), keys = input("keys", f32, shape);
  const Tensor values = input("values", f32, shape);
  Tensor scores = compute("scores", {h, s, k}, sum(d, q(h, s, d) * keys(h, k, d))) * 0.125F;
  if (has_mask) scores = scores + input("mask", f32, {t.rows(), t.rows()});
  const Tensor weights = softmax(scores);
  return compute("y", {h, s, d}, sum(k, weights(h, s, k) * values(h, k, d)));
}

Tensor layer(const Tensor& x, const std::string& number, int64_t columns) {
  return matmul(x, weight("w" + number, f32, {x.shape().back(), columns})) +
         weight("b" + number, f32, {columns});
}

std::vector<Tensor> norm_kept(const Tensors& t) {
  const Tensor x = t.matrix("x");
  const Tensor average = mean(x, {t.last()}, true), centred = x - average;
  const Tensor factor = 1.0F / sqrt(mean(centred * centred, {t.last()}, true) + 1e-5F);
  return {centred * factor, average, factor};
}

std::vector<Tensor> softmax_kept(const Tensors& t) {
  const Tensor x = t.matrix("x"), highest = reduce_max(x, {t.last()}, true);
  const Tensor p = exp(x - highest), total = sum(p, {t.last()}, true);
  return {p / total, highest, total};
}

enum class Needs : uint8_t { columns, inner, heads };

struct Kind {
  std::string name;
  Needs needs;
  std::vector<Tensor> (*outputs)(const Tensors& t);
};

using Outputs = std::vector<Tensor>;

std::vector<Kind> pairs_and_chains() {
  constexpr Needs kColumns = Needs::columns;
  return {
      {"add_relu", kColumns,
       [](const Tensors& t) { return Outputs{relu(t.matrix("x") + t.matrix("z"))}; }},
      {"mul_relu", kColumns,
       [](const Tensors& t) { return Outputs{relu(t.matrix("x") * t.matrix("z"))}; }},
      {"sub_tanh", kColumns,
       [](const Tensors& t) { return Outputs{tanh(t.matrix("x") - t.matrix("z"))}; }},
      {"add_gelu", kColumns,
       [](const Tensors& t) { return Outputs{gelu(t.matrix("x") + t.matrix("z"))}; }},
      {"affine_relu", kColumns,
       [](const Tensors& t) {
         return Outputs{relu(t.matrix("x") * t.row("scale") + t.row("bias"))};
       }},
      {"affine_gelu", kColumns,
       [](const Tensors& t) {
         return Outputs{gelu(t.matrix("x") * t.row("scale") + t.row("bias"))};
       }},
      {"bias_sigmoid", kColumns,
       [](const Tensors& t) { return Outputs{sigmoid(t.matrix("x") + t.row("bias"))}; }},
      {"scalar_affine_relu", kColumns,
       [](const Tensors& t) { return Outputs{relu(t.matrix("x") * 2.0F + 1.0F)}; }},
      {"scalar_affine_tanh", kColumns,
       [](const Tensors& t) { return Outputs{tanh(t.matrix("x") * 2.0F + 1.0F)}; }},
      {"chain_of_3", kColumns, [](const Tensors& t) { return Outputs{chain_of(t, 3)}; }},
      {"chain_of_8", kColumns, [](const Tensors& t) { return Outputs{chain_of(t, 8)}; }},
      {"gate", kColumns,
       [](const Tensors& t) { return Outputs{silu(t.matrix("x")) * t.matrix("z")}; }},
      {"log_sigmoid", kColumns,
       [](const Tensors& t) { return Outputs{-log(exp(-t.matrix("x")) + 1.0F)}; }},
      {"three_series", kColumns,
       [](const Tensors& t) {
         return Outputs{tanh(sigmoid(t.matrix("x") + t.row("bias")) * exp(t.matrix("z") * 0.25F))};
       }},
      {"mul_sum", kColumns,
       [](const Tensors& t) { return Outputs{sum(t.matrix("x") * t.matrix("z"), {t.last()})}; }},
      {"mean_relu", kColumns,
       [](const Tensors& t) { return Outputs{relu(mean(t.matrix("x"), {t.last()}))}; }},
      {"minus_max", kColumns, [](const Tensors& t) {
         const Tensor x = t.matrix("x");
         return Outputs{x - reduce_max(x, {t.last()}, true)};
       }}};
}

std::vector<Kind> products() {
  constexpr Needs kInner = Needs::inner;
  return {
      {"matmul_relu", kInner, [](const Tensors& t) { return Outputs{relu(t.product())}; }},
      {"matmul_bias_relu", kInner,
       [](const Tensors& t) { return Outputs{relu(t.product() + t.row("bias"))}; }},
      {"matmul_gelu", kInner, [](const Tensors& t) { return Outputs{gelu(t.product())}; }},
      {"matmul_bias_gelu", kInner,
       [](const Tensors& t) { return Outputs{gelu(t.product() + t.row("bias"))}; }},
      {"matmul_bias_tanh", kInner,
       [](const Tensors& t) { return Outputs{tanh(t.product() + t.row("bias"))}; }},
      {"matmul_silu", kInner, [](const Tensors& t) { return Outputs{silu(t.product())}; }},
      {"matmul_residual", kInner,
       [](const Tensors& t) { return Outputs{t.product() + t.row("bias") + t.matrix("z")}; }},
      {"matmul_softmax", kInner, [](const Tensors& t) { return Outputs{softmax(t.product())}; }},
      {"matmul_norm", kInner, [](const Tensors& t) { return Outputs{t.norm(t.product())}; }},
      {"mlp", kInner,
       [](const Tensors& t) {
         return Outputs{relu(layer(relu(layer(t.matrix("x"), "1", t.inner())), "2", t.columns()))};
       }},
      {"mlp_gelu", kInner,
       [](const Tensors& t) {
         return Outputs{layer(gelu(layer(t.matrix("x"), "1", t.inner())), "2", t.columns())};
       }},
      {"classifier", kInner,
       [](const Tensors& t) {
         const Tensor h = relu(layer(input("x", f32, t.shape(256)), "1", t.inner()));
         return Outputs{softmax(layer(h, "2", t.columns()))};
       }},
      {"attention", Needs::heads, [](const Tensors& t) { return Outputs{attention(t, false)}; }},
      {"attention_mask", Needs::heads,
       [](const Tensors& t) { return Outputs{attention(t, true)}; }}};
}

std::vector<Kind> rows() {
  constexpr Needs kColumns = Needs::columns;
  return {{"layer_norm", kColumns, [](const Tensors& t) { return Outputs{t.norm(t.matrix("x"))}; }},
          {"layer_norm_relu", kColumns,
           [](const Tensors& t) { return Outputs{relu(t.norm(t.matrix("x")))}; }},
          {"layer_norm_gelu", kColumns,
           [](const Tensors& t) { return Outputs{gelu(t.norm(t.matrix("x")))}; }},
          {"norm_of_sum", kColumns,
           [](const Tensors& t) { return Outputs{t.norm(t.matrix("x") + t.matrix("z"))}; }},
          {"norm_of_gelu", kColumns,
           [](const Tensors& t) { return Outputs{t.norm(gelu(t.matrix("x")))}; }},
          {"rms_norm", kColumns,
           [](const Tensors& t) { return Outputs{rms_norm(t.matrix("x"), t.row("scale"))}; }},
          {"rms_norm_residual", kColumns,
           [](const Tensors& t) {
             return Outputs{rms_norm(t.matrix("x"), t.row("scale")) + t.matrix("z")};
           }},
          {"rms_norm_silu", kColumns,
           [](const Tensors& t) { return Outputs{silu(rms_norm(t.matrix("x"), t.row("scale")))}; }},
          {"norm_norm", kColumns,
           [](const Tensors& t) {
             return Outputs{layer_norm(t.norm(t.matrix("x")), t.row("scale2"), t.row("bias2"))};
           }},
          {"softmax", kColumns, [](const Tensors& t) { return Outputs{softmax(t.matrix("x"))}; }},
          {"softmax_scaled", kColumns,
           [](const Tensors& t) { return Outputs{softmax(t.matrix("x") * 0.5F + t.row("mask"))}; }},
          {"softmax_times", kColumns,
           [](const Tensors& t) { return Outputs{softmax(t.matrix("x")) * t.matrix("z")}; }},
          {"log_softmax", kColumns,
           [](const Tensors& t) { return Outputs{log_softmax(t.matrix("x"), t.last())}; }},
          {"logsumexp", kColumns,
           [](const Tensors& t) {
             const Tensor x = t.matrix("x"), highest = reduce_max(x, {t.last()}, true);
             return Outputs{log(sum(exp(x - highest), {t.last()}, true)) + highest};
           }},
          {"cross_entropy", kColumns,
           [](const Tensors& t) {
             return Outputs{-sum(t.matrix("z") * log_softmax(t.matrix("x"), t.last()), {t.last()})};
           }},
          {"kl", kColumns,
           [](const Tensors& t) { return Outputs{kl(t.matrix("x"), t.matrix("z"), t.last())}; }},
          {"norm_kept", kColumns, norm_kept},
          {"softmax_kept", kColumns, softmax_kept},
          {"norm_and_relu", kColumns,
           [](const Tensors& t) {
             const Tensor norm = t.norm(t.matrix("x"));
             return Outputs{norm, relu(norm)};
           }},
          {"softmax_and_gradient", kColumns, [](const Tensors& t) {
             const Tensor x = t.matrix("x"), y = softmax(x);
             return Outputs{y, gradients(y, {x}, t.matrix("dy"))[0]};
           }}};
}

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> kinds = pairs_and_chains();
    for (const auto& more : {products(), rows()})
      kinds.insert(kinds.end(), more.begin(), more.end());
    return kinds;
  }();
  return all;
}

[[noreturn]] void refuse(const std::string& name) {
  fail("expected a kind and its shape, as softmax/R240x13 or matmul_gelu/4x60x13_of_32, got {}",
       name);
}

std::vector<int64_t> numbers_of(const std::string& text, const std::string& name) {
  std::vector<int64_t> numbers(1, 0);
  for (const char c : text) {
    if (c == 'x') {
      numbers.push_back(0);
    } else if (c >= '0' && c <= '9' && numbers.back() < (int64_t{1} << 40)) {
      numbers.back() = numbers.back() * 10 + (c - '0');
    } else {
      refuse(name);
    }
  }
  if (std::count(numbers.begin(), numbers.end(), 0) > 0) refuse(name);
  return numbers;
}

Sizes parse_sizes(std::string text, Needs needs, const std::string& name) {
  Sizes sizes;
  if (text.rfind('R', 0) == 0) {
    sizes.is_run_time = true;
    text.erase(0, 1);
  }
  const size_t of = text.find("_of_");
  if ((of == std::string::npos) != (needs == Needs::columns)) refuse(name);
  if (of != std::string::npos) {
    const std::vector<int64_t> inner = numbers_of(text.substr(of + 4), name);
    if (inner.size() != 1) refuse(name);
    sizes.inner = inner[0];
    text.erase(of);
  }
  std::vector<int64_t> numbers = numbers_of(text, name);
  if (needs == Needs::heads) numbers.push_back(numbers.back());
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 1);
  if (numbers.size() != 3) refuse(name);
  sizes.outer = numbers[0];
  sizes.rows = numbers[1];
  sizes.columns = numbers[2];
  return sizes;
}

std::string draw_name(Drawer* draw, int64_t most_bytes) {
  const std::vector<Kind>& kinds = all_kinds();
  const Kind& kind =
      kinds[static_cast<size_t>(draw->between(0, static_cast<int64_t>(kinds.size()) - 1))];
  constexpr int64_t kBytes = 4;
  const int64_t elements = draw->of_any_size(1024, most_bytes) / kBytes;
  const std::string run_time = draw->one_of(3) ? "R" : "";
  if (kind.needs == Needs::heads) {
    const int64_t width = 8 * draw->between(1, 8), heads = draw->between(2, 12);
    const int64_t rows = std::clamp<int64_t>(elements / heads / width, 1, 512);
    return fmt::format("{}/{}{}x{}_of_{}", kind.name, run_time, heads, rows, width);
  }
  const int64_t columns = draw->columns();
  const int64_t rows = std::max<int64_t>(elements / columns, 1);
  const int64_t outer = draw->one_of(4) ? draw->of_any_size(1, rows) : 1;
  std::string name = fmt::format("{}/{}", kind.name, run_time);
  if (outer > 1) name += fmt::format("{}x", outer);
  name += fmt::format("{}x{}", std::max<int64_t>(rows / outer, 1), columns);
  if (kind.needs == Needs::inner) name += fmt::format("_of_{}", draw->of_any_size(1, 512));
  return name;
}

}  // namespace

std::vector<std::string> drawn_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : all_kinds()) names.push_back(kind.name);
  return names;
}

DrawnProgram program_named(const std::string& name) {
  const size_t slash = name.find('/');
  const auto kind = std::find_if(all_kinds().begin(), all_kinds().end(), [&](const Kind& one) {
    return one.name == name.substr(0, slash);
  });
  if (slash == std::string::npos || kind == all_kinds().end()) refuse(name);
  const Sizes sizes = parse_sizes(name.substr(slash + 1), kind->needs, name);
  DrawnProgram program{name, Graph(kind->outputs(Tensors(sizes))), {}};
  if (sizes.is_run_time) program.sizes["R"] = sizes.rows;
  return program;
}

std::vector<std::string> draw_names(uint64_t seed, size_t count, int64_t most_bytes) {
  Drawer draw(seed);
  std::vector<std::string> names;
  while (names.size() < count) names.push_back(draw_name(&draw, most_bytes));
  return names;
}

}  // namespace emulsion::benchmarks
