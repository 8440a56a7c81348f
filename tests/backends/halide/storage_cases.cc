#include "tests/backends/halide/storage_cases.h"

#include <string>

#include "dsl/operators.h"

namespace emulsion {
namespace {

const Axis yo("yo"), yi("yi"), xo("xo"), xi("xi"), ro("ro"), ri("ri");

// by = three rows of bx, bx = three columns of the image, y clamped at the edges or not.
struct Blur {
  explicit Blur(bool clamped = false) {
    const Extent rows = Extent::size("B");
    y = Axis("y", rows);
    r = Axis("y", clamped ? rows : rows + 2);
    image = input("image", f32, {r.extent(), 42});
    bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) * 2.0f + image(r, x + 2));
    if (clamped) {
      const Expr last = extent_value(rows - 1);
      by = compute("by", {y, x}, bx(max(y - 1, 0), x) + bx(y, x) * 2.0f + bx(min(y + 1, last), x));
    } else {
      by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) * 2.0f + bx(y + 2, x));
    }
  }
  Axis y{"y"}, r{"y"}, x{"x", 40};
  Tensor image, bx, by;
};

template <typename Directives>
void add_blur(const std::string& name, const Directives& directives,
              std::vector<ScheduledCase>* cases) {
  for (bool clamped : {false, true}) {
    Blur b(clamped);
    Schedule schedule(b.by);
    directives(b, &schedule);
    cases->push_back({name + (clamped ? "_clamped" : ""), b.by, schedule});
  }
}

void add_windows(std::vector<ScheduledCase>* cases) {
  add_blur(
      "window_of_rows",
      [](const Blur& b, Schedule* s) {
        (*s)[b.bx].store_root().compute_at(b.by, b.y).vectorize(b.x, 8);
        (*s)[b.by].vectorize(b.x, 8);
      },
      cases);
  add_blur(
      "window_of_rows_and_columns",
      [](const Blur& b, Schedule* s) { (*s)[b.bx].store_root().compute_at(b.by, b.x); }, cases);
  add_blur(
      "window_in_parallel_tiles",
      [](const Blur& b, Schedule* s) {
        (*s)[b.by].split(b.y, yo, yi, 8).parallel(yo).vectorize(b.x, 8);
        (*s)[b.bx].store_at(b.by, yo).compute_at(b.by, yi).vectorize(b.x, 8);
      },
      cases);
  add_blur(
      "window_in_tiles_of_both_axes",
      [](const Blur& b, Schedule* s) {
        (*s)[b.by].tile(b.y, b.x, yo, xo, yi, xi, 8, 16).vectorize(xi, 8);
        (*s)[b.bx].store_at(b.by, xo).compute_at(b.by, yi).vectorize(b.x, 8);
      },
      cases);
  add_blur(
      "window_that_moves_by_tiles",
      [](const Blur& b, Schedule* s) {
        (*s)[b.by].split(b.y, yo, yi, 4);
        (*s)[b.bx].store_root().compute_at(b.by, yo).split(b.r, ro, ri, 2).unroll(ri);
      },
      cases);
  add_blur(
      "window_folded_as_said",
      [](const Blur& b, Schedule* s) {
        (*s)[b.bx].store_root().compute_at(b.by, b.y).fold_storage(b.r, 3);
      },
      cases);
  add_blur(
      "window_fetched_ahead",
      [](const Blur& b, Schedule* s) {
        (*s)[b.bx].store_root().compute_at(b.by, b.y);
        (*s)[b.by].prefetch(b.bx, b.x, 1);
      },
      cases);
  add_blur(
      "window_again_in_every_tile",
      [](const Blur& b, Schedule* s) {
        (*s)[b.by].split(b.y, yo, yi, 4);
        (*s)[b.bx].store_root().compute_at(b.by, yi);
      },
      cases);
}

// a and c are both read by three rows.
void add_chains(std::vector<ScheduledCase>* cases) {
  const Extent rows = Extent::size("B");
  const Axis i("i", rows), j("i", rows + 2), l("i", rows + 4);
  Tensor a = compute("a", {l}, input("in", f32, {rows + 4})(l) * 2.0f);
  Tensor c = compute("c", {j}, a(j) + a(j + 1) + a(j + 2));
  Tensor z = compute("z", {i}, c(i) + c(i + 1) + c(i + 2));
  {
    Schedule s(z);
    s[c].store_root().compute_at(z, i);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"two_windows", z, s});
  }
  {
    Schedule s(z);
    s[c].store_root().compute_at(z, i);
    s[a].compute_at(z, i);
    cases->push_back({"window_over_a_tile", z, s});
  }
  {
    Schedule s(z);
    s[c].store_root().compute_at(z, i);
    s[a].store_at(z, i).compute_at(c, j);
    cases->push_back({"window_inside_a_window", z, s});
  }
  {
    Schedule s(z);
    s[c].compute_at(z, i).split(j, ro, ri, 3);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"window_under_a_tile", z, s});
  }
  // Neighbours of the window, at the same loop, computed whole each time: before it and after it.
  for (const std::string name : {"aa", "zz"}) {
    Tensor q = compute(name, {i}, input("other", f32, {rows})(i) + 1.0f);
    Tensor both = compute("both", {i}, q(i) + c(i) + c(i + 2));
    Schedule s(both);
    s[c].store_root().compute_at(both, i);
    s[q].compute_at(both, i);
    cases->push_back({"window_beside_" + name, both, s});
  }
}

void add_other_readers(std::vector<ScheduledCase>* cases) {
  const Extent rows = Extent::size("B");
  const Axis i("i", rows), j("j", rows * 2 + 1), k("k", 3), d("d", rows + 8);
  {
    Tensor a = compute("a", {j}, input("in", f32, {rows * 2 + 1})(j) * 2.0f);
    Tensor z = compute("z", {i}, a(i * 2) + a(i * 2 + 1) + a(i * 2 + 2));
    Schedule s(z);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"window_of_stride_2", z, s});
  }
  {
    Tensor a = compute("a", {d}, input("in", f32, {rows + 8})(d) * 2.0f);
    Tensor z = compute("z", {i}, sum(k, a(i + k * 4) * weight("w", f32, {3})(k)));
    Schedule s(z);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"window_of_a_dilated_convolution", z, s});
  }
  {
    Tensor a = compute("a", {d}, sum(k, input("in", f32, {rows + 8, 3})(d, k)));
    Tensor z = compute("z", {i}, a(i) * a(i + 2));
    Schedule s(z);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"window_of_sums", z, s});
  }
  {  // of what may be empty, and is read where it is not
    const Axis m("m", 7), e("e", rows * 8);
    Tensor a = compute("a", {e}, input("in", f32, {rows * 8})(e) * 2.0f);
    Tensor q = compute("q", {m}, select(m < size_value("B"), a(m) + a(m + 1) * 3.0f, 0.0f));
    Tensor z = compute("z", {i, m}, q(m) + cast(f32, Expr(i)));
    Schedule s(z);
    s[q].compute_at(z, i);
    s[a].store_at(z, i).compute_at(q, m);
    cases->push_back({"window_of_what_may_be_empty", z, s});
  }
  {  // 9 rows back to front
    const Axis f("f", 7), g("g", 9);
    Tensor a = compute("a", {g}, input("in", f32, {9})(g) * 2.0f);
    Tensor z = compute("z", {f}, a(6 - f) + a(7 - f) + a(8 - f));
    Schedule s(z);
    s[a].store_root().compute_at(z, f);
    cases->push_back({"window_that_slides_down", z, s});
  }
  {  // no two iterations share anything
    Tensor a = compute("a", {j}, input("in", f32, {rows * 2 + 1})(j) * 2.0f);
    Tensor z = compute("z", {i}, a(i * 2) + a(i * 2 + 1));
    Schedule s(z);
    s[a].store_root().compute_at(z, i);
    cases->push_back({"kept_without_overlap", z, s});
  }
  {
    const Axis h("h", 15), half("half", 9);
    Tensor a = compute("a", {half}, input("in", f32, {9})(half) * 2.0f);
    Tensor z = compute("z", {h}, a(h / 2) + a(h / 2 + 1));
    Schedule s(z);
    s[a].store_root().compute_at(z, h);
    cases->push_back({"window_that_moves_unevenly", z, s});
  }
}

// What is kept or taken further out where no iteration leaves anything for the next.
void add_kept_memory(std::vector<ScheduledCase>* cases) {
  const Extent rows = Extent::size("B");
  for (const Extent& columns : {Extent(9), Extent(0)}) {
    const Axis i("i", rows), j("j", columns), k("k", 6);
    Tensor x = input("x", f32, {rows, 6}), z = input("z", f32, {rows, columns});
    Tensor a = compute("a", {i}, sum(k, x(i, k)));
    Tensor y = compute("y", {i, j}, a(i) * z(i, j));
    const std::string of = columns == Extent(0) ? "nothing" : "columns";
    Schedule kept(y), hoisted(y);
    kept[a].store_root().compute_at(y, j);
    hoisted[a].hoist_storage(y, i).compute_at(y, j);
    cases->push_back({"kept_over_" + of, y, kept});
    cases->push_back({"hoisted_over_" + of, y, hoisted});
  }
}

// Halide must not find out that the specialization, or the general case, computes nothing.
void add_specialized_storage(std::vector<ScheduledCase>* cases) {
  const Expr size = size_value("B");
  const std::pair<const char*, Expr> conditions[] = {{"some", size > 0}, {"none", size < 1}};
  for (const auto& [of, condition] : conditions) {
    Blur b;
    Schedule s(b.by);
    s[b.by].reorder({b.y, b.x}).specialize(condition);
    s[b.bx].compute_at(b.by, b.y).hoist_storage(b.by, b.x);
    cases->push_back({std::string("hoisted_for_") + of, b.by, s});
  }
  {
    Blur b;
    Schedule s(b.by);
    s[b.bx].compute_at(b.by, b.x).hoist_storage(b.by, b.y);
    s[b.by].specialize(size == 5).unroll(b.y);
    cases->push_back({"hoisted_beside_a_known_size", b.by, s});
  }
  const Extent rows = Extent::size("B");
  const Axis i("i", rows * 2 + 1), j("j", rows + 3);
  Tensor x = input("x", i32, {rows * 2 + 1, rows});
  Tensor y = compute("y", {i, j}, select(j >= 3, x(i, max(Expr(j) - 3, 0)), 0));
  Schedule s(y);
  s[y].copy_in(x, "row").specialize(size > 0);
  s["row"].compute_at("y", i);
  cases->push_back({"padded_for_some", y, s});
}

// Nothing of it is ever computed, whatever is said of its loops and its memory.
void add_empty(std::vector<ScheduledCase>* cases) {
  const Axis n("n", 0), i("i", 7), o("i", 3), k("k", 3);
  Tensor x = input("x", f32, {0, 7});
  Tensor a = compute("a", {n, i}, x(n, i) * 2.0f);
  Tensor sums = compute("sums", {n, o}, sum(k, a(n, o * 2 + k)));
  Tensor y = compute("y", {n, o}, sums(n, o) + 1.0f);
  Schedule hoisted(y), partial(y);
  hoisted[sums].reorder({n, o, k});
  hoisted[a].compute_at(sums, o).hoist_storage(sums, k);
  cases->push_back({"hoisted_for_an_empty_batch", y, hoisted});
  partial[sums].split(k, ro, ri, 2).rfactor(ri, "part").compute_at(y, xo);
  partial[y].split(o, xo, xi, 2, Tail::predicate);
  cases->push_back({"partial_sums_of_an_empty_batch", y, partial});
}

// Of an operand, only what one step of a loop reads is staged, whatever divisions and remainders
// the step makes of its index; and a reduction that reads nothing by its axis.
void add_steps(std::vector<ScheduledCase>* cases) {
  const Axis fused("fused");
  {
    const Axis i("i", 8), j("j", 9), ky("ky", 3), kx("kx", 4);
    Tensor x = input("x", f32, {10, 12}), w = weight("w", f32, {3, 4});
    Tensor y = compute("y", {i, j}, sum({ky, kx}, x(i + ky, j + kx) * w(ky, kx)));
    Schedule s(y);
    s[y].fuse(ky, kx, fused).reorder({j, i, fused});
    s[y].copy_in(x, "xs").copy_in(w, "ws");
    s["xs"].compute_at("y", fused);
    s["ws"].compute_at("y", fused);
    cases->push_back({"staged_in_a_fused_window", y, s});
  }
  {
    const Axis i("i", 4), j("j", 8), flat("flat", 32);
    Tensor a = compute("a", {i, j}, input("x", f32, {4, 8})(i, j) * 2.0f);
    Tensor y = compute("y", {flat}, a(flat / 8, flat % 8));
    Schedule s(y);
    s[a].compute_at(y, flat);
    cases->push_back({"staged_in_a_reshape", y, s});
  }
  {
    const Axis i("i", 6), k("k", 5);
    Tensor y = compute("y", {i}, sum(k, input("x", f32, {6})(i)));
    Schedule s(y);
    s[y].split(k, ro, ri, 4).vectorize(i, 2);
    cases->push_back({"sum_of_what_stays", y, s});
  }
  {
    const Extent size = Extent::size("B");
    const Axis r("r", size);
    Tensor x = input("x", f32, {size});
    Tensor y = compute("y", {}, sum(r, x(r) * input("z", f32, {size})(r)));
    Schedule s(y);
    s[y].split(r, ro, ri, 3, Tail::guard).fuse(ro, ri, fused).copy_in(x, "xs");
    s["xs"].compute_at("y", fused);
    cases->push_back({"staged_in_a_fused_guarded_sum", y, s});
  }
}

void add_layouts(std::vector<ScheduledCase>* cases) {
  add_blur(
      "hoisted",
      [](const Blur& b, Schedule* s) {
        (*s)[b.by].split(b.y, yo, yi, 4);
        (*s)[b.bx].compute_at(b.by, yi).hoist_storage(b.by, yo).store_in(Memory::heap);
      },
      cases);
  add_blur(
      "other_layout",
      [](const Blur& b, Schedule* s) {
        (*s)[b.bx].compute_at(b.by, b.y).reorder_storage({b.r, b.x}).align_storage(b.r, 4);
      },
      cases);
  add_blur(
      "aligned_at_the_root",
      [](const Blur& b, Schedule* s) {
        (*s)[b.bx].compute_root().align_storage(b.x, 16).vectorize(b.x, 8);
      },
      cases);
}

// y = p / the sum of its row, p where y will be; and a sum where what is made of it will be.
void add_outputs(std::vector<ScheduledCase>* cases) {
  const Extent rows = Extent::size("B");
  const Axis m("m", rows), n("n", 42), k("k", 7);
  Tensor x = input("x", f32, {rows, 42});
  Tensor p = compute("p", {m, n}, x(m, n) * x(m, n) + 1.0f);
  Tensor s = compute("s", {m}, sum(n, p(m, n)));
  Tensor y = compute("y", {m, n}, p(m, n) / s(m));
  Schedule by_rows(y);
  by_rows[y].vectorize(n, 8, Tail::predicate).parallel(m);
  by_rows[p].compute_at(y, m).vectorize(n, 8, Tail::shift_inwards).store_in_output(y);
  by_rows[s].compute_at(y, m);
  cases->push_back({"row_in_an_output", y, by_rows});
  Schedule all(y);
  all[y].vectorize(n, 8, Tail::guard);
  all[p].store_in_output(y);
  cases->push_back({"all_in_an_output", y, all});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * weight("w", f32, {7, 42})(k, n)));
  Tensor z = compute("z", {m, n}, max(mm(m, n), 0.0f));
  Schedule tiles(z);
  tiles[z].split(n, xo, xi, 14).parallel(m);
  tiles[mm].compute_at(z, xo).reorder({n, k, m}).vectorize(n, 8, Tail::predicate);
  tiles[mm].store_in_output(z);
  cases->push_back({"sum_in_an_output", z, tiles});
}

}  // namespace

void add_storage(std::vector<ScheduledCase>* cases) {
  add_windows(cases);
  add_chains(cases);
  add_other_readers(cases);
  add_kept_memory(cases);
  add_empty(cases);
  add_specialized_storage(cases);
  add_steps(cases);
  add_layouts(cases);
  add_outputs(cases);
}

}  // namespace emulsion
