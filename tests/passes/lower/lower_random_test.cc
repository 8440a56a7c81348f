// Random directives on a few graphs, put together in C++, where nothing reads them before lower()
// does: most are nonsense, with names of any axis or stage on any other, too many or too few of
// them, factors of any size, in any order. Each is kept if it is not refused. Whatever comes,
// lower() either refuses with an Error or makes a nest that keeps verify_nest's rules and means
// what the graph means; an InternalError is never the user's to see. (tests/random has schedules as
// text that make more sense, and compiles them.)

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

constexpr uint32_t kFirstSeed = 20260;
constexpr uint32_t kSchedules = 150;
constexpr int kDirectives = 24;  // drawn for each

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
    others_.emplace_back("nobody");
  }

  // A directive for some stage, which is returned.
  std::string draw(Directive* d) {
    *d = directive();
    return engine_() % 40 == 0 ? any(others_) : any(stages_);
  }

 private:
  template <typename T>
  const T& any(const std::vector<T>& values) {
    return values[engine_() % values.size()];
  }

  Directive directive() {
    static const std::vector<int64_t> kFactors = {1, 2, 2,  3, 4,  4,
                                                  5, 7, 16, 0, -2, int64_t{1} << 31};
    Directive d;
    d.kind = static_cast<DirectiveKind>(engine_() % kDirectiveKinds);
    auto count = static_cast<int>(axis_count(d.kind));
    if (has_argument(d.kind, ArgumentKind::loops) ||
        has_argument(d.kind, ArgumentKind::stored_axes)) {
      count += static_cast<int>(engine_() % 3);
    }
    if (engine_() % 30 == 0) count += static_cast<int>(engine_() % 3) - 1;
    for (int i = 0; i < count; ++i) d.axes.push_back(any(axes_));
    if (d.kind == DirectiveKind::split || d.kind == DirectiveKind::fuse) make_new(&d.axes);
    d.factor = any(kFactors);
    if (d.kind == DirectiveKind::copy_in) d.operand = any(engine_() % 2 == 0 ? stages_ : others_);
    if (has_argument(d.kind, ArgumentKind::condition)) {
      d.condition = size_value("B") == int_constant(4);
    }
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
    if (makes_stage(kind)) {
      if (engine_() % 8 == 0) return any(stages_);
      stages_.push_back("made" + std::to_string(names_++));
      return stages_.back();
    }
    return engine_() % 20 == 0 ? any(others_) : any(stages_);
  }

  std::mt19937 engine_;
  std::vector<std::string> stages_, others_, axes_;
  int names_ = 0;
};

// Drawn one after another, those kept that are not refused.
Schedule draw_schedule(const Graph& graph, uint32_t seed) {
  RandomDirectives random(graph, seed);
  Schedule schedule(graph);
  for (int i = 0; i < kDirectives; ++i) {
    Schedule longer = schedule;
    Directive d;
    const std::string stage = random.draw(&d);
    try {
      longer[stage].add(d);
      lower(graph, longer);
      schedule = longer;
    } catch (const Error&) {
      continue;
    } catch (const std::exception& error) {
      ADD_FAILURE() << stage << "." << to_string(d) << " behind\n"
                    << to_string(schedule) << error.what();
    }
  }
  return schedule;
}

// `floor`: of kinds of directives that are accepted. No graph takes all 28: without a run-time size
// there is no specialize and no alternative, without a weight no pack, without a reduction no
// rfactor.
void check(const Graph& graph, size_t floor) {
  int accepted = 0;
  std::map<DirectiveKind, int> kinds;
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kSchedules; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(graph));
    const Schedule schedule = draw_schedule(graph, seed);
    const LoopNest nest = lower(graph, schedule);
    for (const auto& [name, stage] : schedule.stages()) {
      accepted += static_cast<int>(stage.directives().size());
      for (const Directive& d : stage.directives()) ++kinds[d.kind];
    }
    for (int64_t batch : {0, 1, 5}) {
      SizeValues sizes;
      for (const std::string& size : graph.sizes()) sizes[size] = batch;
      ASSERT_TRUE(computes(nest, graph, sizes)) << to_string(schedule);
      if (sizes.empty()) break;
    }
  }
  const int drawn = static_cast<int>(kSchedules) * kDirectives;
  std::cout << accepted << " of " << drawn << " directives accepted, of " << kinds.size()
            << " kinds\n";
  for (const auto& [kind, count] : kinds) std::cout << count << " " << to_string(kind) << "\n";
  EXPECT_GT(accepted, drawn / 9);
  EXPECT_GE(kinds.size(), floor);
}

TEST(LowerRandom, Linear) { check(linear(6), 18); }
TEST(LowerRandom, LinearOverABatch) { check(linear(Extent::size("B")), 18); }
TEST(LowerRandom, Stencil) { check(stencil(), 15); }
TEST(LowerRandom, Reductions) { check(reductions(5), 16); }
TEST(LowerRandom, ReductionsOverABatch) { check(reductions(Extent::size("B")), 17); }

}  // namespace
}  // namespace emulsion
