// Elementwise operations and those that only move data.

#include <functional>

#include "benchmarks/peers/plain_pointwise.h"
#include "benchmarks/small_programs.h"
#include "dsl/operators.h"

namespace emulsion::benchmarks {
namespace {

constexpr int kCount = kRows * kColumns;

Tensor matrix(const std::string& name, DType dtype = f32) {
  return input(name, dtype, {kRows, kColumns});
}

SmallProgram relu_program() {
  return {"relu", Graph(relu(matrix("x"), "y")),
          [](KernelValues& v) { plain_relu(kCount, v.data<float>("x"), v.data<float>("y")); }};
}

// Feature maps of a late layer: rows that are shorter than a vector, one after another.
SmallProgram relu_of_maps_program() {
  constexpr int kMaps = 4096, kSide = 7;
  return {"relu_7x7", Graph(relu(input("x", f32, {kMaps, kSide, kSide}), "y")),
          [](KernelValues& v) {
            plain_relu(kMaps * kSide * kSide, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram gelu_of_tens_program() {
  constexpr int kLines = 20000, kTen = 10;
  return {
      "gelu_of_tens",
      Graph(gelu(input("x", f32, {kLines, kTen}), Gelu::tanh, "y")),
      [](KernelValues& v) { plain_gelu(kLines * kTen, v.data<float>("x"), v.data<float>("y")); },
      {},
      kTolerance};
}

SmallProgram gelu_program() {
  return {"gelu",
          Graph(gelu(matrix("x"), Gelu::tanh, "y")),
          [](KernelValues& v) { plain_gelu(kCount, v.data<float>("x"), v.data<float>("y")); },
          {},
          kTolerance};
}

SmallProgram silu_program() {
  const Tensor x = matrix("x"), z = matrix("z");
  return {"silu",
          Graph(mul(x * sigmoid(x), z, "y")),
          [](KernelValues& v) {
            plain_silu(kCount, v.data<float>("x"), v.data<float>("z"), v.data<float>("y"));
          },
          {},
          kTolerance};
}

SmallProgram sums_program() {
  const Tensor a = matrix("a"), b = matrix("b"), c = matrix("c"), d = matrix("d");
  return {"sums", Graph(relu(a + b + c - d, "y")), [](KernelValues& v) {
            plain_sums(kCount, v.data<float>("a"), v.data<float>("b"), v.data<float>("c"),
                       v.data<float>("d"), v.data<float>("y"));
          }};
}

constexpr int kPixels = 20000;  // of four bytes

SmallProgram inverse_program() {
  const Tensor x = input("x", u8, {kPixels, 4});
  return {"inverse_u8", Graph(sub(255, x, "y")), [](KernelValues& v) {
            plain_inverse(4 * kPixels, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          }};
}

// `pixels` may be a run-time size, here and below.
SmallProgram blend_program(const std::string& name, const Extent& pixels, const SizeValues& sizes) {
  const Axis p("p", pixels), c("c", 4);
  const Tensor x = input("x", u8, {pixels, 4}), z = input("z", u8, {pixels, 4});
  const auto wide = [](const Expr& value) { return cast(u16, value); };
  const Expr part = wide(x(p, 3));
  const Expr value = wide(x(p, c)) * part + wide(z(p, c)) * (255 - part) + 128;
  return {name, Graph(compute("y", {p, c}, cast(u8, value / wide(256)))),
          [=](KernelValues& v) {
            plain_blend(pixels.evaluate(sizes), v.data<uint8_t>("x"), v.data<uint8_t>("z"),
                        v.data<uint8_t>("y"));
          },
          sizes};
}

SmallProgram blend_floats_program() {
  const Axis p("p", kPixels), c("c", 4);
  const Tensor x = input("x", f32, {kPixels, 4}), z = input("z", f32, {kPixels, 4});
  const Expr part = x(p, 3);
  return {"blend_f32", Graph(compute("y", {p, c}, x(p, c) * part + z(p, c) * (1 - part))),
          [](KernelValues& v) {
            plain_blend(kPixels, v.data<float>("x"), v.data<float>("z"), v.data<float>("y"));
          }};
}

// What a network for pictures does first.
template <typename T>
SmallProgram scale_program(const std::string& name, const Extent& pixels, const SizeValues& sizes) {
  const Tensor x = input("x", dtype_of<T>(), {pixels, 3});
  const Tensor scale = input("scale", f32, {3}), shift = input("shift", f32, {3});
  return {name, Graph(add(cast(x, f32) * scale, shift, "y")),
          [=](KernelValues& v) {
            plain_scale_colours(pixels.evaluate(sizes), v.data<T>("x"), v.data<float>("scale"),
                                v.data<float>("shift"), v.data<float>("y"));
          },
          sizes};
}

SmallProgram pixels_program() {
  return {"pixels_u8_f32",
          Graph(sub(cast(matrix("x", u8), f32) / 255, 0.5F, "y")),
          [](KernelValues& v) { plain_pixels(kCount, v.data<uint8_t>("x"), v.data<float>("y")); },
          {},
          kTolerance};
}

SmallProgram integers_program() {
  const Tensor a = matrix("a", i32), b = matrix("b", i32);
  return {"integers_i32", Graph(max(a * 3 - b, 7, "y")), [](KernelValues& v) {
            plain_integers(kCount, v.data<int32_t>("a"), v.data<int32_t>("b"),
                           v.data<int32_t>("y"));
          }};
}

SmallProgram choice_program() {
  const Tensor a = matrix("a"), b = matrix("b");
  return {"choice", Graph(where(less(a, b), a, b * b, "y")), [](KernelValues& v) {
            plain_choice(kCount, v.data<float>("a"), v.data<float>("b"), v.data<float>("y"));
          }};
}

SmallProgram batch_norm_program() {
  constexpr int kChannels = 64, kPixels = kCount / kChannels;
  const Tensor x = input("x", f32, {kPixels, kChannels});
  const Tensor mean = weight("mean", f32, {kChannels});
  const Tensor variance = weight("variance", f32, {kChannels});
  const Tensor gamma = weight("gamma", f32, {kChannels});
  const Tensor beta = weight("beta", f32, {kChannels});
  SmallProgram program = {
      "batch_norm", Graph(batch_norm(x, mean, variance, gamma, beta, 1e-5, -1, "y")),
      [](KernelValues& v) {
        plain_batch_norm(kPixels, kChannels, v.data<float>("x"), v.data<float>("mean"),
                         v.data<float>("variance"), v.data<float>("gamma"), v.data<float>("beta"),
                         v.data<float>("y"));
      }};
  program.tolerance = kTolerance;
  program.fill = [](KernelValues& v) {
    v.by_name["variance"] = random_integers(f32, {kChannels}, 1, 1, 4);
  };
  return program;
}

SmallProgram transpose_program() {
  return {"transpose", Graph(transpose(matrix("x"), {1, 0}, "y")), [](KernelValues& v) {
            plain_transpose(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram heads_program() {
  constexpr int kSteps = 512, kHeads = 8, kDepth = 64;
  const Tensor x = input("x", f32, {kSteps, kHeads, kDepth});
  return {"heads", Graph(transpose(x, {1, 0, 2}, "y")), [](KernelValues& v) {
            plain_heads(kSteps, kHeads, kDepth, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram interleave_program() {
  const Tensor x = input("x", u8, {3, kRows, kColumns});
  return {"interleave_u8", Graph(transpose(x, {1, 2, 0}, "y")), [](KernelValues& v) {
            plain_interleave(3, kCount, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          }};
}

SmallProgram concat_program() {
  const Tensor a = input("a", f32, {kRows, 700}), b = input("b", f32, {kRows, 300});
  return {"concat", Graph(concat({a, b}, 1, "y")), [](KernelValues& v) {
            plain_concat(kRows, 700, 300, v.data<float>("a"), v.data<float>("b"),
                         v.data<float>("y"));
          }};
}

// Pictures of bytes, side by side and with a border around. Their extents are run-time sizes.
constexpr int kBytesOfRow = 90;

SmallProgram joined_bytes_program() {
  const Shape shape = {Extent::size("R"), Extent::size("C")};
  return {"joined_bytes_run_time",
          Graph(concat({input("a", u8, shape), input("b", u8, shape)}, 1, "y")),
          [](KernelValues& v) {
            plain_concat(kRows, kBytesOfRow, kBytesOfRow, v.data<uint8_t>("a"),
                         v.data<uint8_t>("b"), v.data<uint8_t>("y"));
          },
          {{"R", kRows}, {"C", kBytesOfRow}}};
}

SmallProgram padded_bytes_program() {
  const Tensor x = input("x", u8, {Extent::size("R"), Extent::size("C")});
  return {"padded_bytes_run_time",
          Graph(pad(x, {3, 3}, {3, 3}, 0, "y")),
          [](KernelValues& v) {
            plain_pad(kRows, kBytesOfRow, 3, v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          {{"R", kRows}, {"C", kBytesOfRow}}};
}

SmallProgram wavelet_program() {
  constexpr int kHalf = kColumns / 2;
  const Axis i("i", kRows), j("j", kHalf);
  const Tensor x = matrix("x");
  const Expr first = x(i, 2 * Expr(j)), second = x(i, 2 * Expr(j) + 1);
  const Tensor means = compute("means", {i, j}, (first + second) * 0.5F);
  const Tensor details = compute("details", {i, j}, (first - second) * 0.5F);
  return {"wavelet", Graph(concat({means, details}, 1, "y")), [](KernelValues& v) {
            plain_wavelet(kRows, kHalf, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram complex_program(const std::string& name, const Extent& count,
                             const SizeValues& sizes) {
  const Axis p("p", count), c("c", 2);
  const Tensor x = input("x", f32, {count, 2}), z = input("z", f32, {count, 2});
  const Expr real = x(p, 0) * z(p, 0) - x(p, 1) * z(p, 1);
  const Expr imaginary = x(p, 0) * z(p, 1) + x(p, 1) * z(p, 0);
  return {name, Graph(compute("y", {p, c}, select(c == 0, real, imaginary))),
          [=](KernelValues& v) {
            plain_complex(count.evaluate(sizes), v.data<float>("x"), v.data<float>("z"),
                          v.data<float>("y"));
          },
          sizes};
}

// Products of quaternions, each part of which is another expression.
SmallProgram quaternions_program(const std::string& name, const Extent& count,
                                 const SizeValues& sizes) {
  const Axis p("p", count), c("c", 4);
  const Tensor x = input("x", f32, {count, 4}), z = input("z", f32, {count, 4});
  const auto times = [&](int i, int j) { return x(p, i) * z(p, j); };
  const Expr real = times(0, 0) - times(1, 1) - times(2, 2) - times(3, 3);
  const Expr first = times(0, 1) + times(1, 0) + times(2, 3) - times(3, 2);
  const Expr second = times(0, 2) - times(1, 3) + times(2, 0) + times(3, 1);
  const Expr third = times(0, 3) + times(1, 2) - times(2, 1) + times(3, 0);
  const Expr other = select(c == 1, first, select(c == 2, second, third));
  return {name, Graph(compute("y", {p, c}, select(c == 0, real, other))),
          [=](KernelValues& v) {
            plain_quaternions(count.evaluate(sizes), v.data<float>("x"), v.data<float>("z"),
                              v.data<float>("y"));
          },
          sizes};
}

// Two results that read the same.
SmallProgram complex_planes_program() {
  constexpr int64_t kNumbers = 10000;
  const Axis i("i", kNumbers);
  const auto read = [&](const char* name) { return input(name, f32, {kNumbers})(i); };
  const Expr a = read("a"), b = read("b"), c = read("c"), d = read("d");
  return {"complex_planes",
          Graph({compute("real", {i}, a * c - b * d), compute("imaginary", {i}, a * d + b * c)}),
          [](KernelValues& v) {
            plain_complex_planes(kNumbers, v.data<float>("a"), v.data<float>("b"),
                                 v.data<float>("c"), v.data<float>("d"), v.data<float>("real"),
                                 v.data<float>("imaginary"));
          }};
}

// Three that read the same pixels.
SmallProgram luma_chroma_program(const std::string& name, const Extent& rows, const Extent& columns,
                                 const SizeValues& sizes) {
  const Tensor x = input("x", f32, {rows, columns, 3});
  const Axis i("i", rows), j("j", columns);
  const auto plane = [&](const char* plane_name, float r, float g, float b) {
    return compute(plane_name, {i, j}, r * x(i, j, 0) + g * x(i, j, 1) + b * x(i, j, 2));
  };
  const Graph graph({plane("y", 0.25F, 0.5F, 0.25F), plane("u", -0.125F, -0.25F, 0.375F),
                     plane("v", 0.5F, -0.375F, -0.125F)});
  return {name, graph,
          [=](KernelValues& v) {
            plain_luma_chroma(rows.evaluate(sizes) * columns.evaluate(sizes), v.data<float>("x"),
                              v.data<float>("y"), v.data<float>("u"), v.data<float>("v"));
          },
          sizes};
}

// Whole numbers, as video has them: a shift to the right is a quotient that rounds down.
Expr of_colours(const std::function<Expr(int)>& colour, int r, int g, int b, int added) {
  const auto wide = [&](int c) { return cast(i32, colour(c)); };
  const Expr sum = r * wide(0) + g * wide(1) + b * wide(2) + 128;
  return cast(u8, clamp(sum / 256 + added, 0, 255));
}

SmallProgram yuv_planes_program(const std::string& name, const Extent& rows, const Extent& columns,
                                const SizeValues& sizes) {
  const Tensor x = input("x", u8, {rows, columns, 3});
  const Axis i("i", rows), j("j", columns);
  const auto colour = [&](int c) { return x(i, j, c); };
  return {name,
          Graph({compute("y", {i, j}, of_colours(colour, 66, 129, 25, 16)),
                 compute("u", {i, j}, of_colours(colour, -38, -74, 112, 128)),
                 compute("v", {i, j}, of_colours(colour, 112, -94, -18, 128))}),
          [=](KernelValues& v) {
            plain_yuv_planes(rows.evaluate(sizes) * columns.evaluate(sizes), v.data<uint8_t>("x"),
                             v.data<uint8_t>("y"), v.data<uint8_t>("u"), v.data<uint8_t>("v"));
          },
          sizes};
}

SmallProgram yuv_pixels_program(const Extent& pixels, const SizeValues& sizes) {
  const Tensor x = input("x", u8, {pixels, 3});
  const Axis p("p", pixels), c("c", 3);
  const auto colour = [&](int n) { return x(p, n); };
  const Expr chroma = select(c == 1, of_colours(colour, -38, -74, 112, 128),
                             of_colours(colour, 112, -94, -18, 128));
  return {"yuv_pixels_run_time",
          Graph(compute("y", {p, c}, select(c == 0, of_colours(colour, 66, 129, 25, 16), chroma))),
          [=](KernelValues& v) {
            plain_yuv_pixels(pixels.evaluate(sizes), v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          sizes};
}

SmallProgram grey_program(const Extent& pixels, const SizeValues& sizes) {
  const Tensor x = input("x", u8, {pixels, 3});
  const Axis p("p", pixels);
  const auto colour = [&](int n) { return x(p, n); };
  return {"grey_run_time", Graph(compute("y", {p}, of_colours(colour, 77, 150, 29, 0))),
          [=](KernelValues& v) {
            plain_grey(pixels.evaluate(sizes), v.data<uint8_t>("x"), v.data<uint8_t>("y"));
          },
          sizes};
}

// Small matrices, whose sizes of 12 and more stand on the diagonal.
template <typename T>
void fill_diagonals(int64_t count, int side, T* matrices) {
  constexpr int kLarge = 12;
  for (int64_t n = 0; n < count; ++n) {
    T* matrix = matrices + n * side * side;
    for (int i = 0; i < side; ++i) {
      matrix[i * side + i] += kLarge;
      for (int j = 0; j < i; ++j) matrix[j * side + i] = matrix[i * side + j];
    }
  }
}

SmallProgram inverses_of_2_program(const std::string& name, const Extent& count,
                                   const SizeValues& sizes) {
  constexpr int kSide = 2;
  const Tensor a = input("a", f32, {count, kSide, kSide});
  const Axis b("b", count), i("i", kSide), j("j", kSide);
  const Expr det = a(b, 0, 0) * a(b, 1, 1) - a(b, 0, 1) * a(b, 1, 0);
  const int64_t matrices = count.evaluate(sizes);
  return {name,
          Graph(compute("y", {b, i, j}, select(i == j, a(b, 1 - i, 1 - j), -a(b, i, j)) / det)),
          [=](KernelValues& v) {
            plain_inverses_of_2(matrices, v.data<float>("a"), v.data<float>("y"));
          },
          sizes,
          kTolerance,
          [=](KernelValues& v) { fill_diagonals(matrices, kSide, v.data<float>("a")); }};
}

SmallProgram inverses_of_3_program(const std::string& name, const Extent& count,
                                   const SizeValues& sizes) {
  constexpr int kSide = 3;
  const Tensor a = input("a", f32, {count, kSide, kSide});
  const Axis b("b", count), i("i", kSide), j("j", kSide);
  const auto at = [&](const Expr& row, const Expr& column) {
    return a(b, row % kSide, column % kSide);
  };
  Func cofactor("cofactor"), det("det"), y("y");
  cofactor(b, i, j) = at(j + 1, i + 1) * at(j + 2, i + 2) - at(j + 1, i + 2) * at(j + 2, i + 1);
  det(b) = a(b, 0, 0) * cofactor(b, 0, 0) + a(b, 0, 1) * cofactor(b, 1, 0) +
           a(b, 0, 2) * cofactor(b, 2, 0);
  y(b, i, j) = cofactor(b, i, j) / det(b);
  const int64_t matrices = count.evaluate(sizes);
  return {name,
          Graph(y),
          [=](KernelValues& v) {
            plain_inverses_of_3(matrices, v.data<float>("a"), v.data<float>("y"));
          },
          sizes,
          kTolerance,
          [=](KernelValues& v) { fill_diagonals(matrices, kSide, v.data<float>("a")); }};
}

// Column by column, each from the matrix that the one before has left.
SmallProgram cholesky_program(const std::string& name, const Extent& count,
                              const SizeValues& sizes) {
  constexpr int kSide = 4;
  const Axis b("b", count), i("i", kSide), j("j", kSide);
  Tensor s = input("a", f64, {count, kSide, kSide});
  for (int k = 0; k < kSide; ++k) {
    const Expr root = sqrt(s(b, k, k));
    const Expr column = select(i < k, 0.0, select(i == k, root, s(b, i, k) / root));
    const Expr rest = s(b, i, j) - s(b, i, k) * s(b, j, k) / s(b, k, k);
    s = compute("", {b, i, j}, select(j == k, column, select(j > k && i > k, rest, s(b, i, j))));
  }
  const int64_t matrices = count.evaluate(sizes);
  return {
      name,
      Graph(compute("y", {b, i, j}, select(i < j, 0.0, s(b, i, j)))),
      [=](KernelValues& v) { plain_cholesky(matrices, v.data<double>("a"), v.data<double>("y")); },
      sizes,
      kTolerance,
      [=](KernelValues& v) { fill_diagonals(matrices, kSide, v.data<double>("a")); }};
}

SmallProgram slice_program() {
  return {"slice", Graph(slice(matrix("x"), {kRows - 1, 0}, {-1, kColumns}, {-1, 2}, "y")),
          [](KernelValues& v) {
            plain_slice(kRows, kColumns, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram pad_program() {
  return {"pad", Graph(pad(matrix("x"), {3, 3}, {3, 3}, 0, "y")), [](KernelValues& v) {
            plain_pad(kRows, kColumns, 3, v.data<float>("x"), v.data<float>("y"));
          }};
}

SmallProgram gather_program() {
  constexpr int kWords = 1000, kWidth = 256;
  const Tensor index = input("index", i32, {kRows});
  const Tensor table = weight("table", f32, {kWords, kWidth});
  const Axis i("i", kRows), j("j", kWidth);
  const Expr row = min(max(index(i), 0), kWords - 1);
  SmallProgram program = {"gather", Graph(compute("y", {i, j}, table(row, j))),
                          [](KernelValues& v) {
                            plain_gather(kRows, kWords, kWidth, v.data<int32_t>("index"),
                                         v.data<float>("table"), v.data<float>("y"));
                          }};
  program.fill = [](KernelValues& v) {
    v.by_name["index"] = random_integers(i32, {kRows}, 1, 0, kWords - 1);
  };
  return program;
}

}  // namespace

std::vector<SmallProgram> pointwise_programs() {
  constexpr int64_t kNumbers = 100000, kLines = 200, kWidth = 321, kMatrices = 1000;
  const Extent pixels = Extent::size("P"), matrices = Extent::size("B");
  return {relu_program(),
          relu_of_maps_program(),
          gelu_program(),
          gelu_of_tens_program(),
          silu_program(),
          sums_program(),
          pixels_program(),
          inverse_program(),
          blend_program("blend_u8", kPixels, {}),
          blend_program("blend_run_time", pixels, {{"P", kPixels}}),
          blend_floats_program(),
          scale_program<uint8_t>("scale_u8_f32", kPixels, {}),
          scale_program<float>("scale_colours", kPixels, {}),
          scale_program<float>("scale_run_time", pixels, {{"P", kPixels}}),
          integers_program(),
          choice_program(),
          batch_norm_program(),
          complex_program("complex", kNumbers, {}),
          complex_program("complex_run_time", pixels, {{"P", kNumbers}}),
          quaternions_program("quaternions", kNumbers, {}),
          quaternions_program("quaternions_run_time", pixels, {{"P", kNumbers}}),
          complex_planes_program(),
          luma_chroma_program("luma_chroma", kLines, kWidth, {}),
          luma_chroma_program("luma_chroma_run_time", Extent::size("H"), Extent::size("W"),
                              {{"H", kLines}, {"W", kWidth}}),
          yuv_planes_program("yuv_planes", kLines, kWidth, {}),
          yuv_planes_program("yuv_planes_run_time", Extent::size("H"), Extent::size("W"),
                             {{"H", kLines}, {"W", kWidth}}),
          yuv_pixels_program(pixels, {{"P", kLines * kWidth}}),
          grey_program(pixels, {{"P", kLines * kWidth}}),
          inverses_of_2_program("inverses_of_2", kMatrices, {}),
          inverses_of_3_program("inverses_of_3", kMatrices, {}),
          inverses_of_3_program("inverses_run_time", matrices, {{"B", kMatrices}}),
          cholesky_program("cholesky", kMatrices, {}),
          cholesky_program("cholesky_run_time", matrices, {{"B", kMatrices}})};
}

std::vector<SmallProgram> movement_programs() {
  return {transpose_program(),    heads_program(),       interleave_program(), concat_program(),
          slice_program(),        pad_program(),         gather_program(),     wavelet_program(),
          joined_bytes_program(), padded_bytes_program()};
}

}  // namespace emulsion::benchmarks
