#include "benchmarks/run_time_programs.h"

#include <utility>

#include "dsl/operators.h"
#include "passes/differentiate/differentiate.h"

namespace emulsion::benchmarks {
namespace {

// y[m, n] = sum over k of what `body` makes of x[m, k] and w[k, n]; it may read more at k.
using Body = std::function<Expr(const Expr& x, const Expr& w, const Axis& k, const Axis& n)>;

RunTimeProgram pairs(const std::string& name, SizeValues sizes, const Body& body,
                     bool by_columns = false, DType type = f32) {
  return {name, std::move(sizes), [=](const ExtentOf& of) {
            const Axis m("m", of("M")), n("n", of("N")), k("k", of("K"));
            const Tensor x = input("x", type, {m.extent(), k.extent()});
            const Tensor w = by_columns ? input("w", type, {n.extent(), k.extent()})
                                        : input("w", type, {k.extent(), n.extent()});
            const Expr value = body(x(m, k), by_columns ? w(n, k) : w(k, n), k, n);
            return Graph(compute("y", {m, n}, sum(k, value)));
          }};
}

Expr product(const Expr& x, const Expr& w, const Axis& /*k*/, const Axis& /*n*/) { return x * w; }

Expr squared(const Expr& x, const Expr& w, const Axis& /*k*/, const Axis& /*n*/) {
  return (x - w) * (x - w);
}

// Products of three operands, of four, and distances with a weight for each step.
Expr of_three(const Expr& x, const Expr& w, const Axis& k, const Axis& /*n*/) {
  return x * w * input("c", f32, {k.extent()})(k);
}

Expr of_four(const Expr& x, const Expr& w, const Axis& k, const Axis& n) {
  return of_three(x, w, k, n) * input("d", f32, {n.extent()})(n);
}

Expr weighted(const Expr& x, const Expr& w, const Axis& k, const Axis& n) {
  return of_three(x - w, x - w, k, n);
}

// y[m] = sum over k of x[m, k] * w[k], or of what is turned.
RunTimeProgram matrix_vector(int64_t rows, int64_t depth, bool turned) {
  return {turned ? "vector_matrix" : "matrix_vector",
          {{"M", rows}, {"K", depth}},
          [=](const ExtentOf& of) {
            const Axis m("m", of("M")), k("k", of("K"));
            const Tensor x = turned ? input("x", f32, {k.extent(), m.extent()})
                                    : input("x", f32, {m.extent(), k.extent()});
            const Tensor w = input("w", f32, {k.extent()});
            const Expr value = turned ? x(k, m) : x(m, k);
            return Graph(compute("y", {m}, sum(k, value * w(k))));
          }};
}

// The distance of each point from a mean by an inverse covariance.
RunTimeProgram mahalanobis(int64_t points, int64_t depth) {
  return {"mahalanobis", {{"M", points}, {"D", depth}}, [](const ExtentOf& of) {
            const Axis m("m", of("M")), i("i", of("D")), j("j", of("D"));
            const Tensor x = input("x", f32, {m.extent(), i.extent()});
            const Tensor mean = input("mean", f32, {i.extent()});
            const Tensor s = input("s", f32, {i.extent(), i.extent()});
            const Expr value = (x(m, i) - mean(i)) * s(i, j) * (x(m, j) - mean(j));
            return Graph(compute("y", {m}, sum({i, j}, value)));
          }};
}

RunTimeProgram batched(const std::string& name, int64_t batch, int64_t size) {
  return {name, {{"B", batch}, {"S", size}}, [](const ExtentOf& of) {
            const Tensor x = input("x", f32, {of("B"), of("S"), of("S")});
            const Tensor w = input("w", f32, {of("B"), of("S"), of("S")});
            return Graph(matmul(x, w, "y"));
          }};
}

// One of the named operators over a matrix.
RunTimeProgram over_rows(const std::string& name, int64_t rows, int64_t columns,
                         const std::function<Tensor(const Tensor&)>& op, DType type = f32) {
  return {name, {{"R", rows}, {"C", columns}}, [=](const ExtentOf& of) {
            return Graph(op(input("x", type, {of("R"), of("C")})));
          }};
}

// Points of three coordinates each, or pixels of three colours: `depth` is a number where it has no
// name among the sizes.
RunTimeProgram lengths(const std::string& name, SizeValues sizes) {
  const bool known = sizes.count("D") == 0;
  return {name, std::move(sizes), [=](const ExtentOf& of) {
            const Axis p("p", of("P")), d("d", known ? Extent(3) : of("D"));
            const Tensor x = input("x", f32, {p.extent(), d.extent()});
            return Graph(compute("y", {p}, sum(d, x(p, d) * x(p, d))));
          }};
}

RunTimeProgram grey(const std::string& name, SizeValues sizes) {
  const bool known = sizes.count("C") == 0;
  return {name, std::move(sizes), [=](const ExtentOf& of) {
            const Axis i("i", of("H")), j("j", of("W")), c("c", known ? Extent(3) : of("C"));
            const Tensor x = input("x", f32, {i.extent(), j.extent(), c.extent()});
            const Tensor part = input("part", f32, {c.extent()});
            return Graph(compute("y", {i, j}, sum(c, x(i, j, c) * part(c))));
          }};
}

RunTimeProgram tinted(const std::string& name, SizeValues sizes) {
  const bool known = sizes.count("C") == 0;
  return {name, std::move(sizes), [=](const ExtentOf& of) {
            const Extent colours = known ? Extent(3) : of("C");
            const Tensor x = input("x", f32, {of("H"), of("W"), colours});
            return Graph(mul(x, input("tint", f32, {colours}), "y"));
          }};
}

// Colours of each pixel made of its colours.
RunTimeProgram mixed(const std::string& name, int64_t pixels, int64_t colours) {
  return {name, {{"P", pixels}}, [=](const ExtentOf& of) {
            const Tensor x = input("x", f32, {of("P"), colours});
            return Graph(matmul(x, weight("w", f32, {colours, colours}), "y"));
          }};
}

// A plane of each colour of a picture whose pixels lie one after another.
RunTimeProgram planes(const std::string& name, SizeValues sizes, DType type) {
  const bool known = sizes.count("C") == 0;
  return {name, std::move(sizes), [=](const ExtentOf& of) {
            const Tensor x = input("x", type, {of("H"), of("W"), known ? Extent(3) : of("C")});
            return Graph(transpose(x, {2, 0, 1}, "y"));
          }};
}

// Of pictures, of which each has its channels first or last, what `op` makes of all of its
// channels.
RunTimeProgram pictures(const std::string& name, int64_t channels, int64_t size, bool last,
                        const std::function<Tensor(const Tensor&)>& op) {
  return {name, {{"N", 2}, {"H", size}, {"W", size}}, [=](const ExtentOf& of) {
            const Shape shape = last ? Shape{of("N"), of("H"), of("W"), channels}
                                     : Shape{of("N"), channels, of("H"), of("W")};
            return Graph(op(input("x", f32, shape)));
          }};
}

// Each channel of a picture less its mean, in units of its deviation.
Tensor instance_norm(const Tensor& x, const std::vector<int>& places) {
  const Tensor centred = sub(x, mean(x, places, true));
  const Tensor variance = mean(mul(centred, centred), places, true);
  return div(centred, sqrt(variance + 1e-5F), "y");
}

// Products of the rows of two matrices, element by element.
RunTimeProgram row_products(int64_t rows, int64_t columns) {
  return {"row_products", {{"R", rows}, {"C", columns}}, [](const ExtentOf& of) {
            const Axis r("r", of("R")), c("c", of("C"));
            const Tensor x = input("x", f32, {r.extent(), c.extent()});
            const Tensor z = input("z", f32, {r.extent(), c.extent()});
            return Graph(compute("y", {r}, sum(c, x(r, c) * z(r, c))));
          }};
}

RunTimeProgram one_hot(int64_t classes, int64_t columns) {
  return {"one_hot_sums", {{"M", 4096}, {"C", classes}, {"D", columns}}, [](const ExtentOf& of) {
            const Axis c("c", of("C")), d("d", of("D")), m("m", of("M"));
            const Tensor x = input("x", f32, {m.extent(), d.extent()});
            const Tensor which = input("which", i32, {m.extent()});
            const Expr value = select(which(m) == Expr(c), x(m, d), 0.0F);
            return Graph(compute("y", {c, d}, sum(m, value)));
          }};
}

// Of each channel a window of three by three, at every place or at every second one.
RunTimeProgram depthwise(const std::string& name, int64_t stride) {
  return {name, {{"C", 16}, {"H", 32}, {"W", 64}}, [=](const ExtentOf& of) {
            const Axis c("c", of("C")), i("i", of("H")), j("j", of("W")), a("a", 3), b("b", 3);
            const Extent rows = i.extent() * stride + 2, columns = j.extent() * stride + 2;
            const Tensor x = input("x", f32, {c.extent(), rows, columns});
            const Tensor w = input("w", f32, {c.extent(), 3, 3});
            const Expr value =
                x(c, Expr(i) * int_constant(stride) + a, Expr(j) * int_constant(stride) + b);
            return Graph(compute("y", {c, i, j}, sum({a, b}, value * w(c, a, b))));
          }};
}

// The same at every place of the picture, with zeros beyond its borders.
RunTimeProgram depthwise_bordered() {
  return {"depthwise_bordered", {{"C", 16}, {"S", 56}}, [](const ExtentOf& of) {
            const Axis c("c", of("C")), i("i", of("S")), j("j", of("S")), a("a", 3), b("b", 3);
            const Tensor x = input("x", f32, {c.extent(), of("S"), of("S")});
            const Tensor w = input("w", f32, {c.extent(), 3, 3});
            const Expr end = of("S"), row = i + a - 1, column = j + b - 1;
            const Expr inside = row >= 0 && row < end && column >= 0 && column < end;
            const Expr held = x(c, clamp(row, 0, end - 1), clamp(column, 0, end - 1));
            const Expr value = select(inside, held, 0.0F);
            return Graph(compute("y", {c, i, j}, sum({a, b}, value * w(c, a, b))));
          }};
}

// Of what has its channels last.
RunTimeProgram depthwise_channels_last(int64_t stride) {
  return {"depthwise_channels_last", {{"S", 64}, {"C", 32}}, [=](const ExtentOf& of) {
            const Axis i("i", of("S")), j("j", of("S")), c("c", of("C")), a("a", 3), b("b", 3);
            const Extent size = i.extent() * stride + 1;
            const Tensor x = input("x", f32, {size, size, c.extent()});
            const Tensor w = input("w", f32, {3, 3, c.extent()});
            const Expr value =
                x(Expr(i) * int_constant(stride) + a, Expr(j) * int_constant(stride) + b, c);
            return Graph(compute("y", {i, j, c}, sum({a, b}, value * w(a, b, c))));
          }};
}

// Nine pixels of a picture that are `apart`, weighed.
RunTimeProgram dilated(int64_t apart) {
  return {"conv_dilated", {{"H", 256}, {"W", 1000}}, [=](const ExtentOf& of) {
            const Axis i("i", of("H")), j("j", of("W")), a("a", 3), b("b", 3);
            const Extent more = 2 * apart;
            const Tensor x = input("x", f32, {of("H") + more, of("W") + more});
            const Tensor w = input("w", f32, {3, 3});
            const Expr value =
                x(i + Expr(a) * int_constant(apart), j + Expr(b) * int_constant(apart));
            return Graph(compute("y", {i, j}, sum({a, b}, value * w(a, b))));
          }};
}

// Of each `length` neighbours the most, or their sum.
RunTimeProgram neighbours(const std::string& name, int64_t length,
                          const std::function<Expr(const Axis&, const Expr&)>& combine) {
  return {name, {{"N", 16384}}, [=](const ExtentOf& of) {
            const Axis i("i", of("N")), k("k", length);
            const Tensor x = input("x", f32, {of("N") + (length - 1)});
            return Graph(compute("y", {i}, combine(k, x(i + k))));
          }};
}

// The first row at which a column is least.
RunTimeProgram argmin_columns(int64_t rows, int64_t columns) {
  return {"argmin_columns", {{"R", rows}, {"C", columns}}, [](const ExtentOf& of) {
            const Axis r("r", of("R")), c("c", of("C"));
            const Tensor x = input("x", f32, {r.extent(), c.extent()});
            const Tensor least = reduce_min(x, {0});
            const Expr place = select(x(r, c) == least(c), Expr(r), r.extent());
            return Graph(compute("y", {c}, reduce_min(r, place)));
          }};
}

// Three rows and three columns of a picture, in the middle of its border or held at its ends.
RunTimeProgram blur(bool clamped) {
  return {
      clamped ? "blur_clamped" : "blur", {{"H", 256}, {"W", 1000}}, [=](const ExtentOf& of) {
        const Extent more = clamped ? 0 : 2;
        const Tensor x = input("x", f32, {of("H") + more, of("W") + more});
        const Axis i("i", of("H")), j("j", of("W"));
        const auto at = [&](const Expr& index, const Axis& axis) {
          return clamped ? min(max(index - 1, 0), axis.extent() - 1) : index;
        };
        const auto row = [&](const Expr& r) {
          return x(r, at(j, j)) + x(r, at(j + 1, j)) + x(r, at(j + 2, j));
        };
        return Graph(compute("y", {i, j}, row(at(i, i)) + row(at(i + 1, i)) + row(at(i + 2, i))));
      }};
}

}  // namespace

std::vector<RunTimeProgram> run_time_contractions() {
  const SizeValues kPairs = {{"M", 256}, {"N", 256}, {"K", 64}};
  const auto centres = [](int64_t count) {
    return pairs("centres_" + std::to_string(count), {{"M", 4096}, {"N", count}, {"K", 16}},
                 squared, true);
  };
  return {pairs("matmul", kPairs, product),
          pairs("matmul_f64", kPairs, product, false, f64),
          pairs("scores", kPairs, product, true),
          pairs("three_operands", kPairs, of_three),
          pairs("four_operands", kPairs, of_four),
          pairs("weighted_distances", kPairs, weighted, true),
          pairs("distances", kPairs, squared, true),
          pairs("distances_f64", kPairs, squared, false, f64),
          pairs("distances_of_points", {{"M", 512}, {"N", 512}, {"K", 3}}, squared, true),
          mixed("three_colours", 100000, 3),
          mixed("four_colours", 100000, 4),
          pairs("columns_3", {{"M", 1024}, {"N", 3}, {"K", 512}}, product),
          pairs("columns_15", {{"M", 1024}, {"N", 15}, {"K", 512}}, product),
          centres(3),
          centres(7),
          centres(15),
          matrix_vector(300, 1000, false),
          matrix_vector(300, 1000, true),
          mahalanobis(256, 32),
          batched("batched_matmul", 16, 64),
          batched("batched_of_3", 2000, 3)};
}

std::vector<RunTimeProgram> run_time_reductions() {
  const auto rows = [](const Tensor& x) { return sum(x, {1}, false, "y"); };
  const auto columns = [](const Tensor& x) { return sum(x, {0}, false, "y"); };
  const auto squares = [](const Tensor& x) { return sum(x * x, {1}, false, "y"); };
  const auto most = [](const Tensor& x) { return reduce_max(x, {1}, false, "y"); };
  const auto soft = [](const Tensor& x) { return softmax(x, -1, "y"); };
  const auto soft_gradient = [](const Tensor& x) {
    return gradients(softmax(x), {x}, input("dy", f32, x.shape()))[0];
  };
  const auto norm = [](const Tensor& x) {
    const Shape row = {x.shape()[1]};
    return layer_norm(x, input("gamma", f32, row), input("beta", f32, row), 1e-5, "y");
  };
  const auto pool = [](const Tensor& x) { return mean(x, {2, 3}, false, "y"); };
  const auto pool_last = [](const Tensor& x) { return mean(x, {1, 2}, false, "y"); };
  const auto instance = [](const Tensor& x) { return instance_norm(x, {2, 3}); };
  const auto instance_last = [](const Tensor& x) { return instance_norm(x, {1, 2}); };
  const auto squares_of_channels = [](const Tensor& x) {
    return sum(x * x, {0, 2, 3}, false, "y");
  };
  return {over_rows("sum_rows", 256, 1000, rows),
          over_rows("sum_short_rows", 4096, 16, rows),
          over_rows("sum_columns", 256, 1000, columns),
          over_rows("sum_few_rows", 16, 4096, columns),
          argmin_columns(256, 1000),
          over_rows("sum_squares_f64", 256, 1000, squares, f64),
          over_rows("max_rows", 256, 1000, most),
          over_rows("softmax", 256, 1000, soft),
          over_rows("softmax_short", 4096, 16, soft),
          over_rows("softmax_of_200", 512, 200, soft),
          over_rows("softmax_gradient_of_200", 512, 200, soft_gradient),
          over_rows("softmax_of_3", 20000, 3, soft),
          over_rows("layer_norm", 256, 1000, norm),
          over_rows("layer_norm_short", 4096, 16, norm),
          over_rows("layer_norm_of_3", 20000, 3, norm),
          pictures("global_pool", 64, 56, false, pool),
          pictures("global_pool_small", 512, 7, false, pool),
          pictures("global_pool_last", 64, 56, true, pool_last),
          pictures("global_pool_last_small", 512, 7, true, pool_last),
          pictures("instance_norm", 32, 56, false, instance),
          pictures("instance_norm_small", 256, 14, false, instance),
          pictures("instance_norm_last", 32, 56, true, instance_last),
          pictures("batch_squares", 32, 56, false, squares_of_channels),
          row_products(4096, 3),
          one_hot(10, 16),
          lengths("lengths_of_points", {{"P", 20000}}),
          lengths("lengths_of_vectors", {{"P", 20000}, {"D", 3}}),
          grey("grey", {{"H", 256}, {"W", 256}}),
          grey("grey_of_any_colours", {{"H", 256}, {"W", 256}, {"C", 3}})};
}

namespace {

// What is read at other places than side by side: of rows of bytes every third, each twice, the
// sum of a pixel's; of numbers the greatest of three neighbours, held at the ends of a row.
std::vector<RunTimeProgram> elements_apart() {
  const SizeValues kSizes = {{"H", 60}, {"W", 90}};
  const auto of = [&](const std::string& name, const auto& graph) {
    return RunTimeProgram{name, kSizes,
                          [=](const ExtentOf& of) { return Graph(graph(of("H"), of("W"))); }};
  };
  return {of("every_third_byte",
             [](const Extent& height, const Extent& width) {
               const Axis i("i", height), j("j", width);
               return compute("y", {i, j}, input("x", u8, {height, width * 3})(i, 3 * j));
             }),
          of("enlarged_bytes",
             [](const Extent& height, const Extent& width) {
               const Axis i("i", height * 2), j("j", width * 2);
               return compute("y", {i, j}, input("x", u8, {height, width})(i / 2, j / 2));
             }),
          of("grey_of_bytes",
             [](const Extent& height, const Extent& width) {
               const Axis i("i", height), j("j", width);
               const Tensor x = input("x", u8, {height, width, 3});
               return compute("y", {i, j}, x(i, j, 0) + x(i, j, 1) + x(i, j, 2));
             }),
          of("clamped_neighbours",
             [](const Extent& height, const Extent& width) {
               const Axis i("i", height), j("j", width);
               const Tensor x = input("x", f32, {height, width});
               const auto at = [&](int step) { return x(i, clamp(j + step, 0, width - 1)); };
               return compute("y", {i, j}, max(at(-1), max(at(0), at(1))));
             }),
          of("turned_bytes",
             [](const Extent& height, const Extent& width) {
               return transpose(input("x", u8, {height, width}), {1, 0}, "y");
             }),
          of("opaque_bytes", [](const Extent& height, const Extent& width) {
            const Axis i("i", height), j("j", width), c("c", 4);
            const Tensor x = input("x", u8, {height, width, 3});
            const Expr colour = x(i, j, min(c, 2));
            return compute("y", {i, j, c}, select(c < 3, colour, cast(u8, 255)));
          })};
}

// Windows of pixels of three bytes, and of numbers where a border of the picture has none; pictures
// side by side, and with a border around.
std::vector<RunTimeProgram> windows_and_borders() {
  const SizeValues kSizes = {{"H", 60}, {"W", 90}};
  const auto of = [&](const std::string& name, const auto& graph) {
    return RunTimeProgram{name, kSizes,
                          [=](const ExtentOf& of) { return Graph(graph(of("H"), of("W"))); }};
  };
  return {
      of("box_of_byte_pixels",
         [](const Extent& height, const Extent& width) {
           const Axis i("i", height), j("j", width), c("c", 3), a("a", 3), b("b", 3);
           const Tensor x = input("x", u8, {height + 2, width + 2, 3});
           return compute("y", {i, j, c}, reduce_max({a, b}, x(i + a, j + b, c)));
         }),
      of("halved_byte_pixels",
         [](const Extent& height, const Extent& width) {
           const Axis i("i", height), j("j", width), c("c", 3), a("a", 2), b("b", 2);
           const Tensor x = input("x", u8, {height * 2, width * 2, 3});
           return compute("y", {i, j, c}, reduce_max({a, b}, x(2 * i + a, 2 * j + b, c)));
         }),
      of("windows_inside",
         [](const Extent& height, const Extent& width) {
           const Axis i("i", height - 2), j("j", width - 2), a("a", 3), b("b", 3);
           const Tensor x = input("x", f32, {height, width});
           return compute("y", {i, j}, sum({a, b}, x(i + a, j + b)));
         }),
      of("conv_inside",
         [](const Extent& height, const Extent& width) {
           const Axis c("c", 16), i("i", height - 2), j("j", width - 2);
           const Axis d("d", 8), a("a", 3), b("b", 3);
           const Tensor x = input("x", f32, {8, height, width}), w = input("w", f32, {16, 8, 3, 3});
           return compute("y", {c, i, j}, sum({d, a, b}, x(d, i + a, j + b) * w(c, d, a, b)));
         }),
      of("sum_inside",
         [](const Extent& height, const Extent& width) {
           return sum(input("x", u8, {height, width - 2}), {1}, false, "y");
         }),
      of("joined_columns",
         [](const Extent& height, const Extent& width) {
           const Tensor x = input("x", f32, {height, width}), z = input("z", f32, {height, width});
           return concat({x, z}, 1, "y");
         }),
      of("joined_bytes",
         [](const Extent& height, const Extent& width) {
           const Tensor x = input("x", u8, {height, width}), z = input("z", u8, {height, width});
           return concat({x, z}, 1, "y");
         }),
      of("bordered", [](const Extent& height, const Extent& width) {
        return pad(input("x", f32, {height, width}), {2, 3}, {2, 3}, 0, "y");
      })};
}

}  // namespace

std::vector<RunTimeProgram> run_time_pointwise() {
  const auto turned = [](const Tensor& x) { return transpose(x, {1, 0}, "y"); };
  const auto least = [](const Tensor& x) { return max(x, 3, "y"); };
  const auto biased = [](const Tensor& x) {
    return relu(x + input("bias", f32, {x.shape()[1]}), "y");
  };
  std::vector<RunTimeProgram> programs = {
      over_rows("bias_relu", 256, 1000, biased),
      over_rows("bias_relu_short", 20000, 3, biased),
      over_rows("bytes", 64, 500, least, u8),
      over_rows("transpose", 1000, 1000, turned),
      over_rows("transpose_of_points", 20000, 3, turned),
      planes("planes", {{"H", 256}, {"W", 256}}, f32),
      planes("planes_of_any_colours", {{"H", 256}, {"W", 256}, {"C", 3}}, f32),
      planes("planes_of_bytes", {{"H", 256}, {"W", 256}}, u8),
      depthwise("depthwise", 1),
      depthwise("depthwise_strided", 2),
      depthwise_bordered(),
      depthwise_channels_last(2),
      dilated(2),
      neighbours("window_max", 8, [](const Axis& k, const Expr& e) { return reduce_max(k, e); }),
      neighbours("window_sums", 8, [](const Axis& k, const Expr& e) { return sum(k, e); }),
      tinted("tinted", {{"H", 256}, {"W", 256}}),
      tinted("tinted_any_colours", {{"H", 256}, {"W", 256}, {"C", 3}}),
      blur(false),
      blur(true)};
  for (auto* more : {elements_apart, windows_and_borders}) {
    for (RunTimeProgram& program : more()) programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace emulsion::benchmarks
