// Random directives on a few graphs, most of them nonsense: names of any axis or stage on any
// other, factors of any size, in any order. Whatever comes, lower() either refuses with an Error or
// makes a nest that keeps verify_nest's rules and means what the graph means; an InternalError is
// never the user's to see. (tests/backends/interpreter has random graphs with schedules that make
// more sense.)

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

constexpr uint32_t kFirstSeed = 20260;
constexpr uint32_t kSchedules = 600;

Graph linear(const Extent& rows) {
  Tensor x = input("x", f32, {rows, 5}), w = weight("w", f32, {5, 7}), b = weight("b", f32, {7});
  return Graph(relu(add(matmul(x, w, "mm"), b, "biased"), "y"));
}

Graph stencil() {
  const Axis wide("i", 9), i("i", 7), j("j", 4);
  Tensor x = input("x", f32, {9, 4});
  Tensor a = compute("a", {wide, j}, x(wide, j) * 2.0f);
  Tensor b = compute("b", {i, j}, a(i, j) + a(Expr(i) + 2, 3 - Expr(j)));
  return Graph(compute("y", {i, j}, b(i, j) + a(Expr(i) + 1, j)));
}

Graph reductions(const Extent& rows) {
  Tensor x = input("x", i32, {rows, 6});
  Tensor s = sum(x, {1}, true, "s");
  Tensor d = sub(x, s, "d");
  return Graph({reduce_max(d, {1}, false, "y"), mul(d, 2, "z")});
}

// A directive with arguments from the names that the graph has, and some that it does not have.
class RandomDirectives {
 public:
  RandomDirectives(const Graph& graph, uint32_t seed) : engine_(seed) {
    for (const OpPtr& op : graph.ops()) {
      if (op->kind == OpKind::compute) stages_.push_back(op->name);
      if (op->kind != OpKind::compute) others_.push_back(op->name);
      for (const Axis& axis : op->axes) axes_.push_back(axis.name());
      for (const Axis& axis : op->reduction_axes) axes_.push_back(axis.name());
    }
    axes_.insert(axes_.end(), {"p", "q", "lane"});
    others_.push_back("nobody");
  }

  Schedule schedule(const Graph& graph) {
    Schedule result(graph);
    const uint32_t count = 1 + engine_() % 5;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string stage = engine_() % 40 == 0 ? any(others_) : any(stages_);
      result[stage].add(directive());
    }
    return result;
  }

 private:
  template <typename T>
  const T& any(const std::vector<T>& values) {
    return values[engine_() % values.size()];
  }

  Directive directive() {
    static const std::vector<int64_t> kFactors = {1, 2, 2,  3, 4,  4,
                                                  5, 7, 16, 0, -2, int64_t{1} << 31};
    static const std::vector<int> kAxes = {3, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1};
    Directive d;
    d.kind = static_cast<DirectiveKind>(engine_() % kAxes.size());
    int count = kAxes[static_cast<size_t>(d.kind)];
    if (engine_() % 30 == 0) count += static_cast<int>(engine_() % 3) - 1;
    for (int i = 0; i < count; ++i) d.axes.push_back(any(axes_));
    if (d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse) make_new(&d.axes);
    const bool has_factor = d.kind == DirectiveKind::split || d.kind == DirectiveKind::pack ||
                            d.kind == DirectiveKind::prefetch;
    if (has_factor) d.factor = any(kFactors);
    if (d.kind == DirectiveKind::split) d.tail = static_cast<Tail>(engine_() % 7);
    d.memory = static_cast<Memory>(engine_() % 4);
    d.target = target(d.kind);
    return d;
  }

  // The names that a split or fuse makes are new, as a rule.
  void make_new(std::vector<std::string>* axes) {
    for (size_t i = axes->size() == 3 && engine_() % 2 ? 2 : 1; i < axes->size(); ++i) {
      if (engine_() % 8 == 0) continue;
      (*axes)[i] = "a" + std::to_string(names_++);
      axes_.push_back((*axes)[i]);
    }
  }

  std::string target(DirectiveKind kind) {
    if (kind == DirectiveKind::pack || kind == DirectiveKind::prefetch) return any(others_);
    if (kind == DirectiveKind::cache_write || kind == DirectiveKind::rfactor) {
      if (engine_() % 8 == 0) return any(stages_);
      stages_.push_back("made" + std::to_string(names_++));
      return stages_.back();
    }
    if (kind != DirectiveKind::compute_at && kind != DirectiveKind::store_at &&
        kind != DirectiveKind::compute_with) {
      return "";
    }
    return engine_() % 20 == 0 ? any(others_) : any(stages_);
  }

  std::mt19937 engine_;
  std::vector<std::string> stages_, others_, axes_;
  int names_ = 0;
};

void check(const Graph& graph) {
  int accepted = 0;
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSchedules; ++seed) {
    const Schedule schedule = RandomDirectives(graph, seed).schedule(graph);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(graph));
    LoopNest nest;
    try {
      nest = lower(graph, schedule);
    } catch (const Error&) {
      continue;
    } catch (const std::exception& error) {
      for (const auto& [name, stage] : schedule.stages()) {
        for (const Directive& d : stage.directives()) {
          std::cout << name << "." << to_string(d) << "\n";
        }
      }
      FAIL() << error.what();
    }
    ++accepted;
    for (int64_t batch : {0, 1, 5}) {
      SizeValues sizes;
      for (const std::string& size : graph.sizes()) sizes[size] = batch;
      ASSERT_TRUE(computes(nest, graph, sizes)) << to_string(schedule);
      if (sizes.empty()) break;
    }
  }
  std::cout << accepted << " of " << kSchedules << " accepted\n";
  EXPECT_GT(accepted, static_cast<int>(kSchedules) / 30);
  EXPECT_LT(accepted, static_cast<int>(kSchedules));
}

TEST(LowerRandom, Linear) { check(linear(6)); }
TEST(LowerRandom, LinearOverABatch) { check(linear(Extent::size("B"))); }
TEST(LowerRandom, Stencil) { check(stencil()); }
TEST(LowerRandom, Reductions) { check(reductions(5)); }
TEST(LowerRandom, ReductionsOverABatch) { check(reductions(Extent::size("B"))); }

}  // namespace
}  // namespace emulsion
