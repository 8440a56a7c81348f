// Graphs that have gone wrong in one tensor compiler or another, each in every way that the library
// has of running it, against NumPy: what a random graph meets only with luck.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/random/check_recipe.h"
#include "tests/random/oracle.h"
#include "tests/random/recipe.h"
#include "tests/random/recipe_maker.h"

namespace emulsion {
namespace {

using nlohmann::json;

const Extent kB = Extent::size("B");

json slice_of(int64_t begin, int64_t end, int64_t step) {
  return {{"begin", {extent_to_json(begin)}}, {"end", {extent_to_json(end)}}, {"step", {step}}};
}

json window_of(const std::vector<int>& window, const std::vector<int>& pad) {
  return {{"window", window}, {"stride", {1, 1}}, {"pad", pad}, {"count_include_pad", false}};
}

struct Case {
  std::string name;
  std::function<Recipe()> make;
};

std::vector<Case> layers() {
  auto layer = [](const Shape& x, const Shape& w, const Shape& bias,
                  std::vector<int64_t> sizes = {}, bool specials = false) {
    Maker m(!specials, specials);
    if (!sizes.empty()) m.sizes(sizes);
    int a = m.input(x), b = m.weight(w);
    return m.outputs({m.layer(a, b, bias)});
  };
  return {
      {"LayerWithoutDepthIsTheBias",
       [=] {
         return layer({5, 0}, {0, 33}, {33});
       }},
      {"LayerWithRunTimeDepth",
       [=] {
         Maker m;
         m.sizes({0, 1, 7});
         int x = m.input({6, kB}), w = m.input({kB, 17});
         return m.outputs({m.layer(x, w, {17})});
       }},
      {"LayerOfEveryBatch",
       [=] {
         return layer({kB, 31}, {31, 33}, {33}, {0, 1, 2, 7, 16, 65});
       }},
      {"LayerWithoutColumns",
       [=] {
         return layer({5, 3}, {3, 0}, {0});
       }},
      {"LayerOfOnes",
       [=] {
         return layer({1, 1}, {1, 1}, {1});
       }},
      {"LayerOfOneColumn",
       [=] {
         return layer({17, 33}, {33, 1}, {1});
       }},
      {"LayerOfOneRow",
       [=] {
         return layer({1, 65}, {65, 63}, {63});
       }},
      {"SquareLayerBiasAlongColumns",
       [=] {
         return layer({17, 17}, {17, 17}, {17});
       }},
      {"SquareLayerBiasAlongRows",
       [=] {
         return layer({17, 17}, {17, 17}, {17, 1});
       }},
      {"SquareLayerBiasOfOneRow",
       [=] {
         return layer({17, 17}, {17, 17}, {1, 17});
       }},
      {"SquareLayerFullBias",
       [=] {
         return layer({17, 17}, {17, 17}, {17, 17});
       }},
      {"LayerScalarBias",
       [=] {
         return layer({15, 16}, {16, 33}, {});
       }},
      {"LayerOfNaNsAndInfinities",
       [=] {
         return layer({17, 9}, {9, 33}, {33}, {}, true);
       }},
      {"BatchOfLayersOfNaNs",
       [=] {
         return layer({kB, 3}, {3, 17}, {17}, {0, 1, 15}, true);
       }},
  };
}

std::vector<Case> sharing() {
  return {
      {"ContractionThatIsAnOutput",
       [] {
         Maker m;
         int y = m.call("matmul", {m.input({9, 8}), m.weight({8, 33})});
         return m.outputs({m.call("relu", {m.call("add", {y, m.weight({33})})}), y});
       }},
      {"ContractionWithTwoUsers",
       [] {
         Maker m;
         int y = m.call("matmul", {m.input({9, 8}), m.weight({8, 33})});
         return m.outputs({m.call("add", {m.call("relu", {y}), m.call("neg", {y})})});
       }},
      {"WeightOfTwoLayers",
       [] {
         Maker m;
         int w = m.weight({17, 17});
         int y = m.layer(m.input({5, 17}), w, {17});
         return m.outputs({m.layer(y, w, {17})});
       }},
      {"WeightReadBothWays",
       [] {
         Maker m;
         int w = m.weight({16, 16}), x = m.input({5, 16});
         int y = m.call("matmul", {x, w});
         return m.outputs({m.call("matmul", {y, m.call("transpose", {w}, {{"perm", {1, 0}}})})});
       }},
      {"MatrixTimesItself",
       [] {
         Maker m;
         int x = m.weight({15, 15});
         return m.outputs({m.call("matmul", {x, x})});
       }},
      // Its accumulators were a vector of 512 lanes where one register has 64.
      {"BytesTimesTheVectorThatIsTheirBias",
       [=] {
         Maker m;
         int bias = m.input({64}, u8);
         int y = m.call("matmul", {m.input({kB, 65}, u8), m.weight({65, 64}, u8)});
         int sum = m.call("add", {y, bias});
         return m.sizes({1, 17, 600})
             .outputs(
                 {m.call("relu", {sum}), m.call("mul", {y, y}), m.call("matmul", {sum, bias})});
       }},
      {"BiasThatIsTheInput",
       [] {
         Maker m;
         int x = m.input({17, 17});
         return m.outputs(
             {m.call("relu", {m.call("add", {m.call("matmul", {x, m.weight({17, 17})}), x})})});
       }},
      {"TwoContractionsInOneSum",
       [] {
         Maker m;
         int a = m.call("matmul", {m.input({7, 8}), m.weight({8, 17})});
         int b = m.call("matmul", {m.input({7, 9}), m.weight({9, 17})});
         return m.outputs({m.call("relu", {m.call("add", {a, b})})});
       }},
  };
}

std::vector<Case> extremes() {
  auto of_specials = [](const std::string& op) {
    return Case{"SpecialValuesThrough_" + op, [=] {
                  Maker m(false, true);
                  int x = m.input({67});
                  if (op == "min" || op == "max" || op == "pow")
                    return m.outputs({m.call(op, {x, m.input({67})})});
                  if (op == "clamp")
                    return m.outputs({m.call(op, {x}, {{"low", -1}, {"high", 1}})});
                  if (op.rfind("reduce", 0) == 0 || op == "sum") {
                    return m.outputs({m.call(op, {m.input({33, 5})}, axes({1})),
                                      m.call(op, {m.input({5, 33})}, axes({0}))});
                  }
                  return m.outputs({m.call(op, {x})});
                }};
  };
  std::vector<Case> cases;
  for (const char* op :
       {"relu",    "min",       "max",      "clamp",      "abs",        "exp",   "log",
        "pow",     "sqrt",      "tanh",     "floor",      "ceil",       "round", "trunc",
        "sigmoid", "gelu_tanh", "gelu_erf", "reduce_max", "reduce_min", "sum"}) {
    cases.push_back(of_specials(op));
  }
  for (const char* op : {"sum", "reduce_max", "reduce_min"}) {
    cases.push_back({std::string("NothingThrough_") + op, [op] {
                       Maker m;
                       m.sizes({0, 1, 17});
                       int x = m.input({3, kB}), y = m.input({kB, 5});
                       return m.outputs({m.call(op, {x}, axes({1})), m.call(op, {y}, axes({0}))});
                     }});
  }
  return cases;
}

// Self-attention as frameworks write it, of which nothing is stored that only moves elements.
Recipe attention(int steps, int heads, int depth) {
  Maker m(false);
  m.sizes({0, 1, 3});
  const int width = heads * depth;
  const auto reshaped = [&](int x, const Shape& shape) {
    json extents = json::array();
    for (const Extent& extent : shape) extents.push_back(extent_to_json(extent));
    return m.call("reshape", {x}, {{"shape", extents}, {"resolved", extents}});
  };
  const auto transposed = [&](int x, const std::vector<int>& perm) {
    return m.call("transpose", {x}, {{"perm", perm}});
  };
  const int x = m.input({kB * steps, width});
  const auto in_heads = [&] {
    const int rows = m.times(m.call("matmul", {x, m.weight({width, width})}), 1.0 / 64);
    return transposed(reshaped(rows, {kB, steps, heads, depth}), {0, 2, 1, 3});
  };
  const int q = in_heads(), k = in_heads(), v = in_heads();
  const int scores = m.call("matmul", {q, transposed(k, {0, 1, 3, 2})});
  const int said = m.call("matmul", {m.call("softmax", {scores}, {{"axis", -1}}), v});
  const int rows = reshaped(transposed(said, {0, 2, 1, 3}), {kB * steps, width});
  return m.outputs({m.call("matmul", {rows, m.weight({width, width})})});
}

std::vector<Case> shapes() {
  return {
      {"AttentionWithHeads", [] { return attention(50, 2, 16); }},
      {"AttentionWithHeadsThatNoVectorFits", [] { return attention(7, 3, 10); }},
      {"ZerosOfBothSigns",
       [] {
         Maker m;
         int x = m.times(m.input({65}), 0), y = m.times(m.input({65}), 0);  // 0 and -0
         std::vector<int> results;
         for (const char* op : {"add", "sub", "mul", "max", "min"}) {
           results.push_back(m.call(op, {x, y}));
           results.push_back(m.call(op, {y, x}));
         }
         for (const char* op : {"neg", "abs", "relu", "sqrt", "floor", "ceil", "round", "trunc"})
           results.push_back(m.call(op, {x}));
         results.push_back(m.call("clamp", {x}, {{"low", 0}, {"high", 1}}));
         results.push_back(m.call("clamp", {x}, {{"low", -1}, {"high", 0}}));
         return m.outputs(results);
       }},
      {"SumsOfZerosOfBothSigns",
       [] {
         Maker m;
         int x = m.times(m.input({17, 9}), 0), w = m.times(m.weight({9, 33}), 0);
         return m.outputs({m.call("matmul", {x, w}), m.call("sum", {x}, axes({1}))});
       }},
      {"MeanOfNothingIsNaN",
       [] {
         Maker m(false);
         return m.sizes({0, 3}).outputs({m.call("mean", {m.input({2, kB})}, axes({1}))});
       }},
      {"SoftmaxOfOneIsOne",
       [] {
         Maker m(false);
         return m.outputs({m.call("softmax", {m.input({5, 1})}, {{"axis", -1}})});
       }},
      {"SoftmaxOverTheBatch",
       [] {
         Maker m(false);
         return m.sizes({0, 1, 16})
             .outputs({m.call("softmax", {m.input({kB, 17})}, {{"axis", 0}})});
       }},
      {"ConcatWithAnEmptyBatch",
       [] {
         Maker m;
         m.sizes({0, 1, 8});
         return m.outputs({m.call("concat", {m.input({kB, 17}), m.input({3, 17})}, {{"axis", 0}})});
       }},
      {"EmptyConstantBesideAnother",
       [] {
         Maker m;
         int a = m.leaf("constant", {0, 8}), b = m.leaf("constant", {2, 8});
         return m.outputs({m.call("concat", {a, b}, {{"axis", 0}}), m.call("relu", {a})});
       }},
      {"SliceThatWalksDown",
       [] {
         Maker m;
         return m.outputs({m.call("slice", {m.input({33})}, slice_of(32, -1, -2))});
       }},
      {"SliceOfNothing",
       [] {
         Maker m;
         return m.outputs({m.call("slice", {m.input({33})}, slice_of(7, 7, 1))});
       }},
      {"PadOfNothing",
       [] {
         Maker m;
         json params = {{"low", {2, 0}}, {"high", {0, 3}}, {"value", 1}};
         return m.sizes({0, 2}).outputs({m.call("pad", {m.input({kB, 0})}, params)});
       }},
      {"PoolsWithPaddingAllAround",
       [] {
         Maker m(false);
         int x = m.input({kB, 5, 6, 3});
         json params = window_of({3, 2}, {2, 2, 1, 1});
         return m.sizes({0, 1, 2}).outputs(
             {m.call("max_pool", {x}, params), m.call("avg_pool", {x}, params)});
       }},
      {"BatchesOfNothing",
       [] {
         Maker m;
         int x = m.call("relu", {m.input({kB, 0, 17, 2})});
         return m.sizes({0, 3}).outputs({m.call("matmul", {x, m.weight({0, 2, 36})})});
       }},
      {"DepthwiseConvolution",
       [] {
         Maker m;
         json params = {
             {"stride", {1, 2}}, {"dilation", {1, 1}}, {"pad", {1, 1, 1, 1}}, {"groups", 17}};
         int x = m.input({kB, 5, 5, 17}), w = m.weight({3, 3, 1, 17});
         return m.sizes({0, 1, 3}).outputs({m.call("relu", {m.call("conv2d", {x, w}, params)})});
       }},
      {"ConvolutionWithoutChannels",
       [] {
         Maker m;
         json params = {
             {"stride", {1, 1}}, {"dilation", {1, 1}}, {"pad", {0, 0, 0, 0}}, {"groups", 1}};
         int y = m.call("conv2d", {m.input({1, 4, 4, 0}), m.weight({2, 2, 0, 9})}, params);
         return m.outputs({m.call("add", {y, m.weight({9})})});
       }},
      {"IntegerDivisionRoundsDownAndByZeroIsZero",
       [] {
         Maker m;
         return m.outputs({m.call("div", {m.input({65}, i32), m.input({65}, i32)})});
       }},
      {"EverythingOfRankZero",
       [] {
         Maker m;
         int x = m.input({}), y = m.plus(x, 1);
         return m.outputs({m.call("relu", {y}), m.call("cast", {y}, {{"dtype", "i32"}})});
       }},
      {"NamesThatHalideAndTheCLibraryUse",
       [] {
         Maker m(false);
         int x = m.input({33}, f64);
         int y = m.call("exp", {x}, {{"name", "exp"}}),
             z = m.call("tanh", {y}, {{"name", "malloc"}});
         return m.outputs({y, z, m.call("add", {y, z}, {{"name", "t18"}})});
       }},
  };
}

// The integers that wrap around, on values from their whole range.
std::vector<Case> wrapping() {
  std::vector<Case> cases;
  for (DType type : {i8, u8, i16, u16}) {
    const std::string name = to_string(type);
    cases.push_back({"Arithmetic_" + name, [type] {
                       Maker m;
                       int x = m.input({1025}, type), y = m.input({1025}, type);
                       std::vector<int> results;
                       for (const char* op : {"add", "sub", "mul", "div", "min", "max", "less"}) {
                         results.push_back(m.call(op, {x, y}));
                       }
                       for (const char* op : {"neg", "abs", "relu"}) {
                         results.push_back(m.call(op, {x}));
                       }
                       return m.outputs(results);
                     }});
    cases.push_back(
        {"SumsAndLayers_" + name, [type] {
           Maker m;
           m.sizes({0, 1, 17});
           int x = m.input({kB, 131}, type), w = m.weight({131, 70}, type);
           int y =
               m.call("relu", {m.call("add", {m.call("matmul", {x, w}), m.weight({70}, type)})});
           return m.outputs({y, m.call("sum", {x}, axes({1})), m.call("sum", {x}, axes({0})),
                             m.call("reduce_max", {x}, axes({0})),
                             m.call("reduce_min", {x}, axes({0}))});
         }});
    cases.push_back(
        {"Casts_" + name, [type, name] {
           Maker m;
           int x = m.input({1025}, type);
           std::vector<int> results;
           for (const char* to : {"bool", "i8", "u8", "i16", "u16", "i32", "f32", "f64"}) {
             results.push_back(m.call("cast", {x}, {{"dtype", to}}));
           }
           for (DType from : {i32, f32, f64, bool_}) {
             results.push_back(m.call("cast", {m.input({65}, from)}, {{"dtype", name}}));
           }
           return m.outputs(results);
         }});
    cases.push_back({"SaturatesFloats_" + name, [name] {
                       Maker m(false, true);  // NaN and infinities, too
                       int x = m.input({1025}), large = m.times(x, 20000);
                       return m.outputs({m.call("cast", {x}, {{"dtype", name}}),
                                         m.call("cast", {large}, {{"dtype", name}})});
                     }});
    cases.push_back(
        {"Windows_" + name, [type] {
           Maker m;
           int x = m.input({1, 9, 35, 3}, type);
           json params = {
               {"stride", {1, 2}}, {"dilation", {1, 1}}, {"pad", {1, 1, 1, 1}}, {"groups", 1}};
           int y = m.call("conv2d", {x, m.weight({3, 3, 3, 5}, type)}, params);
           return m.outputs({y, m.call("max_pool", {x}, window_of({3, 2}, {2, 1, 1, 1}))});
         }});
  }
  return cases;
}

// The sum of each row, the row without it, and the maximum of that.
struct CombinedRows {
  int total, rest, most;
};
CombinedRows combined_rows(const Extent& count, int64_t length, Maker* m) {
  const json of_row = axes({1}, true);
  if (!count.is_constant()) m->sizes({0, 1, 7, 65});
  const int x = m->input({count, length});
  const int total = m->call("sum", {x}, of_row), rest = m->call("sub", {x, total});
  return {total, rest, m->call("reduce_max", {rest}, of_row)};
}

// Sums of each row that are outputs beside what is made of the row, or are read in other rows, too.
std::vector<Case> kept_rows() {
  const auto rows = [](const Extent& count, int64_t length, bool read_elsewhere) {
    Maker m;
    const auto [total, rest, most] = combined_rows(count, length, &m);
    const int y = m.call("add", {rest, most});
    if (!read_elsewhere) return m.outputs({y, total, most});
    const int turned = m.call("transpose", {total}, {{"perm", {1, 0}}});
    return m.outputs({m.call("sum", {turned}, axes({1})), y, most});
  };
  return {{"KeptOfRows", [=] { return rows(64, 1000, false); }},
          {"KeptOfRunTimeRows", [=] { return rows(kB, 1000, false); }},
          {"KeptOfShortRunTimeRows", [=] { return rows(kB, 37, false); }},
          {"KeptOfRowsAndReadBehind", [=] { return rows(kB, 515, true); }}};
}

// Two results of the same rows, of which others may need one behind the loops; and a sum of each
// row beside them.
std::vector<Case> row_results() {
  const auto rows = [](const Extent& count, int64_t length, bool read_elsewhere) {
    Maker m;
    const auto [total, rest, most] = combined_rows(count, length, &m);
    const int y = m.call("add", {rest, most}), z = m.call("sub", {most, rest});
    const int sums = m.call("sum", {z}, axes({1}));
    if (!read_elsewhere) return m.outputs({y, sums, z});
    const int turned = m.call("transpose", {y}, {{"perm", {1, 0}}});
    return m.outputs({m.call("sum", {turned}, axes({1})), z, m.call("neg", {z})});
  };
  return {{"ResultsOfRows", [=] { return rows(64, 1000, false); }},
          {"ResultsOfRunTimeRows", [=] { return rows(kB, 515, false); }},
          {"ResultsOfShortRunTimeRows", [=] { return rows(kB, 37, false); }},
          {"ResultsOfRowsAndReadBehind", [=] { return rows(kB, 131, true); }}};
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& group :
       {layers(), sharing(), extremes(), shapes(), wrapping(), kept_rows(), row_results()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  return cases;
}

class Directed : public ::testing::TestWithParam<Case> {};

TEST_P(Directed, AgreesWithNumPy) {
  std::vector<Recipe> recipes = {GetParam().make()};
  std::vector<Answer> answers = ask_numpy(recipes);
  ASSERT_EQ(answers.size(), 1u);
  CheckResult result = check_recipes(recipes, answers)[0];
  EXPECT_EQ(result.failure, "");
  EXPECT_LE(result.unknown * 10, result.elements);
}

INSTANTIATE_TEST_SUITE_P(All, Directed, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace emulsion
