#include "backends/interpreter/evaluate_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <unordered_map>

#include "backends/interpreter/scalar_functions.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using Instruction = ExprMachine::Instruction;
using Control = Instruction::Control;

std::string brackets(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

template <typename T>
T load_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store_as(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// An element stored as T, held as a double where floats are (`in_double`) or as what it is.
template <typename T, bool in_double>
Scalar load_element(const uint8_t* from) {
  Scalar result;
  if constexpr (std::is_same_v<T, bool>) {
    result.i = *from != 0;
  } else if constexpr (std::is_integral_v<T>) {
    result.i = load_as<T>(from);  // NOLINT(bugprone-signed-char-misuse): the sign stays
  } else if constexpr (std::is_same_v<T, double> || in_double) {
    result.d = load_as<T>(from);
  } else {
    result.f = static_cast<float>(load_as<T>(from));
  }
  return result;
}

template <typename T, bool in_double>
void store_element(uint8_t* to, Scalar value) {
  if constexpr (std::is_same_v<T, bool>) {
    *to = value.i != 0;
  } else if constexpr (std::is_integral_v<T>) {
    store_as(to, static_cast<T>(value.i));
  } else if constexpr (std::is_same_v<T, double> || in_double) {
    store_as(to, static_cast<T>(value.d));
  } else {
    store_as(to, static_cast<T>(value.f));
  }
}

Scalar load_rounded(const uint8_t* from) {
  Scalar result;
  result.d = static_cast<float>(load_as<double>(from));
  return result;
}

}  // namespace

void BufferView::set_block(const std::vector<int64_t>& mins, const std::vector<int64_t>& extents) {
  axes.resize(extents.size());
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    axes[d] = {mins[d], extents[d], stride, false};
    stride *= extents[d];
  }
}

void BufferView::set_block(const std::vector<int64_t>& extents) {
  set_block(std::vector<int64_t>(extents.size(), 0), extents);
}

// Compiles one expression. A shared subtree is evaluated once; what is computed inside a branch of
// a select is forgotten after it, since the branch may not have run.
class ExprCompiler {
 public:
  ExprCompiler(ExprMachine* machine, const ExprMachine::Scope& scope, bool is_index)
      : machine_(*machine), scope_(scope), is_index_(is_index) {}

  ExprMachine::Program compile(const Expr& expr) {
    program_.owner = scope_.owner;
    program_.dtype = expr.dtype();
    program_.result = slot_of(expr);
    return std::move(program_);
  }

 private:
  ScalarKind kind_of(DType dtype) const {
    switch (dtype) {
      case DType::boolean:
        return ScalarKind::integer;
      case DType::i8:
        return ScalarKind::i8;
      case DType::u8:
        return ScalarKind::u8;
      case DType::i16:
        return ScalarKind::i16;
      case DType::u16:
        return ScalarKind::u16;
      case DType::i32:
        return is_index_ ? ScalarKind::integer : ScalarKind::i32;
      case DType::f32:
        return machine_.f64_arithmetic_ ? ScalarKind::f64 : ScalarKind::f32;
      case DType::f64:
        return ScalarKind::f64;
      case DType::bf16:
        break;
    }
    fail("{}: expected a type with kernels ({}), got {}", scope_.owner, computable_dtypes(),
         to_string(dtype));
  }

  int slot_of(const Expr& expr) {
    auto found = done_.find(&expr.node());
    if (found != done_.end()) return found->second;
    int slot = compile_node(expr.node());
    done_.emplace(&expr.node(), slot);
    order_.push_back(&expr.node());
    return slot;
  }

  int compile_node(const ExprNode& node) {
    ScalarKind kind = kind_of(node.dtype);
    switch (node.op) {
      case ExprOp::constant:
        return constant_slot(node, kind);
      case ExprOp::axis:
        return scope_.axis(node.name);
      case ExprOp::size:
        return scope_.size(node.name);
      case ExprOp::read:
        return compile_read(node);
      case ExprOp::select:
        return compile_select(node);
      case ExprOp::cast: {
        int arg = slot_of(node.args[0]);
        return emit(cast_function(node.dtype, kind, kind_of(node.args[0].dtype())), arg, arg);
      }
      default:
        break;
    }
    EMULSION_CHECK(node.op != ExprOp::reduce, "{}: a reduction inside an expression", scope_.owner);
    int a = slot_of(node.args[0]);
    int b = node.args.size() > 1 ? slot_of(node.args[1]) : a;
    const ScalarKind arguments = kind_of(node.args[0].dtype());
    const int result = emit(scalar_function(node.op, arguments), a, b);
    if (arguments == ScalarKind::integer) {
      Control& control = program_.code.back().control;
      if (node.op == ExprOp::add) control = Control::add;
      if (node.op == ExprOp::mul) control = Control::multiply;
    }
    return result;
  }

  int constant_slot(const ExprNode& node, ScalarKind kind) {
    int slot = machine_.add_slot(node.int_value);
    Scalar& value = machine_.slots_[static_cast<size_t>(slot)];
    if (kind == ScalarKind::f32) value.f = static_cast<float>(node.float_value);
    if (kind == ScalarKind::f64) value.d = node.float_value;
    return slot;
  }

  int compile_read(const ExprNode& node) {
    std::vector<int> slots;
    for (const Expr& index : node.args) slots.push_back(slot_of(index));
    Instruction read;
    read.control = Control::read;
    read.args[0] = scope_.buffer(node);
    read.args[1] = static_cast<int>(program_.index_slots.size());
    const BufferView& view = machine_.buffer(read.args[0]);
    EMULSION_CHECK(view.dtype == node.dtype, "{} reads {} as {}, it is {}", scope_.owner, view.name,
                   to_string(node.dtype), to_string(view.dtype));
    EMULSION_CHECK(view.axes.size() == slots.size(), "{} reads {} with {} indices for {} axes",
                   scope_.owner, view.name, slots.size(), view.axes.size());
    read.load = machine_.load_function(view, scope_.owner);
    read.element_size = static_cast<uint8_t>(view.element_size());
    read.result = machine_.add_slot();
    program_.index_slots.insert(program_.index_slots.end(), slots.begin(), slots.end());
    program_.code.push_back(read);
    return read.result;
  }

  int compile_select(const ExprNode& node) {
    int condition = slot_of(node.args[0]);
    int result = machine_.add_slot();
    size_t to_false = jump(Control::jump_if_zero, condition);
    compile_branch(node.args[1], result);
    size_t to_end = jump(Control::jump, 0);
    program_.code[to_false].args[1] = static_cast<int>(program_.code.size());
    compile_branch(node.args[2], result);
    program_.code[to_end].args[1] = static_cast<int>(program_.code.size());
    return result;
  }

  void compile_branch(const Expr& expr, int result) {
    const size_t known = order_.size();
    int slot = slot_of(expr);
    Instruction move;
    move.compute = move_function();
    move.result = result;
    move.args[0] = slot;
    program_.code.push_back(move);
    while (order_.size() > known) {
      done_.erase(order_.back());
      order_.pop_back();
    }
  }

  size_t jump(Control control, int condition) {
    Instruction instruction;
    instruction.control = control;
    instruction.args[0] = condition;
    program_.code.push_back(instruction);
    return program_.code.size() - 1;
  }

  int emit(ScalarFunction function, int a, int b) {
    Instruction instruction;
    instruction.compute = function;
    instruction.result = machine_.add_slot();
    instruction.args[0] = a;
    instruction.args[1] = b;
    program_.code.push_back(instruction);
    return instruction.result;
  }

  ExprMachine& machine_;
  const ExprMachine::Scope& scope_;
  bool is_index_;
  ExprMachine::Program program_;
  std::unordered_map<const ExprNode*, int> done_;
  std::vector<const ExprNode*> order_;
};

int ExprMachine::add_slot(int64_t value) {
  Scalar slot;
  slot.i = value;
  slots_.push_back(slot);
  return static_cast<int>(slots_.size()) - 1;
}

int ExprMachine::add_buffer(BufferView view) {
  buffers_.push_back(std::move(view));
  return static_cast<int>(buffers_.size()) - 1;
}

ExprMachine::Program ExprMachine::compile(const Expr& expr, const Scope& scope) {
  return ExprCompiler(this, scope, false).compile(expr);
}

ExprMachine::Program ExprMachine::compile_index(const Expr& expr, const Scope& scope) {
  EMULSION_CHECK(!is_float(expr.dtype()), "{}: an index of type {}", scope.owner,
                 to_string(expr.dtype()));
  return ExprCompiler(this, scope, true).compile(expr);
}

ExprMachine::Assignment ExprMachine::assignment(Program value, int buffer,
                                                std::vector<int> index) const {
  const BufferView& view = buffers_[static_cast<size_t>(buffer)];
  Assignment result;
  result.value_ = std::move(value);
  result.buffer_ = buffer;
  result.index_ = std::move(index);
  result.store_ = store_function(view);
  result.element_size_ = static_cast<uint8_t>(view.element_size());
  return result;
}

Scalar ExprMachine::evaluate(const Program& program) {
  Scalar* slots = slots_.data();
  const size_t size = program.code.size();
  size_t at = 0;
  while (at < size) {
    const Instruction& instruction = program.code[at++];
    switch (instruction.control) {
      case Control::compute:
        slots[instruction.result] =
            instruction.compute(slots[instruction.args[0]], slots[instruction.args[1]]);
        break;
      case Control::add:
        slots[instruction.result].i = slots[instruction.args[0]].i + slots[instruction.args[1]].i;
        break;
      case Control::multiply:
        slots[instruction.result].i = slots[instruction.args[0]].i * slots[instruction.args[1]].i;
        break;
      case Control::read:
        slots[instruction.result] =
            instruction.load(locate(buffers_[static_cast<size_t>(instruction.args[0])],
                                    program.index_slots.data() + instruction.args[1],
                                    instruction.element_size, program.owner, "reads"));
        break;
      case Control::jump:
        at = static_cast<size_t>(instruction.args[1]);
        break;
      case Control::jump_if_zero:
        if (slots[instruction.args[0]].i == 0) at = static_cast<size_t>(instruction.args[1]);
        break;
    }
  }
  return slots[program.result];
}

uint8_t* ExprMachine::locate(const BufferView& view, const int* index_slots, uint8_t element_size,
                             const std::string& owner, const char* action) const {
  if (!view.live) refuse_index(view, index_slots, owner, action);
  int64_t offset = 0;
  const int* slot = index_slots;
  for (const BufferView::AxisView& axis : view.axes) {
    int64_t index = slots_[static_cast<size_t>(*slot++)].i - axis.min;
    if (axis.folded) index = (index % axis.extent + axis.extent) % axis.extent;
    if (index < 0 || index >= axis.extent) refuse_index(view, index_slots, owner, action);
    offset += index * axis.stride;
  }
  return view.data + offset * element_size;
}

void ExprMachine::refuse_index(const BufferView& view, const int* index_slots,
                               const std::string& owner, const char* action) const {
  std::vector<int64_t> index, mins, extents;
  for (const BufferView::AxisView& axis : view.axes) {
    index.push_back(slots_[static_cast<size_t>(*index_slots++)].i);
    mins.push_back(axis.min);
    extents.push_back(axis.extent);
  }
  std::string message =
      view.live
          ? fmt::format("{} {} {}{}: expected an index from {}, {} of them on each axis", owner,
                        action, view.name, brackets(index), brackets(mins), brackets(extents))
          : fmt::format("{} {} {}{}: no storage is live here", owner, action, view.name,
                        brackets(index));
  if (out_of_bounds_ == OutOfBounds::error) throw Error(message);
  throw InternalError(message);
}

LoadFunction ExprMachine::load_function(const BufferView& view, const std::string& reader) const {
  if (view.wide) return view.name == reader ? load_element<double, true> : load_rounded;
  return visit_element(view.dtype, [&](auto type) -> LoadFunction {
    using T = decltype(type);
    return f64_arithmetic_ ? load_element<T, true> : load_element<T, false>;
  });
}

StoreFunction ExprMachine::store_function(const BufferView& view) const {
  if (view.wide) return store_element<double, true>;
  return visit_element(view.dtype, [&](auto type) -> StoreFunction {
    using T = decltype(type);
    return f64_arithmetic_ ? store_element<T, true> : store_element<T, false>;
  });
}

uint8_t* ExprMachine::locate_target(const Assignment& assignment) {
  return locate(buffers_[static_cast<size_t>(assignment.buffer_)], assignment.index_.data(),
                assignment.element_size_, assignment.value_.owner, "writes");
}

void ExprMachine::run_store(const Assignment& assignment) {
  const BufferView& view = buffers_[static_cast<size_t>(assignment.buffer_)];
  std::vector<uint8_t> poison(static_cast<size_t>(view.element_size()));
  fill_with_poison(view.wide ? DType::f64 : view.dtype, &poison);
  std::copy(poison.begin(), poison.end(), locate_target(assignment));
}

void ExprMachine::run(const Assignment& assignment) {
  const Scalar value = evaluate(assignment.value_);
  assignment.store_(locate_target(assignment), value);
}

}  // namespace emulsion
