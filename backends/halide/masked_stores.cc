#include "backends/halide/masked_stores.h"

#include <cstdint>
#include <optional>
#include <string>

#include "backends/halide/first_lanes.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Stmt;

// The first lanes of a vector that are stored, by the bits of their number.
class Parts {
 public:
  Parts(const hi::Store& store, const Halide::Expr& count) : store_(store), count_(count) {}

  // Of a vector of twice as many lanes, of which not all are stored; `at`: of its first one.
  Stmt of(int lanes, const Halide::Expr& vector, const Halide::Expr& at) const {
    const Halide::Expr bit = count_ & lanes, is_stored = bit != 0;
    const Halide::Expr first = slice(vector, 0, lanes);
    Stmt stored = hi::IfThenElse::make(is_stored, whole(first, at));
    if (lanes == 1) return stored;
    const Halide::Expr rest =
        hi::Select::make(hi::Broadcast::make(is_stored, lanes), slice(vector, lanes, lanes), first);
    const std::string name = hi::unique_name("rest"), place = hi::unique_name("at");
    const Stmt more =
        of(lanes / 2, hi::Variable::make(rest.type(), name), hi::Variable::make(at.type(), place));
    return hi::Block::make(stored,
                           hi::LetStmt::make(name, rest, hi::LetStmt::make(place, at + bit, more)));
  }

  Stmt whole(const Halide::Expr& value, const Halide::Expr& at) const {
    const int lanes = value.type().lanes();
    const Halide::Expr index = lanes == 1 ? at : hi::Ramp::make(at, 1, lanes);
    return hi::Store::make(store_.name, value, index, store_.param, hi::const_true(lanes), {});
  }

 private:
  static Halide::Expr slice(const Halide::Expr& vector, int begin, int lanes) {
    if (lanes == 1) return hi::Shuffle::make_extract_element(vector, begin);
    return hi::Shuffle::make_slice(vector, begin, 1, lanes);
  }

  const hi::Store& store_;
  const Halide::Expr count_;
};

class MaskedStores : public hi::IRMutator {
 public:
  explicit MaskedStores(int least_bits) : least_bits_(least_bits) {}

 private:
  using hi::IRMutator::visit;

  Stmt visit(const hi::Store* op) override {
    const Halide::Type type = op->value.type();
    const int lanes = type.lanes();
    const bool is_power = lanes > 1 && (lanes & (lanes - 1)) == 0;
    const auto* ramp = op->index.as<hi::Ramp>();
    const bool is_dense = ramp != nullptr && hi::is_const_one(ramp->stride);
    if (type.bits() >= least_bits_ || type.bits() < 8 || !is_power || !is_dense) return op;
    if (hi::is_const_one(op->predicate)) return op;
    const std::optional<Halide::Expr> stored = first_lanes(op->predicate, lanes);
    if (!stored) return op;
    const std::string vector = hi::unique_name("masked"), count = hi::unique_name("count");
    const Halide::Expr value = hi::Variable::make(type, vector);
    const Halide::Expr number = hi::Variable::make(Halide::Int(32), count);
    const Parts parts(*op, number);
    const Stmt made = hi::IfThenElse::make(number == lanes, parts.whole(value, ramp->base),
                                           parts.of(lanes / 2, value, ramp->base));
    return hi::LetStmt::make(vector, op->value,
                             hi::LetStmt::make(count, hi::simplify(max(*stored, 0)), made));
  }

  const int least_bits_;
};

}  // namespace

Stmt store_masked_parts(const Stmt& statement, int least_bits) {
  return MaskedStores(least_bits).mutate(statement);
}

}  // namespace emulsion
