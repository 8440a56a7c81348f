// What is loaded and stored of vectors across rows is what it was, in small parts of rows, and
// nothing is loaded that is not in the same rows between what was loaded before.

#include "backends/halide/transpose_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/backends/halide/vector_terms.h"
#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

struct Rows {
  int lanes = 16, bits = 32, columns = 9;
  std::string name = "x";
  int first_stored = 0;  // vectors in front of what is stored

  Halide::Type type() const { return Halide::Int(bits, lanes); }
  // The first is row `row`.
  Halide::Expr places(const Halide::Expr& row, int column) const {
    return ramp(hi::simplify(row * columns + column), columns, lanes);
  }
  // None is behind the last, n - 1.
  Halide::Expr places_up_to_last(const Halide::Expr& row, int column) const {
    const Halide::Expr rows = hi::Min::make(ramp(row, 1, lanes), same(number("n") - 1, lanes));
    const Halide::Expr first = rows * same(columns, lanes);
    return column == 0 ? first : first + same(column, lanes);
  }
  Halide::Expr load(const Halide::Expr& places, const Halide::Expr& mask) const {
    return hi::Load::make(type(), name, places, {}, {}, mask, {});
  }
  Halide::Expr load(const Halide::Expr& places) const {
    return load(places, hi::const_true(lanes));
  }
  Stmt store(const Halide::Expr& value, int at) const {
    return hi::Store::make("y", value, ramp((first_stored + at) * lanes, 1, lanes), {},
                           hi::const_true(lanes), {});
  }
  // Each of some columns, one statement behind the other.
  template <typename Places>
  Stmt load_each(const std::vector<int>& some, const Places& places) const {
    std::vector<Stmt> all;
    for (size_t i = 0; i < some.size(); ++i) {
      all.push_back(store(load(places(some[i])), static_cast<int>(i)));
    }
    return hi::Block::make(all);
  }
  Stmt load_each(const std::vector<int>& some) const {
    return load_each(some, [&](int column) { return places(number("r"), column); });
  }
};

std::vector<int> columns_from(int first, int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

VectorValues values_of(const Stmt& statement) {
  VectorValues values;
  values.variables = {{"r", {3}}, {"n", {11}}};
  values.may_store_the_same_again = true;
  values.run(statement);
  return values;
}

// The lanes of the longest vector that is loaded or stored; none of what is not one behind another.
struct Accesses : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int most_loaded = 0, most_stored = 0;

  static int lanes_of(const Halide::Expr& index) {
    const auto* places = index.as<hi::Ramp>();
    const bool is_dense = places != nullptr && hi::is_const_one(places->stride);
    return is_dense ? places->lanes : INT32_MAX;
  }
  void visit(const hi::Load* op) override {
    most_loaded = std::max(most_loaded, lanes_of(op->index));
    hi::IRVisitor::visit(op);
  }
  void visit(const hi::Store* op) override {
    most_stored = std::max(most_stored, lanes_of(op->index));
    hi::IRVisitor::visit(op);
  }
};
Accesses accesses_of(const Stmt& statement) {
  Accesses all;
  statement.accept(&all);
  return all;
}

bool is_left(const Stmt& statement) { return hi::equal(transpose_rows(statement), statement); }

// The same is stored, of what lies in the rows between what was loaded.
void expect_parts(const Stmt& before, int in_part) {
  const Stmt after = transpose_rows(before);
  const VectorValues was = values_of(before), is = values_of(after);
  EXPECT_EQ(is.stored, was.stored) << after;
  EXPECT_EQ(is.loaded, was.loaded) << after;
  EXPECT_EQ(accesses_of(after).most_loaded, in_part) << after;
}

TEST(TransposeRows, LoadsAreOfPartsOfRows) {
  for (const int bits : {32, 64}) {
    for (const int lanes : {4, 8, 16}) {
      for (const int columns : {5, 6, 7, 8, 9, 12, 15, 16, 24}) {
        const Rows rows{lanes, bits, columns};
        expect_parts(rows.load_each(columns_from(0, columns)), 128 / bits);
        if (columns > 6) expect_parts(rows.load_each(columns_from(1, columns - 2)), 128 / bits);
      }
    }
  }
}

// As many elements apart as a call says, and whatever it says.
TEST(TransposeRows, RowsOfARunTimeLength) {
  const Rows rows{8};
  const Stmt before = rows.load_each(columns_from(1, 7), [&](int column) {
    return hi::Ramp::make(number("r") + column, number("n") * 3, 8);
  });
  expect_parts(before, 4);
  const Halide::Expr lane = ramp(0, 1, 8) * same(number("n") * 3, 8);
  expect_parts(rows.load_each(columns_from(1, 7),
                              [&](int column) { return lane + same(Halide::Expr(column), 8); }),
               4);
  EXPECT_TRUE(is_left(rows.load_each(columns_from(0, 4), [&](int column) {
    return hi::Ramp::make(number("r") + column, number("n"), 8);
  }))) << "few columns";
}

TEST(TransposeRows, LoadsOfSomeRows) {
  const Rows rows;
  const Halide::Expr some = ramp(0, 1, 16) < same(number("n"), 16);
  const auto load_each = [&](const Halide::Expr& mask) {
    std::vector<Stmt> all;
    for (int i = 0; i < 9; ++i) {
      all.push_back(rows.store(rows.load(rows.places(number("r"), i), mask), i));
    }
    return hi::Block::make(all);
  };
  expect_parts(load_each(some), 4);
  // What is loaded under one mask tells nothing of another.
  const Stmt low = rows.load_each({0, 1, 2, 3});
  const auto last = [&](const Halide::Expr& mask) {
    return rows.store(rows.load(rows.places(number("r"), 8), mask), 20);
  };
  EXPECT_TRUE(is_left(hi::Block::make(low, last(some))));
  const Halide::Expr data =
      hi::Load::make(Halide::UInt(1, 16), "m", ramp(0, 1, 16), {}, {}, hi::const_true(16), {});
  EXPECT_TRUE(is_left(load_each(data))) << "a mask that is data";
}

TEST(TransposeRows, RowsBehindTheLastAreTheLast) {
  for (const int lanes : {8, 16}) {
    const Rows rows{lanes};
    for (const Halide::Expr& row : {Halide::Expr(0), number("r"), number("r") + 7}) {
      expect_parts(rows.load_each(columns_from(0, 9),
                                  [&](int column) { return rows.places_up_to_last(row, column); }),
                   4);
    }
  }
}

// The columns of one row do not tell where another one ends.
TEST(TransposeRows, NothingIsLoadedOutsideOfTheRows) {
  Rows rows;
  const Stmt low = rows.load_each({0, 1, 2, 3, 4});
  rows.first_stored = 5;
  const Stmt high =
      rows.load_each({4, 5, 6, 7, 8}, [&](int column) { return rows.places(number("n"), column); });
  expect_parts(hi::Block::make(low, high), 4);
  // Some that are left out lie between.
  const Stmt few = rows.load_each({1, 3, 7});
  const VectorValues was = values_of(few), is = values_of(transpose_rows(few));
  EXPECT_EQ(is.stored, was.stored);
  for (const int64_t place : is.loaded) {
    EXPECT_TRUE(place % 9 >= 1 && place % 9 <= 7) << place;
  }
}

TEST(TransposeRows, NotOfOtherLoads) {
  const Rows rows;
  EXPECT_TRUE(is_left(rows.load_each(columns_from(0, 4)))) << "few columns";
  EXPECT_TRUE(is_left(rows.load_each({0}))) << "one";
  const Rows pixels{16, 32, 4}, shorts{16, 16}, few{3};
  EXPECT_TRUE(is_left(pixels.load_each(columns_from(0, 8)))) << "rows of four";
  EXPECT_TRUE(is_left(shorts.load_each(columns_from(0, 9)))) << "two bytes";
  EXPECT_TRUE(is_left(few.load_each(columns_from(0, 9)))) << "three lanes";
  std::vector<Stmt> anywhere;
  for (int i = 0; i < 9; ++i) {
    const Halide::Expr places =
        hi::Load::make(Halide::Int(32, 16), "at", ramp(0, 1, 16), {}, {}, hi::const_true(16), {});
    anywhere.push_back(rows.store(rows.load(places * same(9, 16) + same(i, 16)), i));
  }
  EXPECT_TRUE(is_left(hi::Block::make(anywhere)));
}

// The copies of an unrolled loop name the same row anew, for a statement or within its value.
TEST(TransposeRows, OfOneRowUnderSeveralNames) {
  const Rows rows;
  std::vector<Stmt> statements, values;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "t" + std::to_string(i);
    const Halide::Expr row = hi::Min::make(number("r"), number("n") - 8);
    const Halide::Expr load = rows.load(rows.places(number(name), i));
    statements.push_back(hi::LetStmt::make(name, row, rows.store(load, i)));
    values.push_back(rows.store(hi::Let::make(name, row, load), i));
  }
  expect_parts(hi::Block::make(statements), 4);
  EXPECT_EQ(accesses_of(transpose_rows(hi::Block::make(values))).most_loaded, 4);
}

// A name of what is loaded is left: what is stored in between may change it.
TEST(TransposeRows, NotOfRowsThatAreLoaded) {
  const Rows rows;
  std::vector<Stmt> named;
  for (int i = 0; i < 9; ++i) {
    const Halide::Expr row = hi::Load::make(Halide::Int(32), "at", 0, {}, {}, hi::const_true(), {});
    named.push_back(
        hi::LetStmt::make("t", row, rows.store(rows.load(rows.places(number("t"), i)), i)));
  }
  EXPECT_TRUE(is_left(hi::Block::make(named)));
}

// What may not run, or not for these rows, tells nothing.
TEST(TransposeRows, NotOfWhatAConditionLoads) {
  const Rows rows;
  const Stmt low = rows.load_each({0, 1, 2}), high = rows.load_each({3, 4, 5});
  const Halide::Expr is_some = number("n") > 3;
  EXPECT_TRUE(is_left(hi::Block::make(low, hi::IfThenElse::make(is_some, high))));
  EXPECT_TRUE(is_left(
      hi::Block::make(low, hi::For::make("n", 0, number("r"), hi::ForType::Serial,
                                         Halide::Partition::Auto, Halide::DeviceAPI::None, high))));
  EXPECT_TRUE(
      is_left(hi::Block::make({low, hi::AssertStmt::make(is_some, Halide::Expr(0)), high})));
  std::vector<Stmt> chosen, named;
  for (int i = 0; i < 9; ++i) {
    const Halide::Expr load = rows.load(rows.places(number("r"), i));
    chosen.push_back(
        rows.store(hi::Call::make(rows.type(), hi::Call::if_then_else, {is_some, load, same(0, 16)},
                                  hi::Call::PureIntrinsic),
                   i));
    named.push_back(hi::LetStmt::make("t", number("r") + i,
                                      rows.store(rows.load(rows.places(number("t"), i)), i)));
  }
  EXPECT_TRUE(is_left(hi::Block::make(chosen)));
  EXPECT_TRUE(is_left(hi::Block::make(low, hi::Block::make(chosen)))) << "nor for others";
  EXPECT_TRUE(is_left(hi::Block::make(named))) << "one name, other rows";
  EXPECT_TRUE(is_left(hi::Atomic::make("y", "", rows.load_each(columns_from(0, 9)))));
}

struct Stored {
  int lanes = 16, columns = 9, bits = 32;

  std::vector<Halide::Expr> vectors() const {
    std::vector<Halide::Expr> all;
    for (int i = 0; i < columns; ++i) {
      all.push_back(Halide::cast(Halide::Int(bits, lanes), ramp(100 * i, 1, lanes)));
    }
    return all;
  }
  Stmt store(const std::vector<Halide::Expr>& masks = {}, int step = 1) const {
    const int all = columns * lanes;
    const Halide::Expr mask =
        masks.empty() ? hi::const_true(all) : hi::Shuffle::make_interleave(masks);
    return hi::Store::make("y", hi::Shuffle::make_interleave(vectors()),
                           ramp(number("r") * all, step, all), {}, mask, {});
  }
  std::vector<Halide::Expr> masks(const Halide::Expr& mask) const {
    return std::vector<Halide::Expr>(static_cast<size_t>(columns), mask);
  }
};

TEST(TransposeRows, StoresAreOfPartsOfRows) {
  for (const int bits : {32, 64}) {
    for (const int lanes : {4, 8, 16}) {
      for (const int columns : {5, 8, 9, 15, 16, 24}) {
        const Stmt before = Stored{lanes, columns, bits}.store(), after = transpose_rows(before);
        EXPECT_EQ(values_of(after).stored, values_of(before).stored) << after;
        EXPECT_EQ(accesses_of(after).most_stored, 128 / bits);
      }
    }
  }
}

TEST(TransposeRows, StoresOfSomeRows) {
  const Stored of;
  const Halide::Expr end = number("n");
  for (const Halide::Expr& mask :
       {ramp(0, 1, 16) < same(end, 16), same(end < 12, 16),
        ramp(0, 1, 16) + same(5, 16) <= same(end % 4, 16),
        ramp(end, 1, 16) < same(20, 16) && ramp(0, 1, 16) < same(8, 16)}) {
    const Stmt before = of.store(of.masks(mask)), after = transpose_rows(before);
    EXPECT_EQ(values_of(after).stored, values_of(before).stored) << after;
    EXPECT_EQ(accesses_of(after).most_stored, 4) << mask;
  }
}

// Columns of rows as many elements apart as a call says, one statement behind the other.
struct StoredApart {
  int lanes = 16, bits = 32;
  std::vector<int> columns = columns_from(1, 9);

  Halide::Expr places(int column) const {
    return hi::Ramp::make(number("r") + column, number("n") * 3, lanes);
  }
  Halide::Expr load(const std::string& name, const Halide::Expr& from) const {
    return hi::Load::make(Halide::Int(bits, lanes), name, from, {}, {}, hi::const_true(lanes), {});
  }
  template <typename Value, typename Mask>
  Stmt store(const Value& value, const Mask& mask) const {
    std::vector<Stmt> all;
    for (const int column : columns) {
      all.push_back(hi::Store::make("y", value(column), places(column), {}, mask(column), {}));
    }
    return hi::Block::make(all);
  }
  Stmt store(const Halide::Expr& mask) const {
    return store([&](int column) { return load("v", ramp(column * lanes, 1, lanes)); },
                 [&](int) { return mask; });
  }
  Stmt store() const { return store(hi::const_true(lanes)); }
};

TEST(TransposeRows, StoresOfColumnsOneAfterAnotherAreOfPartsOfRows) {
  const auto expect_stored_parts = [](const Stmt& before, int in_part) {
    const Stmt after = transpose_rows(before);
    EXPECT_EQ(values_of(after).stored, values_of(before).stored) << after;
    EXPECT_EQ(accesses_of(after).most_stored, in_part) << after;
  };
  for (const int bits : {32, 64}) {
    for (const int lanes : {4, 8, 16}) {
      for (const int columns : {5, 8, 9, 15, 24}) {
        expect_stored_parts(StoredApart{lanes, bits, columns_from(2, columns)}.store(), 128 / bits);
      }
    }
  }
  const StoredApart of;
  expect_stored_parts(of.store(ramp(0, 1, 16) < same(number("n"), 16)), 4);
  // Two of them, one behind the other.
  const StoredApart more{16, 32, columns_from(20, 5)};
  expect_stored_parts(hi::Block::make(of.store(), more.store()), 4);
}

TEST(TransposeRows, NotStoresOfOtherColumns) {
  EXPECT_TRUE(is_left(StoredApart{16, 32, {0, 1, 2, 4, 5}}.store())) << "one is missing";
  EXPECT_TRUE(is_left(StoredApart{16, 32, {4, 3, 2, 1, 0}}.store())) << "the last one first";
  EXPECT_TRUE(is_left(StoredApart{16, 32, columns_from(0, 4)}.store())) << "four";
  EXPECT_TRUE(is_left(StoredApart{16, 16}.store())) << "two bytes";
  EXPECT_TRUE(is_left(hi::Atomic::make("y", "", StoredApart{}.store())));
  const StoredApart of;
  const auto always = [](int) { return hi::const_true(16); };
  const Stmt reads = transpose_rows(
      of.store([&](int column) { return of.load("y", of.places(column - 1)); }, always));
  EXPECT_GT(accesses_of(reads).most_stored, 16) << "each reads what the one before stores";
  const auto zero = [](int) { return hi::make_zero(Halide::Int(32, 16)); };
  EXPECT_TRUE(is_left(of.store(zero, [&](int column) {
    return ramp(column, 1, 16) < same(number("n"), 16);
  }))) << "other rows in each column";
}

TEST(TransposeRows, NotOtherStores) {
  EXPECT_TRUE(is_left(Stored{16, 4}.store())) << "of four";
  EXPECT_TRUE(is_left(Stored{16, 9, 16}.store())) << "two bytes";
  EXPECT_TRUE(is_left(Stored{}.store({}, 2))) << "apart";
  EXPECT_TRUE(is_left(hi::Atomic::make("y", "", Stored{}.store())));
  const Stored of;
  std::vector<Halide::Expr> masks = of.masks(ramp(0, 1, 16) < same(number("n"), 16));
  masks[3] = ramp(1, 1, 16) < same(number("n"), 16);
  EXPECT_TRUE(is_left(of.store(masks))) << "a column of its own mask";
  const Halide::Expr loaded =
      hi::Load::make(Halide::UInt(1, 16), "m", ramp(0, 1, 16), {}, {}, hi::const_true(16), {});
  EXPECT_TRUE(is_left(of.store(of.masks(loaded)))) << "a mask that is data";
}

}  // namespace
}  // namespace emulsion
