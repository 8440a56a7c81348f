#include "tests/backends/halide/nest_cases.h"

#include "dsl/operators.h"
#include "tests/backends/halide/storage_cases.h"

namespace emulsion {
namespace {

const Extent kBatch = Extent::size("B");

Tensor x_of(Shape shape) { return input("x", f32, std::move(shape)); }

void add_elementwise(std::vector<GraphCase>* cases) {
  Tensor x = x_of({kBatch, 19}), r = input("r", f32, {19}), d = input("d", f64, {kBatch, 5});
  Tensor i = input("i", i32, {kBatch, 7}), j = input("j", i32, {7}),
         c = input("c", bool_, {kBatch, 19});
  cases->push_back({"add_row", add(x, r)});
  cases->push_back({"scalar_ops", ((x * 2) - 1) / 4 + (-x)});
  cases->push_back({"div", div(x, r)});
  cases->push_back({"min_max", min(max(x, r), 2)});
  cases->push_back({"clamp_relu", relu(clamp(x, -2, 3))});
  cases->push_back({"abs_sqrt", sqrt(abs(x))});
  cases->push_back({"f64", exp(d) + tanh(d) * log(abs(d) + 1)});
  cases->push_back({"integers", div(i, j) + mul(i, j) - abs(i)});
  cases->push_back({"comparisons", logical_or(less(x, r), logical_not(equal(x, 1)))});
  cases->push_back({"bool_input", where(c, x, r)});
  cases->push_back({"casts", cast(cast(x, i32), f64)});
  cases->push_back({"to_bool", cast(x, bool_)});
  cases->push_back({"transcendental", exp(x) + log(abs(x) + 1) + tanh(x)});
  // A bound of the graph's own, which nobody has proved.
  cases->push_back({"bounded_exponent", exp(min(x, 0))});
  cases->push_back({"powers", pow(abs(x) + 0.5, r) + pow(x, 3) * pow(abs(x), -0.5)});
  cases->push_back({"powers_of_f64", pow(abs(d) + 0.5, d)});
  cases->push_back({"whole_numbers", floor(x * 4) + ceil(x) * round(x * 8) - trunc(x * 2)});
  cases->push_back({"whole_numbers_of_f64", floor(d * 4) + ceil(d) * round(d * 8) - trunc(d * 2)});
  cases->push_back({"gelu_erf", gelu(x, Gelu::erf)});
  cases->push_back({"gelu_tanh", gelu(x)});
  cases->push_back({"sigmoid", sigmoid(x)});
}

void add_narrow_integers(std::vector<GraphCase>* cases) {
  Tensor u = input("u", u8, {kBatch, 131}), s = input("s", i16, {kBatch, 131});
  cases->push_back({"bytes", div(mul(u, u) - 7, max(u, 1)) + neg(u)});
  cases->push_back({"bytes_and_words", mul(cast(u, i16), s)});
  cases->push_back({"words_to_floats", cast(cast(s, f32) * 0.75, i8)});
  // Halide followed the range of a byte through both, and did not end.
  cases->push_back({"gelus_of_bytes", gelu(gelu(cast(u, f32), Gelu::erf), Gelu::erf)});
  cases->push_back({"sum_of_bytes", sum(u, {1})});
  cases->push_back({"largest_word", reduce_max(s, {0})});
  cases->push_back({"byte_matmul", relu(matmul(u, weight("v", u8, {131, 70})))});
  Tensor table = input("table", f32, {256});
  Axis b("b", kBatch), i("i", 131);
  cases->push_back({"table", compute("y", {b, i}, table(cast(i32, u(b, i))))});
}

void add_reductions(std::vector<GraphCase>* cases) {
  Tensor x = x_of({kBatch, 19}), t = input("t", f32, {kBatch, 5, 6});
  cases->push_back({"sum_last", sum(x, {1})});
  cases->push_back({"sum_first", sum(x, {0})});
  cases->push_back({"sum_all", sum(x, {0, 1})});
  cases->push_back({"max_keep", reduce_max(x, {1}, true)});
  cases->push_back({"min_middle", reduce_min(t, {1})});
  cases->push_back({"mean", mean(t, {2})});
  cases->push_back({"softmax", softmax(x)});
  cases->push_back({"softmax_first_axis", softmax(t, 1)});
  cases->push_back({"layer_norm", layer_norm(x, weight("g", f32, {19}), weight("b", f32, {19}))});
  cases->push_back({"rms_norm", rms_norm(x, weight("g", f32, {19}))});
}

void add_contractions(std::vector<GraphCase>* cases) {
  Tensor x = x_of({kBatch, 19}), w = weight("w", f32, {19, 35}), b = weight("b", f32, {35});
  cases->push_back({"matmul", matmul(x, w)});
  cases->push_back({"linear_relu", relu(matmul(x, w) + b)});
  cases->push_back(
      {"two_layers", relu(matmul(relu(matmul(x, w) + b), weight("v", f32, {35, 10})))});
  cases->push_back({"vector", matmul(x, weight("v", f32, {19}))});
  cases->push_back(
      {"batched", matmul(input("p", f32, {kBatch, 3, 4}), input("q", f32, {kBatch, 4, 5}))});
  cases->push_back(
      {"empty_sum", relu(matmul(input("p", f32, {kBatch, 0}), weight("e", f32, {0, 35})) + b)});
  cases->push_back(
      {"integer_matmul", matmul(input("p", i32, {kBatch, 6}), weight("v", i32, {6, 9}))});
  cases->push_back({"f64_matmul", matmul(input("p", f64, {kBatch, 6}), weight("v", f64, {6, 9}))});
  Tensor image = input("image", f32, {kBatch, 7, 6, 4});
  Conv2dOptions padded;
  padded.pad_top = padded.pad_bottom = padded.pad_left = padded.pad_right = 1;
  cases->push_back({"conv_padded", relu(conv2d(image, weight("k", f32, {3, 3, 4, 8}), padded))});
  Conv2dOptions strided;
  strided.stride_h = strided.stride_w = 2;
  strided.groups = 2;
  cases->push_back({"conv_strided_groups", conv2d(image, weight("k", f32, {3, 2, 2, 6}), strided)});
  PoolOptions pool;
  pool.window_h = pool.window_w = 3;
  pool.stride_h = pool.stride_w = 2;
  pool.pad_top = pool.pad_left = 1;
  cases->push_back({"max_pool", max_pool(image, pool)});
  cases->push_back({"avg_pool", avg_pool(image, pool)});
}

void add_movement(std::vector<GraphCase>* cases) {
  Tensor x = x_of({kBatch, 19}), t = input("t", f32, {kBatch, 5, 6});
  Tensor fixed = input("fixed", f32, {4, 19});
  cases->push_back({"transpose", transpose(x)});
  cases->push_back({"permute", transpose(t, {1, 2, 0})});
  cases->push_back({"reshape", reshape(t, {kBatch, 30})});
  cases->push_back({"slice", slice(x, {0, 2}, {kBatch, 18}, {1, 3})});
  cases->push_back({"reverse", slice(fixed, {3, 18}, {-1, 0}, {-1, -2})});
  cases->push_back({"concat_columns", concat({x, x * 2}, 1)});
  cases->push_back({"concat_rows", concat({x, fixed, x}, 0)});
  cases->push_back({"pad", pad(x, {1, 3}, {2, 5}, 9)});
  cases->push_back({"pad_reduce", sum(pad(x, {1, 3}, {2, 5}, 1), {1})});
  Tensor table = constant("table", {2, 19}, std::vector<float>(38, 3.0f));
  cases->push_back({"constant", x + slice(table, {1, 0}, {2, 19})});
  Axis b("b", kBatch), n("n", 8);
  cases->push_back({"iota", compute("iota", {b, n}, cast(f32, Expr(b) * 10 + Expr(n)))});
  Expr picked = max(min(cast(i32, x(b, n)) * 3, 18), 0);
  cases->push_back({"gather", compute("gather", {b, n}, x(b, picked))});
  Tensor left = x + 1, right = sum(x, {1});
  cases->push_back({"two_outputs", Graph(std::vector<Tensor>{left, right})});
  Tensor shared = relu(x);
  cases->push_back({"output_that_is_read", Graph(std::vector<Tensor>{shared, shared * 2})});
}

// y = relu(x w + b), rows a run-time size.
struct Linear {
  Axis m{"m", kBatch}, n, k;
  Func mm{"mm"}, y{"y"};
  Tensor x, w, b;

  Linear(int64_t columns, int64_t depth) : n("n", columns), k("k", depth) {
    x = input("x", f32, {kBatch, depth});
    w = weight("w", f32, {depth, columns});
    b = weight("b", f32, {columns});
    mm(m, n) = sum(k, x(m, k) * w(k, n));
    y(m, n) = max(mm(m, n) + b(n), 0.0f);
  }
};

const Axis mo("mo"), mi("mi"), no("no"), ni("ni"), t("t"), lane("lane");

void add_linear(std::vector<ScheduledCase>* cases) {
  for (int64_t columns : {64, 70, 5}) {
    Linear l(columns, 9);
    Schedule s(l.y);
    s[l.y]
        .tile(l.m, l.n, mo, no, mi, ni, 6, 32)
        .reorder({ni, mi, mo, no})
        .vectorize(ni, 16)
        .unroll(ni);
    s[l.y].unroll(mi).parallel(no);
    s[l.mm].pack(l.w, l.n, 32).compute_at(l.y, mo).reorder({l.n, l.m, l.k}).vectorize(l.n, 16);
    s[l.mm].unroll(l.m).unroll(l.n).store_in(Memory::registers);
    cases->push_back({"packed_tile_" + std::to_string(columns), l.y, s});
  }
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.y].tile(l.m, l.n, mo, no, mi, ni, 4, 16, Tail::predicate).vectorize(ni).parallel(mo);
    s[l.mm].compute_at(l.y, no).reorder({l.n, l.m, l.k}).vectorize(l.n).unroll(l.m);
    cases->push_back({"unpacked_tile_predicate", l.y, s});
  }
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.y].split(l.m, mo, mi, 8).fuse(mo, mi, t);
    s[l.mm]
        .compute_root()
        .split(l.k, Axis("ko"), Axis("ki"), 4)
        .reorder({l.n, Axis("ki"), Axis("ko"), l.m});
    s[l.mm].vectorize(l.n, 8).unroll(Axis("ki"));
    cases->push_back({"split_reduced_loop", l.y, s});
  }
  {
    Linear l(40, 37);
    Schedule s(l.y);
    s[l.mm].split(l.k, l.k, lane, 8).rfactor(lane, "partial").compute_at(l.y, l.m);
    s["partial"].compute_at(l.mm.tensor(), l.n).vectorize(lane);
    cases->push_back({"lanes", l.y, s});
  }
  {
    Linear l(64, 9);
    Schedule s(l.y);
    s[l.mm].split(l.n, no, ni, 32).reorder({ni, l.k, l.m, no}).vectorize(ni, 8).unroll(ni);
    cases->push_back({"tiles_of_an_update", l.y, s});
  }
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.y].fuse(l.m, l.n, t).split(t, no, ni, 16).vectorize(ni).parallel(no);
    cases->push_back({"fused_pure_loops", l.y, s});
  }
}

// Copies of operands at loops of their reader.
void add_copies(std::vector<ScheduledCase>* cases) {
  const Axis ko("ko"), ki("ki"), i0("i0"), i1("i1");
  {
    Linear l(40, 12);
    Schedule s(l.y);
    s[l.mm].compute_root().split(l.m, mo, mi, 4).split(l.n, no, ni, 16).split(l.k, ko, ki, 4);
    s[l.mm].reorder({ni, mi, ki, ko, no, mo}).vectorize(ni).copy_in(l.x, "x_tile");
    s[l.mm].copy_in(l.w, "w_tile").parallel(mo);
    s["x_tile"].compute_at(l.mm.tensor(), ko).store_in(Memory::stack).unroll(i1);
    s["w_tile"].compute_at(l.mm.tensor(), ko).store_in(Memory::stack).vectorize(i1, 8);
    cases->push_back({"staged_tiles_of_both_operands", l.y, s});
  }
  {
    Linear l(70, 9);
    Schedule s(l.y);
    s[l.mm].compute_root().split(l.n, no, ni, 32).reorder({ni, l.k, l.m, no}).vectorize(ni, 16);
    s[l.mm].copy_in(l.w, "w_tile");
    s["w_tile"].compute_at(l.mm.tensor(), no).pack(l.w, i1, 32).vectorize(i1, 16);
    s[l.y].copy_in(l.mm, "mm_row").vectorize(l.n, 8);
    s["mm_row"].compute_at(l.y, l.m).vectorize(l.n, 8, Tail::predicate);
    cases->push_back({"copies_of_a_weight_and_a_stage", l.y, s});
  }
  {
    Axis b("b", kBatch), i("i", 17), r("r", Extent(3));
    Tensor line = input("line", f32, {kBatch, 19});
    Func smooth("smooth");
    smooth(b, i) = sum(r, line.at({Expr(b), Expr(i) + Expr(r)}));
    Schedule s(smooth);
    s[smooth].split(i, no, ni, 4).copy_in(line, "window").copy_in("window", "near");
    s["window"].compute_at(smooth, b).vectorize(i1, 8);
    s["near"].compute_at(smooth, no);
    cases->push_back({"copy_of_a_copy_of_a_window", smooth, s});
  }
}

// Integer reductions whose loops run together.
void add_atomic(std::vector<ScheduledCase>* cases) {
  const Axis i("i", kBatch), r("r", 37), ro("ro"), ri("ri");
  const Expr x = input("x", i32, {kBatch, 37})(i, r);
  const Axis whole("r", 8);
  const Expr eight = input("x", i32, {kBatch, 8})(i, whole);
  {
    Tensor s = compute("s", {i}, sum(r, x * 3));
    Schedule vectors(s), threads(s), both(s);
    vectors[s].atomic().split(r, ro, ri, 8).vectorize(ri);
    cases->push_back({"atomic_sum_vectors", s, vectors});
    threads[s].atomic().parallel(r).reorder({i, r});
    cases->push_back({"atomic_sum_threads", s, threads});
    both[s].atomic().split(r, ro, ri, 8).vectorize(ri).parallel(ro).parallel(i);
    cases->push_back({"atomic_sum_both", s, both});
  }
  {
    Tensor s = compute("s", {i}, product({whole}, eight));
    Schedule vectors(s);
    vectors[s].atomic().vectorize(whole);
    cases->push_back({"atomic_product_vectors", s, vectors});
  }
  {
    Tensor s = compute("s", {i}, sum(r, input("z", i32, {kBatch})(i)));
    Schedule threads(s);
    threads[s].atomic().parallel(r);
    cases->push_back({"atomic_sum_of_one_value", s, threads});
  }
  {
    Tensor s = compute("s", {}, reduce_min({i, r}, x));
    Schedule threads(s);
    threads[s].atomic().parallel(i).split(r, ro, ri, 16).vectorize(ri);
    cases->push_back({"atomic_min_both", s, threads});
  }
  {
    Tensor s = compute("s", {i}, reduce_max(r, x));
    Tensor y = compute("y", {i}, s(i) + 1);
    Schedule inside(y);
    inside[s].atomic().split(r, ro, ri, 4).vectorize(ri).compute_at(y, i);
    inside[y].parallel(i);
    cases->push_back({"atomic_max_at_a_loop", y, inside});
  }
}

// Stages that share loops: split ones, at a tile, reductions, three with an output among them.
void add_sharing(std::vector<ScheduledCase>* cases) {
  const Axis i("i", kBatch), j("j", 10), r("r", 7);
  const Tensor x = input("x", f32, {kBatch, 10}), q = input("q", f32, {kBatch, 7});
  Tensor a = compute("a", {i, j}, x(i, j) * 2.0f), b = compute("b", {i, j}, x(i, j) + 1.0f);
  Tensor y = compute("y", {i, j}, a(i, j) + b(i, j));
  {
    Schedule s(y);
    for (const Tensor& t : {a, b}) s[t].split(i, mo, mi, 4).parallel(mo).vectorize(j, 4);
    s[b].compute_with(a, mi);
    cases->push_back({"shared_split", y, s});
  }
  {
    Schedule s(y);
    s[y].split(i, mo, mi, 3).parallel(mo);
    s[a].compute_at(y, mo).reorder({i, j});
    s[b].compute_at(y, mo).reorder({i, j}).compute_with(a, j);
    cases->push_back({"shared_at_a_tile", y, s});
  }
  {
    Tensor total = compute("total", {i}, sum(r, q(i, r)));
    Tensor most = compute("most", {i}, reduce_max(r, q(i, r)));
    Tensor z = compute("z", {i}, total(i) - most(i));
    Schedule s(z);
    s[most].compute_with(total, i);
    cases->push_back({"shared_reductions", z, s});
  }
  {
    Tensor c = compute("c", {i, j}, x(i, j) * 4.0f);
    Tensor inner = compute("inner", {i, j}, x(i, j) - 5.0f);
    Tensor d = compute("d", {i, j}, inner(i, j) * 6.0f);
    const Graph three({c, compute("z", {i, j}, a(i, j) + d(i, j))});
    Schedule s(three);
    s[d].compute_with(a, i);
    s[c].compute_with(a, j);
    s[inner].compute_at(d, j);
    cases->push_back({"shared_by_three", three, s});
  }
}

// Prefetches of an input, a packed weight and a stage, some past the end. A step of the weight is a
// whole line, so that one step off is seen.
void add_prefetching(std::vector<ScheduledCase>* cases) {
  Linear l(80, 33);
  Schedule s(l.y);
  s[l.y].split(l.n, no, ni, 8).vectorize(ni).prefetch(l.mm, no, 2).prefetch(l.b, no, 1);
  s[l.mm].compute_at(l.y, l.m).pack(l.w, l.n, 16).reorder({l.n, l.k, l.m}).vectorize(l.n, 16);
  s[l.mm].prefetch(l.w, l.k, 3).prefetch(l.x, l.k, 1);
  cases->push_back({"prefetching", l.y, s});
  const Axis i("i", kBatch);
  Tensor scaled = compute("scaled", {i}, input("x", f32, {kBatch})(i) * input("by", f32, {})());
  Schedule of_one_value(scaled);
  of_one_value[scaled].prefetch("by", i, 1);
  cases->push_back({"prefetching_one_value", scaled, of_one_value});
  // In parts of a loop that start behind another one, and in a last tile that goes past the end.
  const Axis row("row", 200);
  const Tensor x = input("x", f32, {200});
  Tensor around = compute("around", {row}, x(max(row - 90, 0)) + x(min(row + 90, 199)));
  Tensor twice = compute("twice", {row}, x(row) * 2.0f);
  Schedule in_parts(around), in_tiles(twice);
  in_parts[around].partition(row).prefetch(x, row, 1);
  cases->push_back({"prefetching_in_parts", around, in_parts});
  in_tiles[twice].split(row, mo, mi, 64).prefetch(x, mo, 3);
  cases->push_back({"prefetching_in_tiles", twice, in_tiles});
  // Rows that are walked over twice: the second walk asks for a vector at each of its steps.
  const Axis c("c", 64), r("r", 64);
  const Tensor rows = input("x", f32, {kBatch, 64});
  const Tensor sums = compute("sums", {i}, sum(r, rows(i, r)));
  const Tensor shares = compute("shares", {i, c}, rows(i, c) * sums(i));
  Schedule in_shares(shares);
  in_shares[sums].compute_at(shares, i);
  in_shares[shares].vectorize(c, 16).prefetch(rows, i, 2);
  cases->push_back({"prefetching_in_shares", shares, in_shares});
}

// Tails that mask only loads, or only stores, at the root and at a tile.
void add_masked(std::vector<ScheduledCase>* cases) {
  const Axis i("i", kBatch), j("j", 50);
  const Tensor x = input("x", f32, {kBatch, 50}), r = input("r", f32, {50});
  Tensor a = compute("a", {i, j}, x(i, j) * r(j));
  Tensor y = compute("y", {i, j}, a(i, j) + a(i, 49 - Expr(j)));
  {
    Schedule s(y);
    s[y].split(j, no, ni, 16, Tail::predicate_stores).vectorize(ni).parallel(i);
    s[a].split(j, no, ni, 16, Tail::predicate_loads).vectorize(ni);
    cases->push_back({"masked_columns", y, s});
  }
  {
    Schedule s(y);
    s[y].split(i, mo, mi, 4).vectorize(j, 8);
    s[a].compute_at(y, mo).split(i, mo, mi, 3, Tail::predicate_loads).unroll(mi);
    cases->push_back({"masked_rows_at_a_tile", y, s});
  }
  {
    Tensor z = compute("z", {i, j}, a(i, j) + 1.0f);
    Schedule s(z);
    s[z].split(j, no, ni, 12).vectorize(ni);
    s[a].compute_at(z, no).vectorize(j, 8, Tail::predicate_loads);
    cases->push_back({"masked_loads_at_a_tile", z, s});
  }
  {
    const Axis f("f", 7);
    Tensor seven = compute("seven", {i, f}, x(i, f) * 3.0f);
    Tensor z = compute("z", {i, f}, seven(i, f) + 1.0f);
    Schedule s(z);
    s[seven].vectorize(f, 8).fuse(i, f, t);
    cases->push_back({"masked_columns_in_a_fused_loop", z, s});
  }
  {
    // What all lanes read is needed where the first of them is past an end, and a later one is not.
    const Tensor one = input("one", f32, {});
    Tensor z = compute("z", {i, j}, x(i, j) * one());
    Schedule s(z);
    s[z].split(i, mo, mi, 2, Tail::predicate).split(j, no, ni, 3, Tail::predicate);
    s[z].reorder({ni, mi, no, mo}).fuse(mi, ni, t).vectorize(t);
    cases->push_back({"masked_by_two_axes", z, s});
  }
}

// Specializations of the loops, by the batch.
void add_specializations(std::vector<ScheduledCase>* cases) {
  const Expr batch = size_value("B");
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.y].vectorize(l.n, 8).specialize(batch == 1).unroll(l.m).specialize(batch % 5 == 0);
    s[l.y].split(l.m, mo, mi, 5).unroll(mi).specialize(batch >= 5).split(l.m, mo, mi, 4);
    s[l.y].parallel(mo);
    cases->push_back({"specializations_of_an_epilogue", l.y, s});
  }
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.y].split(l.m, mo, mi, 4).split(l.n, no, ni, 8).reorder({ni, mi, no, mo}).vectorize(ni);
    s[l.y].specialize(batch >= 9).parallel(mo).unroll(mi);
    s[l.mm].compute_at(l.y, no).reorder({l.n, l.m, l.k}).vectorize(l.n).unroll(l.m);
    cases->push_back({"tiles_shared_out_only_when_many", l.y, s});
  }
  {
    Linear l(40, 9);
    Schedule s(l.y);
    s[l.mm].compute_root().specialize(batch == 1).reorder({l.n, l.k, l.m}).vectorize(l.n, 8);
    s[l.mm].specialize(batch % 13 == 0).split(l.m, mo, mi, 13);
    cases->push_back({"both_nests_of_a_reduction_by_batch", l.y, s});
  }
}

void add_staged(std::vector<ScheduledCase>* cases) {
  Tensor x = input("x", f32, {kBatch, 50});
  Axis m("m", kBatch), n("n", 50), k("k", 50);
  Func a("a"), b("b"), c("c");
  a(m, n) = exp(x(m, n) * 0.125f);
  b(m) = sum(k, a(m, k));
  c(m, n) = a(m, n) / b(m);
  {
    Schedule s(c);
    s[c].parallel(m).vectorize(n, 16);
    s[a].compute_at(c, m).vectorize(n, 16);
    s[b].compute_at(c, m);
    cases->push_back({"rows_of_softmax", c, s});
  }
  {
    Schedule s(c);
    s[c].split(m, mo, mi, 3).split(n, no, ni, 16, Tail::shift_inwards).vectorize(ni);
    s[a].compute_at(c, mo).split(n, no, ni, 16, Tail::round_up).vectorize(ni);
    s[b].compute_at(c, mo);
    cases->push_back({"round_up_shift_inwards", c, s});
  }
  {
    Schedule s(c);
    s[a].compute_inline();
    s[b].compute_root().parallel(m);
    s[c].vectorize(n, 8).unroll(n, 2);
    cases->push_back({"inlined", c, s});
  }
  {
    Func top("top");
    Axis i("i", Extent(20)), j("j", Extent(18)), r("r", Extent(3));
    Func smooth("smooth");
    Tensor line = input("line", f32, {20});
    smooth(i) = line(i) * 2.0f;
    top(j) = sum(r, smooth.at({Expr(j) + Expr(r)}));
    Schedule s(top);
    s[top].split(j, no, ni, 4).vectorize(ni);
    s[smooth].compute_at(top, no);
    cases->push_back({"overlapping_windows", top, s});
  }
}

}  // namespace

std::vector<GraphCase> operator_cases() {
  std::vector<GraphCase> cases;
  add_elementwise(&cases);
  add_narrow_integers(&cases);
  add_reductions(&cases);
  add_contractions(&cases);
  add_movement(&cases);
  return cases;
}

std::vector<ScheduledCase> scheduled_cases() {
  std::vector<ScheduledCase> cases;
  add_linear(&cases);
  add_atomic(&cases);
  add_masked(&cases);
  add_storage(&cases);
  add_prefetching(&cases);
  add_sharing(&cases);
  add_staged(&cases);
  add_copies(&cases);
  add_specializations(&cases);
  return cases;
}

}  // namespace emulsion
