#include "backends/halide/strip_argument_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "Halide.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// What Halide calls when a check of an argument fails.
const char* const kArgumentErrors[] = {
    "halide_error_access_out_of_bounds",
    "halide_error_bad_dimensions",
    "halide_error_bad_type",
    "halide_error_buffer_allocation_too_large",
    "halide_error_buffer_argument_is_null",
    "halide_error_buffer_extents_negative",
    "halide_error_buffer_extents_too_large",
    "halide_error_constraint_violated",
    "halide_error_constraints_make_required_region_smaller",
    "halide_error_device_dirty_with_no_device_support",
    "halide_error_host_is_null",
    "halide_error_unaligned_host_ptr",
};

class ArgumentCheckStripper : public hi::IRMutator {
 public:
  explicit ArgumentCheckStripper(const HalidePipeline& built) : fused_(built.fused) {
    for (const Halide::Func& output : built.outputs) {
      outputs_.emplace(output.name(), output.output_buffer().parameter());
    }
    for (const auto& [name, size] : built.sizes) {
      Halide::Expr is_empty = Halide::Expr(size) == 0;
      some_size_is_zero_ = some_size_is_zero_.defined() ? some_size_is_zero_ || is_empty : is_empty;
    }
  }

 private:
  using hi::IRMutator::visit;

  hi::Stmt visit(const hi::AssertStmt* op) override {
    Halide::Expr message = op->message;
    while (const hi::Let* let = message.as<hi::Let>()) message = let->body;
    const hi::Call* error = message.as<hi::Call>();
    if (error == nullptr) return op;
    auto is_error = [&](const char* name) { return error->name == name; };
    if (std::any_of(std::begin(kArgumentErrors), std::end(kArgumentErrors), is_error)) {
      return hi::Evaluate::make(0);
    }
    // A fused loop does not run where the inner one of the two is empty, but Halide speaks of what
    // its first step would need.
    if (error->name == "halide_error_explicit_bounds_too_small" && is_fused(*error) &&
        some_size_is_zero_.defined()) {
      return hi::AssertStmt::make(op->condition || some_size_is_zero_, op->message);
    }
    return op;
  }

  hi::Stmt visit(const hi::LetStmt* op) override {
    const hi::Call* call = op->value.as<hi::Call>();
    if (call == nullptr || call->name != std::string(hi::Call::buffer_get_host)) {
      return hi::IRMutator::visit(op);
    }
    Halide::Expr buffer = call->args[0];
    const hi::Variable* variable = buffer.as<hi::Variable>();
    if (variable == nullptr || !variable->param.defined()) return hi::IRMutator::visit(op);
    Halide::Expr is_empty;
    for (int d = 0; d < variable->param.dimensions(); ++d) {
      Halide::Expr extent = hi::Call::make(Halide::Int(32), hi::Call::buffer_get_extent,
                                           {buffer, d}, hi::Call::Extern);
      is_empty = is_empty.defined() ? is_empty || extent == 0 : extent == 0;
    }
    if (!is_empty.defined()) return hi::IRMutator::visit(op);
    Halide::Expr something = hi::Reinterpret::make(op->value.type(), buffer);
    return hi::LetStmt::make(op->name, hi::Select::make(is_empty, something, op->value),
                             mutate(op->body));
  }

  Halide::Expr visit(const hi::Load* op) override {
    auto output = outputs_.find(op->name);
    // A constant lies in the object file, and there Halide aligns it to less than its widest
    // vector.
    if (output == outputs_.end() && !op->image.defined()) return hi::IRMutator::visit(op);
    return hi::Load::make(op->type, op->name, mutate(op->index), op->image,
                          output == outputs_.end() ? op->param : output->second,
                          mutate(op->predicate), hi::ModulusRemainder());
  }

  // (variable, Func, ...)
  bool is_fused(const hi::Call& error) const {
    const hi::StringImm* func = error.args[1].as<hi::StringImm>();
    return func != nullptr && fused_.count(func->value) > 0;
  }

  Halide::Expr some_size_is_zero_;
  std::set<std::string> fused_;
  std::map<std::string, Halide::Parameter> outputs_;
};

}  // namespace

void strip_argument_checks(HalidePipeline* built) {
  built->pipeline.add_custom_lowering_pass(new ArgumentCheckStripper(*built));
}

}  // namespace emulsion
