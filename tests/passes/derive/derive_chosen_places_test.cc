// Combinations whose places data choose, in derived schedules.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// The rows of x of each class, added up.
Tensor sums_by_class(const Extent& classes, const Extent& columns, const Extent& rows = 500) {
  const Axis c("c", classes), d("d", columns), m("m", rows);
  const Tensor x = input("x", f32, {rows, columns}), which = input("which", i32, {rows});
  return compute("y", {c, d}, sum(m, select(which(m) == Expr(c), x(m, d), 0.0F)));
}

Tensor histogram(const Extent& places, const Extent& count = 500) {
  const Axis c("c", places), m("m", count);
  const Tensor which = input("which", i32, {count});
  return compute("y", {c}, sum(m, cast(i32, which(m) == Expr(c))));
}

TEST(DeriveChosenPlaces, ClassesAreInsideOfWhatIsAdded) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 2);
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    EXPECT_EQ(derived(sums_by_class(10, 64), target),
              "emulsion schedule 1\ny.split(d, d, lane, " + lanes +
                  ")\ny.vectorize(lane)\ny.reorder(lane, d, c, m)\n");
    const std::string text = derived(sums_by_class(kSize, 61), target);
    EXPECT_TRUE(has(text, lanes + ", predicate)\ny.vectorize(lane)\ny.partition(d)\n")) << text;
    EXPECT_EQ(derived(histogram(1000), target),
              "emulsion schedule 1\ny.split(m, m, term, 4)\ny.unroll(term)\n"
              "y.reorder(c, term, m)\n");
  }
}

// They are in registers, and each is compared.
TEST(DeriveChosenPlaces, NotOfFewPlaces) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    EXPECT_FALSE(has(derived(sums_by_class(7, 64), target), "reorder(lane, d, c, m)"));
    EXPECT_FALSE(has(derived(sums_by_class(10, 1), target), "reorder(lane, d, c, m)"));
  }
}

bool is_in_memory(const Tensor& y, const Target& target) {
  return has(derived(y, target), ".reorder(c, term, m)\n");
}

// Of many terms for each place: one that comes again at once would wait for itself.
TEST(DeriveChosenPlaces, FourTermsOfAStepHaveTables) {
  const auto has_tables = [](const Tensor& y, const Target& target) {
    return has(derived(y, target), "y.rfactor(term, y_tables)\n");
  };
  for (const char* level : kLevels) {
    const Target target = target_of(level, 2);
    const std::string lanes = std::to_string(target.vector_lanes(i32));
    EXPECT_EQ(derived(histogram(256, 65536), target),
              "emulsion schedule 1\ny.split(m, m, term, 4)\ny.rfactor(term, y_tables)\n"
              "y.split(c, c, lane, " +
                  lanes +
                  ")\ny.vectorize(lane)\ny.reorder(lane, term, c)\ny.unroll(term)\n"
                  "y_tables.reorder_storage(c, term)\ny_tables.unroll(term)\n"
                  "y_tables.reorder(c, term, m)\n");
    const std::string any = derived(histogram(256, kSize), target);
    EXPECT_TRUE(has(any, "y.split(m, m, term, 4, guard)\ny.rfactor(term, y_tables)\n")) << any;
    EXPECT_TRUE(has(any, "y_tables.unroll(term)\ny_tables.partition(m)\n")) << any;
    EXPECT_TRUE(has_tables(histogram(200, 800), target));
    EXPECT_FALSE(has_tables(histogram(200, 799), target)) << "few terms";
    EXPECT_FALSE(has_tables(histogram(kSize, 1 << 20), target)) << "any number of places";
    const int64_t most = target.l1_bytes / 2 / 16;
    EXPECT_TRUE(has_tables(histogram(most, 1 << 20), target));
    EXPECT_FALSE(has_tables(histogram(most + 1, 1 << 20), target)) << "larger than the cache";
    const std::string three = derived(histogram(100, 3), target);
    EXPECT_TRUE(has(three, "y.reorder(c, m)\n")) << three;
  }
  // Of each row of another axis: one at a time.
  const Axis b("b", 8), c("c", 100), m("m", 4000);
  const Tensor which = input("which", i32, {8, 4000});
  const Tensor y = compute("y", {b, c}, sum(m, cast(i32, which(b, m) == Expr(c) + 0 * Expr(b))));
  EXPECT_FALSE(has_tables(y, target_of("x86-64-v3", 1)));
}

// A sum of x where it is of the class, and something else holds too.
Tensor chosen_sums(const Extent& classes, DType type, const Extent& rows) {
  const Axis c("c", classes), m("m", rows);
  const Tensor x = input("x", type, {rows}), which = input("which", i32, {rows}),
               size = input("size", u8, {rows});
  const Expr counts = size(m) < constant(u8, 2) && which(m) == Expr(c);
  return compute("y", {c}, sum(m, select(counts, x(m), constant(type, 0))));
}

// A vector of terms is compared with each place: three for each of its lanes are worth it, where
// registers hold their sums (derive_shared_walk.h).
TEST(DeriveChosenPlaces, OfElementsFromMorePlacesThanRegistersHoldOn) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    for (const DType type : {i32, f32, f64}) {
      const int64_t least =
          std::min<int64_t>(3 * target.vector_lanes(type), target.vector_registers() - 8) + 1;
      EXPECT_FALSE(is_in_memory(chosen_sums(least - 1, type, 500), target)) << level;
      EXPECT_TRUE(is_in_memory(chosen_sums(least, type, 500), target)) << level;
    }
    EXPECT_FALSE(is_in_memory(histogram(target.vector_registers() - 8), target));
    EXPECT_TRUE(is_in_memory(histogram(target.vector_registers() - 7), target));
  }
}

// Which share sums in registers, and not the places.
TEST(DeriveChosenPlaces, OfElementsFromManyPlacesOnWhereThreadsWouldShareThem) {
  constexpr int64_t kMany = int64_t{1} << 20;
  const auto from = [](int cores, int64_t rows) {
    int64_t least = 1;
    while (!is_in_memory(histogram(least, rows), target_of("x86-64-v3", cores))) ++least;
    return least;
  };
  EXPECT_EQ(from(4, 100), 9);
  EXPECT_EQ(from(4, kMany), 33);
  EXPECT_EQ(from(100, kMany), 128);
}

TEST(DeriveChosenPlaces, NotOfPlacesThatNoDataSayOrColumnsThatLieApart) {
  const Axis c("c", 50), d("d", 64), m("m", 500);
  const Tensor x = input("x", f32, {500, 64}), turned = input("t", f32, {64, 500});
  const Tensor which = input("which", i32, {500});
  const Target target = target_of("x86-64-v3", 1);
  for (const Expr& body :
       {select(Expr(m) / 10 == Expr(c), x(m, d), 0.0F), select(which(m) < Expr(c), x(m, d), 0.0F),
        select(which(m) == Expr(c), turned(d, m), 0.0F),
        select(which(m) == Expr(c), x(m, d), 1.0F)}) {
    const std::string text = derived(compute("y", {c, d}, sum(m, body)), target);
    EXPECT_FALSE(has(text, "reorder(lane, d, c, m)")) << text;
  }
}

// Which says where a row of another batch goes.
TEST(DeriveChosenPlaces, AroundThemIsWhatSaysWhichThereAre) {
  const Axis b("b", 64), c("c", 50), d("d", 64), m("m", 500), n("n", 50);
  const Tensor x = input("x", f32, {64, 500, 64}), which = input("which", i32, {64, 500});
  const Tensor y =
      compute("y", {b, c, d}, sum(m, select(which(b, m) == Expr(c), x(b, m, d), 0.0F)));
  const std::string text = derived(y, target_of("x86-64-v3", 2));
  EXPECT_TRUE(has(text, "y.reorder(lane, d, c, m, b)\ny.parallel(b)\n")) << text;
  // A choice by an axis that is chosen itself has that one around it.
  const Tensor next = input("next", i32, {500, 50});
  const Expr both = next(m, n) == Expr(c) && which(0, m) == Expr(n);
  const Tensor z = compute("z", {c, n, d}, sum(m, select(both, x(0, m, d), 0.0F)));
  EXPECT_TRUE(has(derived(z, target_of("x86-64-v3", 1)), "z.reorder(lane, d, c, m, n)\n"))
      << derived(z, target_of("x86-64-v3", 1));
}

TEST(DeriveChosenPlaces, WithWhatIsBehindThem) {
  const Tensor y = relu(sums_by_class(10, 64), "z");
  const std::string text = derived(y, target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y.reorder(lane, d, c, m)\n")) << text;
  EXPECT_FALSE(has(text, "y.compute_at")) << text;
}

TEST(DeriveChosenPlaces, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (int cores : {1, 4}) {
      const std::vector<int64_t> sizes = {0, 1, 7, 8, 17, 65};
      for (const Tensor& y :
           {sums_by_class(10, 19), sums_by_class(kSize, 16), sums_by_class(10, kSize),
            sums_by_class(kSize, kSize, kSize), histogram(kSize), histogram(200, kSize),
            histogram(37, 161), chosen_sums(40, f64, kSize), chosen_sums(kSize, f32, 70),
            relu(sums_by_class(10, kSize, kSize), "z")}) {
        EXPECT_TRUE(derives(Graph(y), target_of(level, cores), sizes));
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
