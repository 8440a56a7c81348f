#include "backends/entry/contracts_with_fma.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "passes/nest/visit_nest.h"
#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

// The answer for the only uOp of that part of the stage.
class Asker : public NestVisitor {
 public:
  Asker(const LoopNest& nest, std::string stage, Part part)
      : nest_(nest), stage_(std::move(stage)), part_(part) {
    walk(*nest.root);
  }
  bool answer = false;

 private:
  void visit_loop(const Loop& loop) override {
    around_.push_back(&loop);
    walk(*loop.body);
    around_.pop_back();
  }
  void visit_uop(const UopNode& uop) override {
    if (uop.stage != stage_ || uop.part != part_) return;
    answer = contracts_with_fma(nest_.stage(stage_), uop, around_);
  }

  const LoopNest& nest_;
  const std::string stage_;
  const Part part_;
  std::vector<const Loop*> around_;
};

bool contracts(const std::string& graph_name, const std::string& directives,
               const std::string& stage = "mm", Part part = Part::update) {
  const Graph graph = illegal_graph(graph_name);
  const LoopNest nest = lower(graph, parse_schedule("emulsion schedule 1\n" + directives, graph));
  return Asker(nest, stage, part).answer;
}

TEST(ContractsWithFma, ASumOfProductsOfFloats) { EXPECT_TRUE(contracts("linear", "")); }

TEST(ContractsWithFma, NotOfIntegers) { EXPECT_FALSE(contracts("integers", "")); }

TEST(ContractsWithFma, NotTheStartValue) {
  EXPECT_FALSE(contracts("linear", "", "mm", Part::init));
}

TEST(ContractsWithFma, NotWhatIsNoSum) {
  EXPECT_FALSE(contracts("linear", "", "biased", Part::pure));
}

TEST(ContractsWithFma, AsManyUnrolledStepsAsLlvmMakesVectorsOf) {
  EXPECT_TRUE(contracts("linear", "mm.split(k, ko, ki, 64)\nmm.unroll(ki)"));
  EXPECT_FALSE(contracts("linear", "mm.split(k, ko, ki, 65)\nmm.unroll(ki)"));
}

TEST(ContractsWithFma, UnrolledLoopsThatAreNotReducedDoNotCount) {
  EXPECT_TRUE(contracts("linear", "mm.reorder(n, k, m)\nmm.unroll(n)"));
}

}  // namespace
}  // namespace emulsion
