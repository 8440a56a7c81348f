#include "backends/halide/entry_module.h"

#include <fmt/format.h>

#include "backends/entry/check_library.h"
#include "backends/entry/descriptor_text.h"
#include "backends/entry/index_needs.h"
#include "backends/entry/kernel_symbols.h"
#include "backends/entry/run_time_sizes.h"
#include "backends/entry/storage_needs.h"
#include "backends/halide/emit_nest.h"
#include "backends/halide/emit_places.h"
#include "backends/halide/translate_expr.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using hi::Call;

// The same expression in 64 bits, where no extent overflows.
Halide::Expr in_64_bits(const Halide::Expr& expr) {
  class Widener : public hi::IRMutator {
    using hi::IRMutator::visit;

    Halide::Expr visit(const hi::IntImm* op) override {
      return hi::IntImm::make(Halide::Int(64), op->value);
    }
    Halide::Expr visit(const hi::Variable* op) override {
      return hi::Cast::make(Halide::Int(64), op);
    }
  } widener;
  return widener.mutate(expr);
}

class EntryBuilder {
 public:
  explicit EntryBuilder(const Entry& entry) : entry_(entry) {
    for (const Buffer* argument : entry.nest->arguments()) {
      buffers_.push_back(buffer_handle(argument->name));
      arguments_.push_back(buffer_argument(*argument, argument->name));
    }
  }

  // `own`: what it is called here and nowhere else.
  void append_to(Halide::Module* module, const std::string& own) const {
    Halide::Expr descriptor = hi::StringImm::make(descriptor_text(*entry_.nest, entry_.name));
    Halide::Expr array = Call::make(Halide::type_of<halide_buffer_t**>(), Call::make_struct,
                                    buffers_, Call::Intrinsic);
    Halide::Expr check = call("emulsion_check_arguments", {descriptor, array});
    const auto add = [&](const std::string& name, const hi::Stmt& body) {
      module->append(hi::LoweredFunc(name, arguments_, body,
                                     Halide::LinkageType::ExternalPlusMetadata,
                                     Halide::NameMangling::C));
    };
    add(own, returning_code_of("check", check, with_sizes(dispatch())));
    add(entry_.name, returning_code_of("result", call(own, buffers_)));
  }

 private:
  // let name = call in { leave with it when it is not 0; rest }
  static hi::Stmt returning_code_of(const std::string& name, const Halide::Expr& call,
                                    const hi::Stmt& rest = hi::Stmt()) {
    Halide::Expr code = hi::Variable::make(Halide::Int(32), name);
    hi::Stmt leave = hi::AssertStmt::make(code == 0, code);
    return hi::LetStmt::make(name, call, rest.defined() ? hi::Block::make(leave, rest) : leave);
  }

  static Halide::Expr call(const std::string& function, const std::vector<Halide::Expr>& args) {
    return Call::make(Halide::Int(32), function, args, Call::Extern);
  }

  // Of an expression over sizes.
  static Halide::Expr value_of(const Expr& expr) {
    HalideScope sizes;
    sizes.size = [](const std::string& size) {
      return hi::Variable::make(Halide::Int(32), size_argument(size));
    };
    return translate_expr(expr, sizes);
  }

  static Halide::Expr wide_value_of(const Expr& expr) { return in_64_bits(value_of(expr)); }

  hi::Stmt with_sizes(hi::Stmt rest) const {
    const std::vector<SizeSource> sources = size_sources(*entry_.nest);
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
      const size_t rank = entry_.nest->arguments()[source->argument]->shape.size();
      const auto dimension = static_cast<int>(rank - 1 - source->axis);
      const Halide::Expr extent =
          call(Call::buffer_get_extent, {buffers_[source->argument], dimension});
      const Halide::Expr value = (extent - value_of(extent_value(source->rest))) /
                                 static_cast<int32_t>(source->coefficient);
      rest = hi::LetStmt::make(size_argument(source->size), value, rest);
    }
    return rest;
  }

  hi::Stmt call_body(const TargetBody& target_body) const {
    std::vector<Halide::Expr> arguments;
    for (const auto& size : entry_.nest->sizes) arguments.push_back(value_of(size_value(size)));
    arguments.insert(arguments.end(), buffers_.begin(), buffers_.end());
    std::vector<hi::Stmt> steps;
    for (const IndexNeed& need : index_needs(*target_body.nest)) {
      steps.push_back(checked_when(
          need.when, call("emulsion_check_index", {entry_.name, need.part, wide_value_of(need.low),
                                                   wide_value_of(need.high)})));
    }
    for (const StorageNeed& need : storage_needs(*target_body.nest)) {
      steps.push_back(check_storage(need));
    }
    steps.push_back(returning_code_of("result", call(target_body.function, arguments)));
    return hi::Block::make(steps);
  }

  hi::Stmt check_storage(const StorageNeed& need) const {
    std::vector<Halide::Expr> extents;
    for (const Expr& e : need.extents) extents.push_back(wide_value_of(e));
    const Halide::Expr array =
        Call::make(Halide::type_of<int64_t*>(), Call::make_struct, extents, Call::Intrinsic);
    return checked_when(
        need.when, call("emulsion_check_storage", {entry_.name, need.stage, to_string(need.dtype),
                                                   static_cast<int32_t>(size_in_bytes(need.dtype)),
                                                   static_cast<int32_t>(extents.size()), array}));
  }

  // Undefined: always.
  static hi::Stmt checked_when(const Expr& condition, const Halide::Expr& call) {
    const hi::Stmt check = returning_code_of("fits", call);
    return condition.defined() ? hi::IfThenElse::make(wide_value_of(condition), check) : check;
  }

  // Undefined when any processor will do.
  static Halide::Expr can_run(const Target& target) {
    if (target.features.empty()) return Halide::Expr();
    std::vector<uint64_t> words((Halide::Target::FeatureEnd + 63) / 64, 0);
    for (const std::string& name : target.features) {
      const Halide::Target::Feature feature = Halide::Target::feature_from_name(name);
      words[feature / 64] |= uint64_t{1} << (feature % 64);
    }
    const std::vector<Halide::Expr> values(words.begin(), words.end());
    Halide::Expr array =
        Call::make(Halide::type_of<uint64_t*>(), Call::make_struct, values, Call::Intrinsic);
    const auto count = static_cast<int32_t>(words.size());
    const Halide::Expr has = call("halide_can_use_target_features", {count, array}) != 0;
    const int zen = zen_generation(target);
    // Halide's test ignores Zen's features on other makers' CPUs: backends/runtime/processor.h.
    return zen == 0 ? has : has && call("emulsion_zen_generation", {}) >= zen;
  }

  hi::Stmt dispatch() const {
    std::vector<std::string> legal;
    for (const TargetBody& body : entry_.bodies) {
      legal.push_back(fmt::format("{}", fmt::join(body.target.features, "-")));
    }
    const std::string wanted = fmt::format("the processor has {}", fmt::join(legal, " or "));
    hi::Stmt otherwise = returning_code_of(
        "refused", call("halide_error_requirement_failed", {wanted, entry_.name}));
    for (size_t i = entry_.bodies.size(); i-- > 0;) {
      Halide::Expr condition = can_run(entry_.bodies[i].target);
      const hi::Stmt body = call_body(entry_.bodies[i]);
      otherwise = condition.defined() ? hi::IfThenElse::make(condition, body, otherwise) : body;
    }
    return otherwise;
  }

  const Entry& entry_;
  std::vector<Halide::Expr> buffers_;  // in the order of the arguments
  std::vector<hi::LoweredArgument> arguments_;
};

}  // namespace

Halide::Module entry_module(const std::string& name, const std::vector<Entry>& entries,
                            const std::string& identity) {
  // With assertions: they are how a statement of Halide's leaves a function.
  Halide::Module module(name, Halide::Target("x86-64-linux-no_bounds_query-no_runtime"));
  for (const Entry& entry : entries) {
    EMULSION_CHECK(!entry.bodies.empty(), "entry {}: no bodies", entry.name);
    EntryBuilder(entry).append_to(&module, own_symbol(entry.name, identity));
  }
  return module;
}

}  // namespace emulsion
