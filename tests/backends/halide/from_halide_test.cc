// Three programs in Halide's C++ and in ours, as dsl/from_halide.md sets them side by side: each
// pair gives the same bytes, and every line of the page stands here.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "Halide.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/emulsion.h"
#include "passes/lower/lower.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

constexpr int H = 40, W = 64, M = 24, N = 64, K = 32;

template <typename T>
std::vector<T> values_of(const Halide::Buffer<T>& buffer) {
  return std::vector<T>(buffer.begin(), buffer.end());
}

// The values of the one result.
template <typename T>
std::vector<T> run(const Schedule& schedule, const TensorValues& arguments) {
  const LoopNest nest = lower(schedule.graph(), schedule);
  return run_by_jit(nest, arguments, 1).at(schedule.graph().outputs()[0]->name).to_vector<T>();
}

namespace halide {

using Halide::Func;
using Halide::RDom;
using Halide::Var;

std::vector<uint16_t> blur(std::vector<uint16_t> picture) {
  Halide::Buffer<uint16_t> in(picture.data(), W + 2, H + 2);
  Var x("x"), y("y"), yo("yo"), yi("yi");
  Func bx("bx"), by("by");
  bx(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
  by(x, y) = (bx(x, y) + bx(x, y + 1) + bx(x, y + 2)) / 3;
  by.split(y, yo, yi, 8).vectorize(x, 16).parallel(yo);
  bx.store_at(by, yo).compute_at(by, yi).vectorize(x, 16);
  return values_of<uint16_t>(by.realize({W, H}));
}

std::vector<uint8_t> unsharp(std::vector<uint8_t> picture) {
  Halide::Buffer<uint8_t> photo(picture.data(), W, H, 3);
  Var x("x"), y("y"), c("c"), yo("yo"), yi("yi");
  Func border("border"), grey("grey"), blur_y("blur_y"), blur("blur"), sharper("sharper");
  auto wide = [](const Halide::Expr& e) { return Halide::cast<int32_t>(e); };
  auto byte = [](const Halide::Expr& e) { return Halide::cast<uint8_t>(e); };
  border = Halide::BoundaryConditions::repeat_edge(photo);
  grey(x, y) = wide(border(x, y, 0)) * 77 + wide(border(x, y, 1)) * 179;
  blur_y(x, y) = grey(x, y - 1) + grey(x, y) * 2 + grey(x, y + 1);
  blur(x, y) = (blur_y(x - 1, y) + blur_y(x, y) * 2 + blur_y(x + 1, y)) / 16;
  sharper(x, y, c) = byte(clamp(wide(photo(x, y, c)) + (grey(x, y) - blur(x, y)) / 256, 0, 255));
  sharper.bound(c, 0, 3).split(y, yo, yi, 8).reorder(x, c, yi, yo).vectorize(x, 16).unroll(c);
  sharper.parallel(yo);
  grey.compute_at(sharper, yo).vectorize(x, 16);
  blur_y.compute_at(sharper, yo).vectorize(x, 16);
  blur.compute_at(sharper, yi).vectorize(x, 16);
  return values_of<uint8_t>(sharper.realize({W, H, 3}));
}

std::vector<float> matmul(std::vector<float> rows, std::vector<float> columns) {
  Halide::Buffer<float> x(rows.data(), K, M), w(columns.data(), N, K);
  Var m("m"), n("n"), mo("mo"), no("no"), mi("mi"), ni("ni");
  RDom k(0, K, "k");
  Func sums("sums"), y("y");
  sums(n, m) += x(k, m) * w(n, k);
  y(n, m) = sums(n, m);
  y.tile(n, m, no, mo, ni, mi, 16, 4).reorder(ni, mi, mo, no).vectorize(ni).unroll(mi);
  y.parallel(no);
  sums.compute_at(y, mo).store_in(Halide::MemoryType::Register);
  sums.vectorize(n).unroll(m);
  sums.update().reorder(n, m, k).vectorize(n).unroll(m);
  return values_of<float>(y.realize({N, M}));
}

}  // namespace halide

Schedule blur() {
  Tensor in = input("in", u16, {H + 2, W + 2});
  Axis halo("halo", H + 2), y("y", H), x("x", W), yo("yo"), yi("yi");
  Func bx("bx"), by("by");
  bx(halo, x) = (in(halo, x) + in(halo, x + 1) + in(halo, x + 2)) / 3;
  by(y, x) = (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3;
  Schedule s(by);
  s[by].split(y, yo, yi, 8).vectorize(x, 16).parallel(yo);
  s[bx].store_at(by, yo).compute_at(by, yi).vectorize(x, 16);
  return s;
}

Schedule unsharp() {
  Tensor photo = input("photo", u8, {H, W, 3});
  Axis v("v", H + 2), u("u", W + 2), y("y", H), x("x", W), c("c", 3), yo("yo"), yi("yi");
  Func border("border"), grey("grey"), blur_y("blur_y"), blur("blur"), sharper("sharper");
  auto wide = [](const Expr& e) { return cast(i32, e); };
  auto byte = [](const Expr& e) { return cast(u8, e); };
  border(v, u, c) = photo(clamp(v - 1, 0, H - 1), clamp(u - 1, 0, W - 1), c);
  grey(v, u) = wide(border(v, u, 0)) * 77 + wide(border(v, u, 1)) * 179;
  blur_y(y, u) = grey(y, u) + grey(y + 1, u) * 2 + grey(y + 2, u);
  blur(y, x) = (blur_y(y, x) + blur_y(y, x + 1) * 2 + blur_y(y, x + 2)) / 16;
  Expr edges = (grey(y + 1, x + 1) - blur(y, x)) / 256;
  sharper(y, x, c) = byte(clamp(wide(photo(y, x, c)) + edges, 0, 255));
  Schedule s(sharper);
  s[sharper].split(y, yo, yi, 8).reorder({x, c, yi, yo}).vectorize(x, 16).unroll(c).parallel(yo);
  s[border].compute_inline();
  s[grey].compute_at(sharper, yo).vectorize(u, 16);
  s[blur_y].compute_at(sharper, yo).vectorize(u, 16);
  s[blur].compute_at(sharper, yi).vectorize(x, 16);
  return s;
}

Schedule matmul() {
  Tensor x = input("x", f32, {M, K}), w = weight("w", f32, {K, N});
  Axis m("m", M), n("n", N), k("k", K), mo("mo"), no("no"), mi("mi"), ni("ni");
  Func y("y");
  y(m, n) = sum(k, x(m, k) * w(k, n));
  Schedule s(y);
  s[y].cache_write("sums");
  s[y].tile(m, n, mo, no, mi, ni, 4, 16).reorder({ni, mi, mo, no}).vectorize(ni).unroll(mi);
  s[y].parallel(no);
  s["sums"].compute_at(y, mo).store_in(Memory::registers);
  s["sums"].reorder({n, m, k}).vectorize(n).unroll(m);
  return s;
}

TEST(FromHalide, Blur) {
  const TensorValue in = random_integers(u16, {H + 2, W + 2}, 1, 0, 4095);
  EXPECT_EQ(run<uint16_t>(blur(), {{"in", in}}), halide::blur(in.to_vector<uint16_t>()));
}

TEST(FromHalide, UnsharpMask) {
  const TensorValue photo = random_integers(u8, {H, W, 3}, 1, 0, 255);
  // Halide's array has the colours outermost.
  std::vector<uint8_t> planes(size_t{3} * H * W), expected(planes.size());
  const std::vector<uint8_t> pixels = photo.to_vector<uint8_t>();
  for (size_t i = 0; i < planes.size(); ++i) planes[i % 3 * H * W + i / 3] = pixels[i];
  const std::vector<uint8_t> sharper = halide::unsharp(planes);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = sharper[i % 3 * H * W + i / 3];
  EXPECT_EQ(run<uint8_t>(unsharp(), {{"photo", photo}}), expected);
  EXPECT_NE(expected, pixels);
}

TEST(FromHalide, MatrixProduct) {
  const TensorValue x = random_integers(f32, {M, K}, 1, -3, 3);
  const TensorValue w = random_integers(f32, {K, N}, 2, -3, 3);
  EXPECT_EQ(run<float>(matmul(), {{"x", x}, {"w", w}}),
            halide::matmul(x.to_vector<float>(), w.to_vector<float>()));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Each line of code in the tables of the page, which are `code` cells, is one of this file.
TEST(FromHalide, ThePageIsWhatIsTested) {
  const std::string page = text_of("dsl/from_halide.md");
  const std::string source = text_of("tests/backends/halide/from_halide_test.cc");
  const std::regex cell("\\| `([^`]+)` ");
  int lines = 0;
  for (std::sregex_iterator found(page.begin(), page.end(), cell), end; found != end; ++found) {
    ++lines;
    EXPECT_NE(source.find((*found)[1].str()), std::string::npos) << (*found)[1].str();
  }
  EXPECT_GE(lines, 50);
}

}  // namespace
}  // namespace emulsion
