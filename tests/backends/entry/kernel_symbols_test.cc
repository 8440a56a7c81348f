#include "backends/entry/kernel_symbols.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// As Halide writes it, in short.
const std::string kHeader = R"(#ifndef GUARD
#ifdef __cplusplus
extern "C" {
#endif

ATTRIBUTES
int linear(struct halide_buffer_t *_x_buffer);

ATTRIBUTES
int linear_argv(void **args);
const struct halide_filter_metadata_t *linear_metadata();
int linear_pack_w(struct halide_buffer_t *_w_buffer);
int linear_pack_w_argv(void **args);
const struct halide_filter_metadata_t *linear_pack_w_metadata();
int linear_is_12ab(struct halide_buffer_t *_x_buffer);
int linear_is_12ab_argv(void **args);
const struct halide_filter_metadata_t *linear_is_12ab_metadata();

#ifdef __cplusplus
}  // extern "C"
#endif

#endif
)";

TEST(KernelSymbols, HaveTheKernelsHashInThem) {
  EXPECT_EQ(own_symbol("linear", "12ab"), "linear_is_12ab");
}

TEST(KernelSymbols, EachFunctionOfAHeaderStandsForItsOwn) {
  EXPECT_EQ(with_own_symbols(kHeader, {"linear", "linear_pack_w"}, "12ab"), R"(#ifndef GUARD
#ifdef __cplusplus
extern "C" {
#endif

ATTRIBUTES
int linear(struct halide_buffer_t *_x_buffer) __asm__("linear_is_12ab");

ATTRIBUTES
int linear_argv(void **args) __asm__("linear_is_12ab_argv");
const struct halide_filter_metadata_t *linear_metadata() __asm__("linear_is_12ab_metadata");
int linear_pack_w(struct halide_buffer_t *_w_buffer) __asm__("linear_pack_w_is_12ab");
int linear_pack_w_argv(void **args) __asm__("linear_pack_w_is_12ab_argv");
const struct halide_filter_metadata_t *linear_pack_w_metadata() __asm__("linear_pack_w_is_12ab_metadata");
int linear_is_12ab(struct halide_buffer_t *_x_buffer);
int linear_is_12ab_argv(void **args);
const struct halide_filter_metadata_t *linear_is_12ab_metadata();

// Functions have symbols of their own: another kernel of this name, which some shared library has,
// is not called instead. Two kernels of one name do not link into one program.
__attribute__((used)) static int (*const linear_is_12ab_here)(void **) = linear_is_12ab_argv;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif
)");
}

TEST(KernelSymbols, AFunctionThatIsNotDeclaredIsOurMistake) {
  EXPECT_INTERNAL_ERROR(with_own_symbols(kHeader, {"linear", "relu"}, "12ab"),
                        "a header does not declare relu");
  EXPECT_INTERNAL_ERROR(with_own_symbols("\nint linear(void);", {"linear"}, "12ab"),
                        "a header does not declare linear_argv");
  EXPECT_INTERNAL_ERROR(
      with_own_symbols("\nint linear(void);\nint linear_argv(void **);", {"linear"}, "12ab"),
      "a header does not declare linear_metadata");
}

TEST(KernelSymbols, AHeaderThatDoesNotEndIsOurMistake) {
  EXPECT_INTERNAL_ERROR(
      with_own_symbols("\nint linear(void);\nint linear_argv(void **);"
                       "\nconst struct halide_filter_metadata_t *linear_metadata();",
                       {"linear"}, "12ab"),
      "a header that does not end");
}

}  // namespace
}  // namespace emulsion
