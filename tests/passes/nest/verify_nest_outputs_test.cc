#include "passes/nest/verify_nest_outputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// y = p / the sum of its row, p = 2 x, by rows of y, where p is.
LoopNest rows_nest(const Extent& rows = 6, const Extent& columns = 10) {
  const Axis m("m", rows), n("n", columns);
  Tensor x = input("x", f32, {rows, columns});
  Tensor p = compute("p", {m, n}, x(m, n) * 2.0f);
  Tensor s = compute("s", {m}, sum(n, p(m, n)));
  Tensor y = compute("y", {m, n}, p(m, n) / s(m));
  Schedule schedule(y);
  schedule[p].compute_at(y, m).store_in_output(y);
  schedule[s].compute_at(y, m);
  return lower(y, schedule);
}

template <typename Kind>
LoopNest edited(const std::function<void(Kind*)>& change, LoopNest nest = rows_nest()) {
  nest.root = edit<Kind>(nest.root, change);
  return nest;
}

void refused(const LoopNest& nest, const std::string& cause) {
  EXPECT_INTERNAL_ERROR(verify_nest_outputs(nest), cause);
}

// Those that nothing else finds, and verify_nest does.
void refused_by_it_alone(const LoopNest& nest, const std::string& cause) {
  refused(nest, cause);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), cause);
}

TEST(VerifyNestOutputs, AcceptsWhatIsLowered) {
  for (const Extent& rows : {Extent(6), Extent(1), Extent(0), Extent::size("B")}) {
    for (const Extent& columns : {Extent(10), Extent(0), Extent(5000), Extent::size("N")}) {
      EXPECT_NO_THROW(verify_nest(rows_nest(rows, columns)));
    }
  }
  EXPECT_NO_THROW(verify_nest_outputs(linear_nest()));
}

TEST(VerifyNestOutputs, FindsWhatIsNoOutput) {
  refused(edited<Alloc>([](Alloc* alloc) {
            if (alloc->stage == "p") alloc->output = "x";
          }),
          "nest y: p is in x, which is no output");
}

TEST(VerifyNestOutputs, FindsAnotherTypeOrShape) {
  const auto with = [](const std::function<void(Buffer*)>& change) {
    LoopNest nest = rows_nest();
    for (Buffer& buffer : nest.buffers) {
      if (buffer.name == "p") change(&buffer);
    }
    return nest;
  };
  const std::string cause = "p is in output y, which is of another type or shape";
  refused(with([](Buffer* buffer) { buffer->dtype = f64; }), cause);
  refused(with([](Buffer* buffer) { buffer->shape = {6, 11}; }), cause);
}

TEST(VerifyNestOutputs, FindsMemoryOfItsOwn) {
  const std::string cause = "p is in output y and has a memory or a layout of its own";
  const auto with = [](const std::function<void(Alloc*)>& change) {
    return edited<Alloc>([&](Alloc* alloc) {
      if (alloc->stage == "p") change(alloc);
    });
  };
  refused(with([](Alloc* alloc) { alloc->memory = Memory::stack; }), cause);
  refused(with([](Alloc* alloc) { alloc->layout.order = {1, 0}; }), cause);
  refused(with([](Alloc* alloc) { alloc->layout.alignments = {1, 16}; }), cause);
  refused(with([](Alloc* alloc) { alloc->layout.folds = {0, 10}; }), cause);
  LoopNest hoisted = rows_nest();
  HoistedAlloc outer;
  outer.stage = "p";
  outer.body = hoisted.root;
  hoisted.root = make_node(std::move(outer));
  refused(hoisted, cause);
}

TEST(VerifyNestOutputs, FindsAWindow) {
  LoopNest nest = rows_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage != "p" || loop->axis != "m") return;
    WindowNode window;
    window.stage = "p";
    window.body = loop->body;
    loop->body = make_node(std::move(window));
  });
  refused(nest, "p is in output y and kept over a loop");
}

TEST(VerifyNestOutputs, FindsAReduction) {
  LoopNest nest = rows_nest();
  for (Stage& stage : nest.stages) {
    if (stage.name == "y") stage.combiner = Combiner::sum;
  }
  refused(nest, "p is in output y, which is a reduction");
}

TEST(VerifyNestOutputs, FindsElementsThatAreComputedAgain) {
  LoopNest nest = rows_nest();
  for (Stage& stage : nest.stages) {
    LoopTransform split;
    split.tail = Tail::shift_inwards;
    if (stage.name == "y") stage.transforms.push_back(split);
  }
  refused(nest, "p is in output y, which computes some elements again");
}

TEST(VerifyNestOutputs, FindsTwoInOneOutput) {
  refused(edited<Alloc>([](Alloc* alloc) {
            if (alloc->stage == "s") alloc->output = "y";
          }),
          "p and s are both in output y");
}

TEST(VerifyNestOutputs, FindsAnOutputThatIsComputedElsewhere) {
  LoopNest nest = rows_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    if (uop->stage == "y") uop->stage = "s";
  });
  refused(nest, "which is computed elsewhere");
}

// y = p where B > 4, in whose memory p then is.
LoopNest copied_nest() {
  const Axis m("m", 10), k("k", Extent::size("B"));
  const Tensor y = compute("y", {m}, sum(k, input("x", f32, {10, k.extent()})(m, k)));
  Schedule schedule(y);
  schedule[y].cache_write("p").specialize(size_value("B") <= 4);
  schedule["p"].alternative(size_value("B") <= 4, "q").store_in_output("y");
  return lower(y, schedule);
}

TEST(VerifyNestOutputs, AcceptsAnOutputThatIsACopy) {
  EXPECT_NO_THROW(verify_nest_outputs(copied_nest()));
  EXPECT_NO_THROW(verify_nest(copied_nest()));
}

TEST(VerifyNestOutputs, FindsAnOutputThatIsNoCopy) {
  const Expr own = read_buffer("p", f32, {axis_value("m")});
  const Expr few = read_buffer("q", f32, {axis_value("m")});
  const Expr turned = read_buffer("p", f32, {9 - axis_value("m")});
  const Expr is_few = size_value("B") <= 4;
  for (const Expr& body :
       {own + 1.0F, turned, select(is_few, own, few), select(is_few, few, own * 2.0F)}) {
    LoopNest nest = copied_nest();
    for (Stage& stage : nest.stages) {
      if (stage.name == "y") stage.body = body;
    }
    refused(nest, "p is in output y, which is computed elsewhere and no copy of it");
  }
}

TEST(VerifyNestOutputs, FindsACopyOfAPart) {
  refused(edited<Alloc>(
              [](Alloc* alloc) {
                if (alloc->stage == "p") alloc->extents[0] = int_constant(9);
              },
              copied_nest()),
          "which is computed elsewhere and no copy of it");
  refused(edited<Alloc>(
              [](Alloc* alloc) {
                if (alloc->stage == "p") alloc->mins[0] = int_constant(1);
              },
              copied_nest()),
          "which is computed elsewhere and no copy of it");
}

TEST(VerifyNestOutputs, FindsAnElementThatIsReadElsewhere) {
  for (const Expr& column : {axis_value("n") + 1, int_constant(0), axis_value("m")}) {
    LoopNest nest = rows_nest();
    for (Stage& stage : nest.stages) {
      if (stage.name == "y") stage.body = read_buffer("p", f32, {axis_value("m"), column});
    }
    refused(nest, "y reads p[m, " + to_string(column) + "], which it has overwritten elsewhere");
  }
}

// y's own body says so, and not what the uOp evaluates in its place.
TEST(VerifyNestOutputs, LooksAtWhatAUopEvaluates) {
  refused(edited<UopNode>([](UopNode* uop) {
            if (uop->stage == "y") {
              uop->body = read_buffer("p", f32, {axis_value("m"), 9 - axis_value("n")});
            }
          }),
          "y reads p[m, 9 - n], which it has overwritten elsewhere");
}

// The sum behind the output, and in a loop with it.
TEST(VerifyNestOutputs, FindsAReaderThatComesLater) {
  const std::string cause = "s uses p, which output y overwrites";
  LoopNest later = rows_nest();
  later.root = edit<Alloc>(later.root, [](Alloc* alloc) {
    if (alloc->stage != "s") return;
    Block block = *alloc->body->as<Block>();
    std::rotate(block.children.begin(), block.children.end() - 1, block.children.end());
    alloc->body = make_node(std::move(block));
  });
  refused(later, cause);
  LoopNest together = rows_nest();
  together.root = edit<Alloc>(together.root, [](Alloc* alloc) {
    if (alloc->stage == "s") alloc->body = loop_node("y", "again", int_constant(2), alloc->body);
  });
  refused(together, cause);
}

TEST(VerifyNestOutputs, FindsElementsThatAreNotOverwritten) {
  refused_by_it_alone(edited<Loop>([](Loop* loop) {
                        if (loop->stage == "y" && loop->axis == "n") loop->extent = int_constant(9);
                      }),
                      "p has 10 elements in output y, which stores 9 there");
  refused(edited<Alloc>([](Alloc* alloc) {
            if (alloc->stage == "p") alloc->extents[0] = int_constant(2);
          }),
          "p has 20 elements in output y, which stores 10 there");
}

TEST(VerifyNestOutputs, FindsElementsOfAnotherIteration) {
  refused(edited<Alloc>([](Alloc* alloc) {
            if (alloc->stage == "p") alloc->mins[0] = 5 - alloc->mins[0];
          }),
          "y[0, 0] is computed where p is in it from 5, 0 to 6, 10");
}

TEST(VerifyNestOutputs, FindsThemInLargeStorage) {
  refused(edited<Alloc>(
              [](Alloc* alloc) {
                if (alloc->stage == "p") alloc->mins[1] = int_constant(1);
              },
              rows_nest(6, 5000)),
          "y[0, 0] is computed where p is in it from 0, 1 to 1, 5000");
  refused(edited<Alloc>(
              [](Alloc* alloc) {
                if (alloc->stage == "p") alloc->extents[1] = int_constant(4999);
              },
              rows_nest(6, 5000)),
          "y[0, 4999] is computed where p is in it from 0, 0 to 1, 4999");
}

TEST(VerifyNestOutputs, LooksAtRunTimeSizesAndAtTheLastIterations) {
  const Extent rows = Extent::size("B");
  refused(edited<Alloc>(
              [](Alloc* alloc) {
                if (alloc->stage == "p") alloc->mins[0] = min(alloc->mins[0], 5);
              },
              rows_nest(rows)),
          "y[6, 0] is computed where p is in it from 5, 0");
}

}  // namespace
}  // namespace emulsion
