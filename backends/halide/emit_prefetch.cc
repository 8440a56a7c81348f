#include "backends/halide/emit_prefetch.h"

#include <vector>

#include "passes/nest/prefetch_box.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// Asks memory for a box, one cache line at a time.
hi::Stmt touch(const Place& place, const std::vector<Halide::Expr>& mins,
               const std::vector<Halide::Expr>& extents, const std::string& name) {
  constexpr int kLineBytes = 64;
  const Halide::Type type = type_in_memory(place.type);
  Halide::Expr offset = place.offset(mins);
  std::vector<std::pair<std::string, Halide::Expr>> loops;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int step = hi::is_const_one(place.strides[d]) ? kLineBytes / type.bytes() : 1;
    const Halide::Expr steps = hi::simplify((extents[d] + (step - 1)) / step);
    if (hi::is_const_one(steps)) continue;
    loops.emplace_back(name + "." + std::to_string(d), steps);
    const Halide::Expr variable = hi::Variable::make(Halide::Int(32), loops.back().first);
    offset += variable * step * place.strides[d];
  }
  hi::Stmt result = hi::Evaluate::make(hi::Call::make(
      type, hi::Call::prefetch,
      {hi::Variable::make(Halide::Handle(), place.memory), hi::simplify(offset), 1, 1},
      hi::Call::Intrinsic));
  for (size_t i = loops.size(); i-- > 0;) {
    result = hi::For::make(loops[i].first, 0, loops[i].second, hi::ForType::Serial,
                           Halide::Partition::Auto, Halide::DeviceAPI::None, result);
  }
  return result;
}

class NearPrefetches : public hi::IRMutator {
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Call* op) override {
    if (!op->is_intrinsic(hi::Call::prefetch)) return hi::IRMutator::visit(op);
    constexpr int kRead = 0, kNear = 3, kData = 1;
    const Halide::Type address = Halide::UInt(64);
    const Halide::Expr bytes = Halide::cast(address, op->args[1]) * op->type.bytes();
    const Halide::Expr start = Halide::reinterpret(address, op->args[0]) + bytes;
    return hi::Call::make(Halide::Int(32), "llvm.prefetch.p0",
                          {Halide::reinterpret(Halide::Handle(), start), kRead, kNear, kData},
                          hi::Call::Extern);
  }
};

}  // namespace

hi::Stmt near_prefetches(const hi::Stmt& statement) { return NearPrefetches().mutate(statement); }

hi::Stmt emit_prefetch(const LoopNest& nest, const Loop& loop, const Prefetch& prefetch,
                       const Halide::Expr& end, const EmitScope& scope) {
  // A constant without values has no memory.
  if (scope.places.count(prefetch.buffer) == 0) return hi::Stmt();
  const Place& place = scope.place(prefetch.buffer);
  const auto box = prefetch_box(nest, loop, prefetch.buffer);
  if (box.size() != place.mins.size()) return hi::Stmt();
  const std::string& stepped = prefetch.ahead_of.empty() ? loop.variable() : prefetch.ahead_of;
  const Halide::Expr then =
      Halide::min(scope.variables.at(stepped) + static_cast<int32_t>(prefetch.distance), end - 1);
  EmitScope ahead = scope;
  ahead.variables[stepped] = then;
  std::vector<Halide::Expr> mins, extents;
  for (size_t d = 0; d < box.size(); ++d) {
    const Halide::Expr low = place.lowest(d), high = low + place.extents[d] - 1;
    const bool bounded = place.fold(d) == 0 && box[d];
    const Halide::Expr first = bounded ? clamp(ahead.index(box[d]->first), low, high) : low;
    const Halide::Expr last = bounded ? clamp(ahead.index(box[d]->last), low, high) : high;
    mins.push_back(hi::simplify(first));
    extents.push_back(hi::simplify(last - first + 1));
  }
  return touch(place, mins, extents, "prefetch_" + halide_name(loop.axis));
}

}  // namespace emulsion
