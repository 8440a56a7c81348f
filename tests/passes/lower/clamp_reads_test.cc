// Reads of stages whose regions leave their domains: which are clamped, and that what is read is
// what is computed.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis io("io"), ii("ii"), iio("iio"), iii("iii");

// y[i] = p[index of i], p = x * 2, over 8 in tiles of 4, p in the tiles of y.
Schedule read_at(const std::function<Expr(const Expr&)>& index) {
  const Axis i("i", 8), j("j", 8);
  const Tensor p = compute("p", {j}, input("x", f32, {8})(j) * 2.0F);
  Schedule schedule(compute("y", {i}, p(index(i))));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io);
  return schedule;
}

// What p computes, and whether its values are right.
std::string text_of(const Schedule& schedule) {
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  const size_t at = text.find("p[j] = ");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(ClampReads, NotInsideTheDomain) {
  const std::string same = text_of(read_at([](const Expr& i) { return i; }));
  EXPECT_EQ(same.find("p[j] = x[j] * 2f"), 0U) << same;
  const std::string reversed = text_of(read_at([](const Expr& i) { return 7 - i; }));
  EXPECT_EQ(reversed.find("p[j] = x[j] * 2f"), 0U) << reversed;
}

TEST(ClampReads, AReaderInItsDomainKeepsTheClampThatItHas) {
  const Schedule schedule = read_at([](const Expr& i) { return min(i + 1, 7); });
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("y[i] = p[min(i + 1, 7)]"), std::string::npos) << text;
}

TEST(ClampReads, OneBeforeTheDomain) {
  const std::string text = text_of(read_at([](const Expr& i) { return max(i - 1, 0); }));
  EXPECT_NE(text.find("max("), std::string::npos) << text;
}

TEST(ClampReads, OneBehindTheDomain) {
  const std::string text = text_of(read_at([](const Expr& i) { return min(i + 1, 7); }));
  EXPECT_NE(text.find("min("), std::string::npos) << text;
}

// A row of j and k as one: both places of what is read are of one number, or they are no row.
TEST(ClampReads, AQuotientAndItsRemainderTogether) {
  const Axis j("j", Extent::size("R")), k("k", 3), rows("rows");
  const Tensor x = input("x", f32, {Extent::size("R"), 3}), w = input("w", f32, {3});
  const Tensor p = compute("p", {j, k}, x(j, k) * w(k));
  Schedule schedule(compute("y", {j, k}, p(j, k) + 1.0F));
  schedule["y"].fuse(j, k, rows).split(rows, io, ii, 16, Tail::predicate);
  schedule["p"].fuse(j, k, rows).compute_at("y", io);
  for (const int64_t size : {0, 1, 5, 6, 11}) {
    EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"R", size}})) << size;
  }
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("x[min(rows, R * 3 - 1) / 3, min(rows, R * 3 - 1) % 3]"), std::string::npos)
      << text;
  EXPECT_NE(text.find("w[rows % 3]"), std::string::npos) << "by itself it needs none:\n" << text;
}

// y[i] = q[2 - i], q[j] = p[clamped j], over 3 in tiles of 4 inside tiles of 8: the second tile is
// wholly beyond the domain, where a clamp alone would lead out of what is computed of p.
Schedule beyond(bool reversed) {
  const Axis i("i", 3), j("j", 3), k("k", 3);
  const Tensor p = compute("p", {k}, input("x", f32, {3})(k) * 2.0F);
  const Expr near = reversed ? max(Expr(j) - 1, 0) : min(Expr(j) + 1, 2);
  const Tensor q = compute("q", {j}, p(near) + 1.0F);
  Schedule schedule(compute("y", {i}, q(reversed ? 2 - Expr(i) : Expr(i))));
  schedule["y"].split(i, io, ii, 8).split(ii, iio, iii, 4);
  schedule["q"].compute_at("y", iio);
  schedule["p"].compute_at("y", iio);
  return schedule;
}

TEST(ClampReads, AClampStaysInARegionWhollyBehindTheDomain) {
  const Schedule schedule = beyond(false);
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
}

TEST(ClampReads, AClampStaysInARegionWhollyBeforeTheDomain) {
  const Schedule schedule = beyond(true);
  EXPECT_TRUE(lowers(schedule.graph(), schedule));
}

}  // namespace
}  // namespace emulsion
