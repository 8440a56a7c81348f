// Programs that choose by place, or by data, what they compute.

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/peers/plain_choices.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

// Of colours that lie apart from one another.
SmallProgram mixed_planes_program(const Extent& count, const SizeValues& sizes) {
  const Axis c("c", 3), p("p", count);
  const Tensor x = input("x", f32, {3, count});
  const auto mix = [&](float r, float g, float b) {
    return r * x(0, p) + g * x(1, p) + b * x(2, p);
  };
  const Expr others = select(c == 1, mix(-0.125F, -0.25F, 0.375F), mix(0.5F, -0.375F, -0.125F));
  return {"mixed_planes_run_time",
          Graph(compute("y", {c, p}, select(c == 0, mix(0.25F, 0.5F, 0.25F), others))),
          [=](KernelValues& v) {
            plain_mixed_planes(count.evaluate(sizes), v.data<float>("x"), v.data<float>("y"));
          },
          sizes};
}

SmallProgram filters_program(const Extent& channels, const SizeValues& sizes) {
  const Axis c("c", channels), r("r", 4);
  const Tensor x = input("x", f32, {channels}), q = input("q", f32, {2, 5}),
               z = input("z", f32, {4, channels});
  const Tensor between = compute("between", {c}, q(0, 0) * x(c) + z(0, c));
  const Tensor y = compute("y", {c}, q(1, 0) * between(c) + z(2, c));
  const Expr second = q(0, 2) * x(c) - q(0, 4) * between(c);
  const Expr third = q(1, 1) * between(c) - q(1, 3) * y(c) + z(3, c);
  const Expr fourth = q(1, 2) * between(c) - q(1, 4) * y(c);
  const Expr first = q(0, 1) * x(c) - q(0, 3) * between(c) + z(1, c);
  const Expr rest = select(r == 1, second, select(r == 2, third, fourth));
  return {"filters_run_time", Graph({y, compute("next", {r, c}, select(r == 0, first, rest))}),
          [=](KernelValues& v) {
            plain_filters(channels.evaluate(sizes), v.data<float>("x"), v.data<float>("q"),
                          v.data<float>("z"), v.data<float>("y"), v.data<float>("next"));
          },
          sizes};
}

// The positions of a transformer, turned into its keys: pairs of neighbours, or of both halves.
SmallProgram rotated_program(const std::string& name, bool halves, const Extent& rows,
                             const Extent& pairs, const SizeValues& sizes) {
  constexpr int kHeads = 4;
  const Axis t("t", rows), h("h", kHeads), e("e", 2 * pairs);
  const Tensor x = input("x", f32, {rows, kHeads, 2 * pairs}), c = input("c", f32, {rows, pairs}),
               s = input("s", f32, {rows, pairs});
  const Expr half = extent_value(pairs), other = x(t, h, (e + half) % (2 * half));
  const Expr of_halves =
      x(t, h, e) * c(t, e % half) + select(e < half, -other, other) * s(t, e % half);
  const Expr a = x(t, h, e / 2 * 2), b = x(t, h, e / 2 * 2 + 1);
  const Expr cosine = c(t, e / 2), sine = s(t, e / 2);
  const Expr of_pairs = select(e % 2 == 0, a * cosine - b * sine, a * sine + b * cosine);
  return {name, Graph(compute("y", {t, h, e}, halves ? of_halves : of_pairs)),
          [=](KernelValues& v) {
            const auto plain = halves ? plain_rotated_halves : plain_rotated_pairs;
            plain(rows.evaluate(sizes), kHeads, pairs.evaluate(sizes), v.data<float>("x"),
                  v.data<float>("c"), v.data<float>("s"), v.data<float>("y"));
          },
          sizes};
}

SmallProgram chosen_sums_program() {
  constexpr int kClasses = 12, kCount = 20000;
  const Axis c("c", kClasses), m("m", kCount);
  const Tensor x = input("x", f64, {kCount}), which = input("which", i32, {kCount}),
               size = input("size", u8, {kCount});
  const Expr counts = size(m) < constant(u8, 200) && which(m) == Expr(c);
  SmallProgram program = {
      "chosen_sums", Graph(compute("y", {c}, sum(m, select(counts, x(m), 0.0)))),
      [](KernelValues& v) {
        plain_chosen_sums(kClasses, kCount, v.data<int32_t>("which"), v.data<double>("x"),
                          v.data<uint8_t>("size"), v.data<double>("y"));
      }};
  program.fill = [](KernelValues& v) {
    for (int i = 0; i < kCount; ++i) {
      v.data<int32_t>("which")[i] = i * 37 % (kClasses + 2) - 1;
      v.data<uint8_t>("size")[i] = static_cast<uint8_t>(i * 7919 % 251);
    }
  };
  return program;
}

SmallProgram confusion_program() {
  constexpr int kClasses = 10, kCount = 20000;
  const Axis p("p", kClasses), q("q", kClasses), m("m", kCount);
  const Tensor a = input("a", u8, {kCount}), b = input("b", u8, {kCount});
  const Expr both = cast(i32, a(m)) == Expr(p) && cast(i32, b(m)) == Expr(q);
  SmallProgram program = {"confusion", Graph(compute("y", {p, q}, sum(m, cast(i32, both)))),
                          [](KernelValues& v) {
                            plain_confusion(kClasses, kCount, v.data<uint8_t>("a"),
                                            v.data<uint8_t>("b"), v.data<int32_t>("y"));
                          }};
  program.fill = [](KernelValues& v) {
    for (int i = 0; i < kCount; ++i) {
      v.data<uint8_t>("a")[i] = static_cast<uint8_t>(i * 7919 % (kClasses + 1));
      v.data<uint8_t>("b")[i] = static_cast<uint8_t>((i * 31 + i / 7) % (kClasses + 1));
    }
  };
  return program;
}

}  // namespace

std::vector<SmallProgram> choice_programs() {
  constexpr int64_t kPixels = 64200, kChannels = 20001, kPositions = 128, kPairs = 32;
  const Extent count = Extent::size("P"), rows = Extent::size("T"), pairs = Extent::size("D");
  const SizeValues sizes = {{"T", kPositions}, {"D", kPairs}};
  return {mixed_planes_program(count, {{"P", kPixels}}),
          filters_program(count, {{"P", kChannels}}),
          rotated_program("rotated_pairs_run_time", false, rows, pairs, sizes),
          rotated_program("rotated_halves_run_time", true, rows, pairs, sizes),
          chosen_sums_program(),
          confusion_program()};
}

}  // namespace emulsion::benchmarks
