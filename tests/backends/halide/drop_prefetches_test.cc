#include "backends/halide/drop_prefetches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "backends/halide/halide_call.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using testing::HasSubstr;
using testing::Not;

// How y(j, i) = value(x(j, i)) is lowered, x prefetched at both loops; compiled, too.
std::string lowered(Halide::Expr (*value)(Halide::Expr x), bool drop) {
  std::ostringstream text;
  call_halide("compiling y", [&] {
    const Halide::Target target("x86-64-linux-no_runtime");
    Halide::ImageParam x(Halide::Int(32), 2, "x");
    const Halide::Var i("i"), j("j");
    Halide::Func y("y");
    y(j, i) = value(x(j, i));
    y.prefetch(x, j, j, 3).prefetch(x, i, i, 2);
    Halide::Pipeline pipeline(y);
    if (drop) drop_prefetches(&pipeline);
    const Halide::Module module = pipeline.compile_to_module({x}, "y", target);
    for (const Halide::Internal::LoweredFunc& function : module.functions()) text << function.body;
    const Halide::Internal::JITModule compiled(module, module.functions().front());
  });
  return text.str();
}

Halide::Expr twice(Halide::Expr x) { return x * 2; }
Halide::Expr nothing(Halide::Expr x) { return x != x; }

TEST(DropPrefetches, KeepsThoseOfWhatIsRead) {
  EXPECT_THAT(lowered(twice, true), HasSubstr("prefetch("));
}

TEST(DropPrefetches, DropsThoseOfWhatIsNot) {
  EXPECT_THAT(lowered(nothing, true), Not(HasSubstr("prefetch(")));
}

// What it is for: when Halide compiles this, the pass can go.
TEST(DropPrefetches, WithoutItHalideFails) { EXPECT_THROW(lowered(nothing, false), InternalError); }

}  // namespace
}  // namespace emulsion
