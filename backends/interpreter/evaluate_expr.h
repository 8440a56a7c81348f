#ifndef EMULSION_BACKENDS_INTERPRETER_EVALUATE_EXPR_H_
#define EMULSION_BACKENDS_INTERPRETER_EVALUATE_EXPR_H_

// Scalar expressions, run: what both interpreters have in common. An Expr is compiled once into a
// flat list of instructions over numbered slots (one machine-wide array of scalars), because
// walking shared trees with named variables for every element would make the oracle too slow to be
// asked often.
//
// Values: bool and integers are held as 64-bit integers, f32 as float, f64 as double. With f64
// arithmetic, f32 is held as double too and rounded only where a value is written. Integer results
// wrap in their type; the i32 of an index expression (a point, a guard) does not. Every element
// read or written is checked against its buffer.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/interpreter/scalar_functions.h"
#include "dsl/expr.h"
#include "dsl/types.h"

namespace emulsion {

// The elements of one tensor, or of the part of it that is stored: along each axis `extent` of them
// from `min` on, `stride` elements apart; along a folded axis any index, i where i mod extent is.
struct BufferView {
  struct AxisView {
    int64_t min = 0, extent = 0, stride = 0;
    bool folded = false;
  };

  std::string name;
  DType dtype = DType::f32;
  bool wide = false;  // f32 stored as double: an accumulator, rounded when another stage reads it
  uint8_t* data = nullptr;  // null: not live now
  bool live = false;
  std::vector<AxisView> axes;

  int element_size() const { return wide ? 8 : size_in_bytes(dtype); }
  // A dense row-major block.
  void set_block(const std::vector<int64_t>& mins, const std::vector<int64_t>& extents);
  // One that starts at 0.
  void set_block(const std::vector<int64_t>& extents);
};

// How the bytes of an element become a value, and a value the bytes of an element.
using LoadFunction = Scalar (*)(const uint8_t* from);
using StoreFunction = void (*)(uint8_t* to, Scalar value);

// Whose fault an index outside its buffer is: of the graph's author (Error), or ours
// (InternalError).
enum class OutOfBounds : uint8_t { error, internal_error };

class ExprMachine {
 public:
  struct Instruction {
    // add and multiply: of integers that do not wrap, which most indices are made of.
    enum class Control : uint8_t { compute, add, multiply, read, jump, jump_if_zero };
    Control control = Control::compute;
    uint8_t element_size = 0;  // read: bytes
    union {
      ScalarFunction compute = nullptr;
      LoadFunction load;  // read
    };
    int result = 0;
    int args[2] = {0, 0};  // slots; read: buffer, position in index_slots; jumps: slot, target
  };

  struct Program {
    std::string owner;  // the stage, for messages
    std::vector<Instruction> code;
    std::vector<int> index_slots;
    int result = 0;
    DType dtype = DType::i32;
  };

  // What the names in an expression mean.
  struct Scope {
    std::string owner;
    std::function<int(const std::string& name)> axis;  // -> slot
    std::function<int(const std::string& name)> size;  // run-time size -> slot
    std::function<int(const ExprNode& read)> buffer;   // read -> buffer
  };

  // buffer[slots...] = value. assignment() makes one.
  class Assignment {
   public:
    Assignment() = default;  // none

   private:
    friend class ExprMachine;
    Program value_;
    int buffer_ = 0;
    std::vector<int> index_;
    StoreFunction store_ = nullptr;
    uint8_t element_size_ = 0;  // bytes
  };

  ExprMachine(bool f64_arithmetic, OutOfBounds out_of_bounds)
      : f64_arithmetic_(f64_arithmetic), out_of_bounds_(out_of_bounds) {}

  int add_slot(int64_t value = 0);
  int64_t& integer(int slot) { return slots_[static_cast<size_t>(slot)].i; }
  int add_buffer(BufferView view);
  BufferView& buffer(int id) { return buffers_[static_cast<size_t>(id)]; }

  // A stage's value; Error for a type without kernels (bf16).
  Program compile(const Expr& expr, const Scope& scope);
  // A point, a guard, a min: integers that do not wrap.
  Program compile_index(const Expr& expr, const Scope& scope);

  // The buffer's type, and whether it is wide, must not change before the last run.
  Assignment assignment(Program value, int buffer, std::vector<int> index) const;

  int64_t run_index(const Program& program) {
    return program.code.empty() ? integer(program.result) : evaluate(program).i;
  }
  void run(const Assignment& assignment);
  // Only what it loads: nothing is written.
  void run_loads(const Assignment& assignment) { evaluate(assignment.value_); }
  // Only its store, of poison: nothing is loaded.
  void run_store(const Assignment& assignment);

 private:
  friend class ExprCompiler;
  Scalar evaluate(const Program& program);
  uint8_t* locate_target(const Assignment& assignment);
  // Where the element is, in a buffer whose elements have `element_size` bytes; refuses an index
  // outside the view.
  uint8_t* locate(const BufferView& view, const int* index_slots, uint8_t element_size,
                  const std::string& owner, const char* action) const;
  [[noreturn]] void refuse_index(const BufferView& view, const int* index_slots,
                                 const std::string& owner, const char* action) const;
  LoadFunction load_function(const BufferView& view, const std::string& reader) const;
  StoreFunction store_function(const BufferView& view) const;

  bool f64_arithmetic_;
  OutOfBounds out_of_bounds_;
  std::vector<Scalar> slots_;
  std::vector<BufferView> buffers_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_EVALUATE_EXPR_H_
