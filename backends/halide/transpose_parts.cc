#include "backends/halide/transpose_parts.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

constexpr int kPartBits = 128;

// Interleaved vectors: how many, and of what.
struct Interleaved {
  int values, bits;

  int in_part() const { return kPartBits / bits; }
  bool is_transposed(bool of_two) const {
    return (values == 4 && bits == 32) || (of_two && values == 2 && (bits == 32 || bits == 64));
  }
};

// Of each part of two vectors these elements; those of the second one count from `in_part` on.
Halide::Expr shuffle_parts(const Halide::Expr& a, const Halide::Expr& b,
                           const std::vector<int>& elements) {
  const int lanes = a.type().lanes(), in_part = static_cast<int>(elements.size());
  std::vector<int> indices;
  for (int part = 0; part < lanes; part += in_part) {
    for (const int element : elements) {
      indices.push_back(part + (element < in_part ? element : lanes + element - in_part));
    }
  }
  return hi::Shuffle::make({a, b}, indices);
}

// Of as many vectors, in memory one behind another, what is at `at` of each of their groups.
Halide::Expr taken_apart(const std::vector<Halide::Expr>& rows, int at, const Interleaved& of) {
  if (of.values == of.in_part()) return column(rows, at);
  return shuffle_parts(rows[0], rows[1], {at, at + 2, at + 4, at + 6});
}

// The one at `at` of those in memory, of what was taken apart so.
Halide::Expr put_together(const std::vector<Halide::Expr>& values, int at, const Interleaved& of) {
  if (of.values == of.in_part()) return column(values, at);
  return shuffle_parts(values[0], values[1], {2 * at, 2 * at + 4, 2 * at + 1, 2 * at + 5});
}

// What is computed lane by lane of every fourth or second element, in the order of transpositions.
class InParts : public hi::IRMutator {
 public:
  InParts(const Interleaved& of, int lanes) : of_(of), lanes_(lanes) {}

  // Whether all is.
  bool fits() const { return fits_ && is_taken_apart_; }

  Halide::Expr mutate(const Halide::Expr& e) override {
    if (!fits_ || e.type().is_scalar()) return e;
    return e.type().lanes() == lanes_ ? hi::IRMutator::mutate(e) : no(e);
  }

 private:
  using hi::IRMutator::mutate;
  using hi::IRMutator::visit;

  Halide::Expr no(const Halide::Expr& e) {
    fits_ = false;
    return e;
  }

  Halide::Expr visit(const hi::Shuffle* op) override {
    const bool is_group = op->vectors.size() == 1 && op->is_slice() &&
                          op->slice_stride() == of_.values && op->slice_begin() < of_.values &&
                          op->vectors[0].type().lanes() == of_.values * lanes_ &&
                          op->type.bits() == of_.bits;
    const auto* load = is_group ? op->vectors[0].as<hi::Load>() : nullptr;
    const auto* ramp = load == nullptr ? nullptr : load->index.as<hi::Ramp>();
    if (ramp == nullptr || !hi::is_const_one(ramp->stride) || !hi::is_const_one(load->predicate)) {
      return no(op);
    }
    is_taken_apart_ = true;
    std::vector<Halide::Expr> rows;
    for (int i = 0; i < of_.values; ++i) {
      const Halide::Expr index = hi::Ramp::make(hi::simplify(ramp->base + i * lanes_), 1, lanes_);
      rows.push_back(hi::Load::make(op->type, load->name, index, load->image, load->param,
                                    hi::const_true(lanes_), {}));
    }
    return taken_apart(rows, op->slice_begin(), of_);
  }
  Halide::Expr visit(const hi::Broadcast* op) override {
    return op->value.type().is_scalar() ? op : no(op);
  }
  Halide::Expr visit(const hi::Let* op) override {
    named_.insert(op->name);
    return hi::IRMutator::visit(op);
  }
  Halide::Expr visit(const hi::Variable* op) override {
    return named_.count(op->name) > 0 ? op : no(op);
  }
  Halide::Expr visit(const hi::Load* op) override { return no(op); }
  Halide::Expr visit(const hi::Ramp* op) override { return no(op); }
  Halide::Expr visit(const hi::VectorReduce* op) override { return no(op); }

  const Interleaved of_;
  const int lanes_;
  std::set<std::string> named_;
  bool fits_ = true, is_taken_apart_ = false;
};

class TransposeParts : public hi::IRMutator {
 public:
  explicit TransposeParts(bool of_two) : of_two_(of_two) {}

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    const auto* all = op->value.as<hi::Shuffle>();
    const auto* ramp = op->index.as<hi::Ramp>();
    if (all == nullptr || !all->is_interleave()) return op;
    const Interleaved of{static_cast<int>(all->vectors.size()), op->value.type().bits()};
    if (!of.is_transposed(of_two_)) return op;
    const int lanes = all->vectors[0].type().lanes();
    const bool is_dense = ramp != nullptr && hi::is_const_one(ramp->stride);
    // Of one part there is but one order.
    const bool has_parts = lanes % of.in_part() == 0 && lanes > of.in_part();
    if (!is_dense || !hi::is_const_one(op->predicate) || !has_parts) return op;
    InParts in_parts(of, lanes);
    std::vector<Halide::Expr> made;
    for (const Halide::Expr& value : all->vectors) made.push_back(in_parts.mutate(value));
    if (!in_parts.fits()) return op;
    std::vector<Halide::Expr> rows;
    for (int i = 0; i < of.values; ++i) rows.push_back(put_together(made, i, of));
    return hi::Store::make(op->name, hi::Shuffle::make_concat(rows), op->index, op->param,
                           op->predicate, op->alignment);
  }
  Stmt visit(const hi::Atomic* op) override { return op; }

  const bool of_two_;
};

}  // namespace

Halide::Expr column(const std::vector<Halide::Expr>& rows, int at) {
  const auto count = static_cast<int>(rows.size());
  if (count == 2) return shuffle_parts(rows[0], rows[1], {at, at + count});
  const int first = at / 2 * 2, second = at % 2 * 2;
  const std::vector<int> pairs = {first, first + count, first + 1, first + 1 + count};
  return shuffle_parts(shuffle_parts(rows[0], rows[1], pairs),
                       shuffle_parts(rows[2], rows[3], pairs),
                       {second, second + 1, second + count, second + 1 + count});
}

Stmt transpose_parts(const Stmt& statement, bool of_two) {
  return TransposeParts(of_two).mutate(statement);
}

}  // namespace emulsion
