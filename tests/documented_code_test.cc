// The C++ of dsl/README.md and of other documents, line by line, with what it gives. That every
// such line stands in a test or an example is checked by //tests/style (DocumentedCodeIsCompiled).

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/tile_machine/report/draw_scratchpad.h"
#include "backends/tile_machine/report/report_scratchpad.h"
#include "dsl/operators.h"
#include "dsl/schedule_idioms.h"
#include "dsl/target.h"
#include "dsl/tensor.h"
#include "passes/derive/derive_schedule.h"
#include "passes/differentiate/differentiate.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

// Of the only output, the same by the graph and by a derived schedule.
template <typename T>
std::vector<T> values_of(const Tensor& y, const TensorValues& arguments) {
  const Graph graph(y);
  const std::string& name = graph.outputs()[0]->name;
  const LoopNest nest = lower(graph, derive_schedule(graph, Target::parse("x86-64-v3,cores=4")));
  const auto values = interpret_graph(graph, arguments).at(name).to_vector<T>();
  EXPECT_EQ(interpret_nest(nest, arguments).at(name).to_vector<T>(), values);
  return values;
}

TEST(DocumentedCode, Comprehensions) {
  const Tensor x = input("x", f32, {128, 256}), w = weight("w", f32, {256, 512});
  // clang-format off
  Axis m("m", 128), n("n", 512), k("k", 256);
  Func mm("mm");
  mm(m, n) = sum(k, x(m, k) * w(k, n));      // also product, reduce_max, reduce_min
  // clang-format on
  EXPECT_EQ(Tensor(mm).op()->shape, Shape({128, 512}));
}

TEST(DocumentedCode, TablesAndPlaces) {
  const Extent size = Extent::size("B");
  const Axis i("i", size), j("j", 4);
  const TensorValues values = {{"which", make_tensor({3}, std::vector<int32_t>{7, -1, 2})},
                               {"table", make_tensor({5}, std::vector<float>{0, 1, 2, 3, 4})}};
  {
    const Tensor which = input("which", i32, {size}), table = input("table", f32, {5});
    Func y("y");
    y(i) = table(clamp(which(i), 0, 4));
    EXPECT_EQ(values_of<float>(y, values), (std::vector<float>{4, 0, 2}));
  }
  const Tensor x = input("x", f32, {size, 4});
  Func top("top"), place("place");
  top(i) = reduce_max(j, x(i, j));
  place(i) = reduce_min(j, select(x(i, j) == top(i), j, 4));
  const TensorValue rows = make_tensor({2, 4}, std::vector<float>{1, 5, 5, 0, 3, 2, 1, 0});
  EXPECT_EQ(values_of<int32_t>(place, {{"x", rows}}), (std::vector<int32_t>{1, 0}));
}

TEST(DocumentedCode, IndicesThatNumbersBound) {
  const Extent size = Extent::size("B");
  const Axis i("i", size);
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<uint8_t> bytes(1024);
  for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k / 4);
  std::vector<float> numbers(65536);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const Tensor v = input("v", f32, {size}), curve = input("curve", u8, {1024});
  const Tensor high = input("high", u8, {size}), low = input("low", u8, {size});
  const Tensor wide = input("wide", f32, {65536});
  Func corrected("corrected"), joined("joined");
  corrected(i) = curve(clamp(cast(i32, v(i)), 0, 1023));
  joined(i) = wide(cast(i32, high(i)) * 256 + cast(i32, low(i)));
  const std::vector<float> floats = {-3, 40.9F, 1e30F, inf, -inf, std::nanf("")};
  EXPECT_EQ(values_of<uint8_t>(corrected, {{"v", make_tensor({6}, floats)},
                                           {"curve", make_tensor({1024}, bytes)}}),
            (std::vector<uint8_t>{0, 10, 255, 255, 0, 0}));
  EXPECT_EQ(values_of<float>(joined, {{"high", make_tensor({3}, std::vector<uint8_t>{0, 1, 255})},
                                      {"low", make_tensor({3}, std::vector<uint8_t>{7, 0, 255})},
                                      {"wide", make_tensor({65536}, numbers)}}),
            (std::vector<float>{7, 256, 65535}));
}

TEST(DocumentedCode, SumsByClass) {
  const Extent size = Extent::size("M");
  const Axis m("m", size), c("c", 3), d("d", 2);
  const Tensor which = input("which", i32, {size}), x = input("x", f32, {size, 2});
  Func total("total"), count("count");
  total(c, d) = sum(m, select(which(m) == c, x(m, d), 0));
  count(c) = sum(m, cast(i32, which(m) == c));
  const TensorValue classes = make_tensor({4}, std::vector<int32_t>{0, 2, 9, 0});
  const TensorValue rows = make_tensor({4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values_of<float>(total, {{"which", classes}, {"x", rows}}),
            (std::vector<float>{8, 10, 0, 0, 3, 4}));
  EXPECT_EQ(values_of<int32_t>(count, {{"which", classes}}), (std::vector<int32_t>{2, 0, 1}));
}

TEST(DocumentedCode, Borders) {
  const Extent W = Extent::size("W");
  const Axis i("i", W);
  const Tensor x = input("x", f32, {W});
  Func shifted("shifted"), around("around"), ring("ring"), held("held"), mirrored("mirrored");
  // clang-format off
  shifted(i) = select(i > 0, x(i - 1), 0);                            // 0 before the first one
  around(i)  = x((i + 2) % W);                                        // from the first one again
  ring(i)    = x(select(i == 0, W - 1, i - 1)) + x(i);
  held(i) = x(clamp(i + 2, 0, W - 1));                                // the last one again
  mirrored(i) = x(clamp(min(i + 2, 2 * W - 2 - (i + 2)), 0, W - 1));  // back from the last one
  // clang-format on
  const TensorValues row = {{"x", make_tensor({4}, std::vector<float>{1, 2, 3, 4})}};
  EXPECT_EQ(values_of<float>(shifted, row), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(values_of<float>(around, row), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(values_of<float>(ring, row), (std::vector<float>{5, 3, 5, 7}));
  EXPECT_EQ(values_of<float>(held, row), (std::vector<float>{3, 4, 4, 4}));
  EXPECT_EQ(values_of<float>(mirrored, row), (std::vector<float>{3, 4, 3, 2}));
  const TensorValue one = make_tensor({1}, std::vector<float>{7});
  for (const Func& y : {shifted, around, ring, held, mirrored}) {
    EXPECT_TRUE(values_of<float>(y, {{"x", make_tensor({0}, std::vector<float>{})}}).empty());
  }
  for (const Func& y : {around, held, mirrored}) {
    EXPECT_EQ(values_of<float>(y, {{"x", one}}), std::vector<float>{7});
  }
  EXPECT_EQ(values_of<float>(shifted, {{"x", one}}), std::vector<float>{0});
  EXPECT_EQ(values_of<float>(ring, {{"x", one}}), std::vector<float>{14});
}

TEST(DocumentedCode, KeptBorders) {
  const Extent H = Extent::size("H"), W = Extent::size("W");
  const Axis i("i", H), j("j", W);
  const Tensor x = input("x", f32, {H, W});
  Func heat("heat");
  // clang-format off
  heat(i, j) = select(i == 0 || i == H - 1 || j == 0 || j == W - 1, x(i, j),
                      (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1)) / 4);
  // clang-format on
  const std::vector<float> cross = {0, 4, 0, 8, 1, 12, 0, 16, 0},
                           mean = {0, 4, 0, 8, 10, 12, 0, 16, 0};
  EXPECT_EQ(values_of<float>(heat, {{"x", make_tensor({3, 3}, cross)}}), mean);
  EXPECT_EQ(values_of<float>(heat, {{"x", make_tensor({1, 9}, cross)}}), cross);
  EXPECT_TRUE(values_of<float>(heat, {{"x", make_tensor({0, 4}, std::vector<float>{})}}).empty());
}

// clang-format off
Tensor prefix_sums(Tensor x, const Axis& i, int longest) {  // rows of up to `longest` elements
  for (int step = 1; step < longest; step *= 2) {
    x = compute("", {i}, x(i) + select(i >= step, x(i - step), 0));
  }
  return x;
}
// clang-format on

TEST(DocumentedCode, PrefixSums) {
  const Extent size = Extent::size("N");
  const Tensor sums = prefix_sums(input("x", i32, {size}), Axis("i", size), 100);
  for (int64_t length : {0, 1, 2, 63, 64, 65, 100}) {
    std::vector<int32_t> x(length), expected(length);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 7919 % 101) - 50;
    std::partial_sum(x.begin(), x.end(), expected.begin());
    EXPECT_EQ(values_of<int32_t>(sums, {{"x", make_tensor({length}, x)}}), expected);
  }
}

TEST(DocumentedCode, OfATensorThatMayBeEmpty) {
  const Axis m("m", 4);
  // clang-format off
  const Extent B = Extent::size("B");
  // clang-format on
  const Extent V = Extent::size("V");
  const Tensor x = input("x", f32, {B}), words = input("words", f32, {V});
  const Tensor ids = input("ids", i32, {4});
  Func padded("padded"), looked_up("looked_up");
  // clang-format off
  padded(m) = select(m < B, x(m), 0.0f);
  looked_up(m) = select(V > 0, words(clamp(ids(m), 0, V - 1)), 0.0f);
  // clang-format on
  const TensorValue places = make_tensor({4}, std::vector<int32_t>{1, 9, -1, 0});
  EXPECT_EQ(values_of<float>(looked_up,
                             {{"ids", places}, {"words", make_tensor({0}, std::vector<float>{})}}),
            std::vector<float>(4, 0));
  EXPECT_EQ(values_of<float>(looked_up, {{"ids", places},
                                         {"words", make_tensor({2}, std::vector<float>{5, 6})}}),
            (std::vector<float>{6, 6, 5, 5}));
  EXPECT_EQ(values_of<float>(padded, {{"x", make_tensor({0}, std::vector<float>{})}}),
            std::vector<float>(4, 0));
  EXPECT_EQ(values_of<float>(padded, {{"x", make_tensor({2}, std::vector<float>{5, 6})}}),
            (std::vector<float>{5, 6, 0, 0}));
}

std::vector<std::string> names_of(const std::vector<OpPtr>& ops) {
  std::vector<std::string> names;
  for (const OpPtr& op : ops) names.push_back(op->name);
  return names;
}

TEST(DocumentedCode, Arguments) {
  const Extent H = Extent::size("H"), W = Extent::size("W");
  // clang-format off
  Tensor fg = input("fg", f32, {H, W});
  Tensor bg = input("bg", f32, {H, W});
  Tensor alpha = input("alpha", f32, {H, W});
  Graph blend(add(mul(fg, alpha), mul(bg, sub(1.0f, alpha)), "y"));  // (fg, bg, alpha, y)
  Graph other = blend.arguments({alpha, fg, bg});                    // (alpha, fg, bg, y)
  // clang-format on
  EXPECT_EQ(names_of(blend.arguments()), (std::vector<std::string>{"fg", "bg", "alpha"}));
  EXPECT_EQ(names_of(other.arguments()), (std::vector<std::string>{"alpha", "fg", "bg"}));
}

TEST(DocumentedCode, Gradients) {
  const Tensor x = input("x", f32, {4, 3}), target = input("target", f32, {4, 2});
  const Tensor w = weight("w", f32, {3, 2}), b = weight("b", f32, {2}), rate = scalar(0.1f);
  const Tensor error = sub(add(matmul(x, w), b), target);
  // clang-format off
  Tensor loss = mean(mul(error, error), {0, 1}, false, "loss");
  std::vector<Tensor> g = gradients(loss, {w, b});
  Graph step({loss, sub(w, mul(rate, g[0]), "w_next"), sub(b, mul(rate, g[1]), "b_next")});
  // clang-format on
  EXPECT_EQ(names_of(step.outputs()), (std::vector<std::string>{"loss", "w_next", "b_next"}));
}

const Axis m("m", 128), n("n", 512), k("k", 256);

// clang-format off
Schedule rows_of_tiles(Schedule s, const Tensor& y, const Tensor& mm) {
  const TileLoops loops;
  register_tile(s[y], m, n, {6, 64, 16}, loops);
  accumulate_in_registers(s[mm], "y", loops.tile, m, n, {k}, {6, 64, 16});
  parallel_rows(s[y], {loops.panel});
  return s;
}
// clang-format on

TEST(DocumentedCode, Idioms) {
  const Tensor x = input("x", f32, {128, 256}), w = weight("w", f32, {256, 512});
  Func mm("mm"), y("y");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  y(m, n) = max(mm(m, n), 0.0f);
  const Graph graph(y);
  const LoopNest nest = lower(graph, rows_of_tiles(Schedule(graph), y, mm));
  EXPECT_NO_THROW(verify_nest(nest));
}

TEST(DocumentedCode, Scratchpads) {
  const Target target = Target::parse(
      "tile-machine,tile=32x32x32,sram=262144,align=32,load=64,store=64,execute=32,elements=32,"
      "buffers=2");
  const Graph graph(relu(matmul(input("x", f32, {64, 64}), weight("w", f32, {64, 64}))));
  const LoopNest nest = lower(graph, derive_schedule(graph, target));
  const SizeValues sizes;
  ASSERT_EQ(chdir(testing::TempDir().c_str()), 0);
  // clang-format off
  const ScratchpadReport report = report_scratchpad(nest, *target.tiles, sizes);
  std::cout << to_string(report);
  std::ofstream("plan.svg") << draw_scratchpad(report);
  // clang-format on
  EXPECT_TRUE(std::ifstream("plan.svg").good());
}

}  // namespace
}  // namespace emulsion
