// Random graphs (random_graph.h) as programs for a tile machine with small tiles: what derive_tiles
// makes is refused with an Error or computes what the graph computes, bit for bit, since a tile
// keeps the order of every sum; its list of uOps is as long as it is counted and moves the bytes
// that are measured, none of them by an execute.

#include <gtest/gtest.h>

#include <iostream>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/target.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/uop_list.h"
#include "passes/pipeline.h"
#include "tests/random/random_graph.h"
#include "tests/random/recipe.h"

namespace emulsion {
namespace {

constexpr int kGraphs = 100;
constexpr uint64_t kSeed = 20261121;

// Small tiles, and room for operands that must be there whole.
Target machine() {
  TileMachine tiles;
  tiles.tile_m = 4;
  tiles.tile_n = 8;
  tiles.tile_k = 3;
  tiles.alignment = 1;
  tiles.sram_bytes = int64_t{1} << 30;
  return Target::tile_machine(tiles);
}

void check_values(const Recipe& recipe, const Graph& graph, const LoopNest& nest,
                  const SizeValues& sizes) {
  const TensorValues arguments = arguments_of(recipe, graph, sizes);
  InterpretOptions options;
  options.sizes = sizes;
  const TensorValues expected = interpret_graph(graph, arguments, options);
  const TensorValues actual = interpret_nest(nest, arguments, options);
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(first_difference(value, actual.at(name)).value_or(""), "") << name;
  }
}

void check_uops(const LoopNest& nest, const SizeValues& sizes) {
  const UopList list(nest, sizes);
  int64_t length = 0, bytes = 0;
  for (const Uop& uop : list) {
    ++length;
    bytes += uop.bytes;
    EXPECT_EQ(uop.kind == UopKind::execute ? uop.bytes : 0, 0) << to_string(uop, nest);
  }
  EXPECT_EQ(length, list.size());
  EXPECT_EQ(bytes, measure_traffic(nest, sizes, TrafficModel::uop).bytes());
}

TEST(RandomTiles, AreRefusedOrComputeTheSame) {
  int refused = 0;
  for (int i = 0; i < kGraphs && !testing::Test::HasFailure(); ++i) {
    const Recipe recipe = random_recipe(kSeed, i);
    const Graph graph = build_graph(recipe);
    SCOPED_TRACE("graph " + std::to_string(i) + "\n" + to_string(graph));
    LoopNest nest;
    try {
      nest = run_pipeline(graph, machine()).nest;
    } catch (const Error& error) {
      ++refused;
      std::cout << "refused: " << std::string(error.what()).substr(0, 160) << "\n";
      continue;
    }
    SCOPED_TRACE(to_string(nest));
    for (const SizeValues& sizes : recipe.runs) {
      check_values(recipe, graph, nest, sizes);
      check_uops(nest, sizes);
    }
  }
  std::cout << refused << " of " << kGraphs << " graphs refused\n";
  EXPECT_LT(refused, kGraphs / 5);
}

}  // namespace
}  // namespace emulsion
