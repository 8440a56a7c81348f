#include "backends/interpreter/interpret_nest.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/interpreter/evaluate_expr.h"
#include "dsl/error.h"
#include "dsl/stack_room.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

using Program = ExprMachine::Program;

// A node, ready to run: names resolved to slots, expressions compiled, extents evaluated.
struct Step {
  enum class Kind : uint8_t { sequence, loop, alloc, uop };
  Kind kind = Kind::sequence;
  std::vector<size_t> children;  // positions in the list of all steps
  // loop
  int slot = 0;
  Program min, extent;
  bool backwards = false;
  // alloc
  int buffer = 0;
  std::vector<Program> mins;
  std::vector<int64_t> extents;
  StorageLayout layout;
  int output = -1;  // the buffer in whose memory it is
  // uOps
  std::vector<std::pair<Program, GuardMask>> guards;
  std::vector<std::pair<int, Program>> point;  // of the stage's axes, by slot: those to be computed
  ExprMachine::Assignment assignment;
};

size_t count_of(const std::vector<int64_t>& extents) {
  TensorValue shape;
  shape.shape = extents;
  return static_cast<size_t>(shape.element_count());
}

class NestInterpreter {
 public:
  NestInterpreter(const LoopNest& nest, const TensorValues& arguments,
                  const InterpretOptions& options)
      : nest_(nest),
        options_(options),
        machine_(options.f64_accumulation, OutOfBounds::internal_error) {
    std::vector<DeclaredTensor> declared;
    for (const Buffer* buffer : nest.arguments()) {
      if (buffer->role != BufferRole::output) {
        declared.push_back({buffer->name, buffer->dtype, buffer->shape});
      }
    }
    sizes_ = bind_arguments(declared, arguments, options.sizes);
    for (const std::string& size : nest_.sizes)
      Extent::size(size).evaluate(sizes_);  // each is known
    for (const auto& [name, value] : sizes_) size_slots_[name] = machine_.add_slot(value);
    storage_.resize(nest.buffers.size());
    for (size_t i = 0; i < nest.buffers.size(); ++i) add_buffer(nest.buffers[i], i, arguments);
  }

  TensorValues run() {
    EMULSION_CHECK(nest_.root != nullptr, "nest {} has no root", nest_.name);
    execute(compile(*nest_.root));
    TensorValues outputs;
    for (size_t i = 0; i < nest_.buffers.size(); ++i) {
      if (nest_.buffers[i].role == BufferRole::output) {
        outputs.emplace(nest_.buffers[i].name, output_value(i));
      }
    }
    return outputs;
  }

 private:
  // Buffer ids of the machine are positions in nest_.buffers.
  void add_buffer(const Buffer& buffer, size_t position, const TensorValues& arguments) {
    BufferView view;
    view.name = buffer.name;
    view.dtype = buffer.dtype;
    std::vector<int64_t> extents(buffer.shape.size(), 0);
    std::vector<uint8_t>& bytes = storage_[position];
    switch (buffer.role) {
      case BufferRole::input:
      case BufferRole::weight:
        bytes = arguments.at(buffer.name).bytes;
        break;
      case BufferRole::constant:
        EMULSION_CHECK(buffer.data != nullptr, "constant {} has no data", buffer.name);
        bytes = *buffer.data;
        break;
      case BufferRole::output:
      case BufferRole::internal:
        view.wide = options_.f64_accumulation && buffer.dtype == DType::f32 &&
                    nest_.stage(buffer.name).is_reduction();
        break;
    }
    if (buffer.role != BufferRole::internal) {
      bool output = buffer.role == BufferRole::output;
      extents = evaluate_shape((output ? "output " : "") + buffer.name, buffer.shape, sizes_);
      size_t size = count_of(extents) * static_cast<size_t>(view.element_size());
      if (output) {
        bytes.resize(size);
        fill_with_poison(view.wide ? DType::f64 : view.dtype, &bytes);
      }
      EMULSION_CHECK(bytes.size() == size, "{} has {} bytes, expected {}", buffer.name,
                     bytes.size(), size);
      view.live = true;
      view.data = bytes.data();
    }
    view.set_block(extents);
    machine_.add_buffer(std::move(view));
  }

  TensorValue output_value(size_t position) {
    const BufferView& view = machine_.buffer(static_cast<int>(position));
    TensorValue value =
        zeros(view.dtype, evaluate_shape(view.name, nest_.buffers[position].shape, sizes_));
    if (!view.wide) {
      value.bytes = storage_[position];
      return value;
    }
    const double* from = reinterpret_cast<const double*>(view.data);
    for (int64_t i = 0; i < value.element_count(); ++i) {
      value.data<float>()[i] = static_cast<float>(from[i]);
    }
    return value;
  }

  // The position of the step that the node becomes.
  size_t compile(const Node& node) {
    size_t position = 0;
    with_stack_room([&] { position = compile_here(node); });
    return position;
  }

  size_t compile_here(const Node& node) {
    if (const Branch* branch = node.as<Branch>()) return compile(*chosen_side(*branch, sizes_));
    if (const Loop* loop = node.as<Loop>()) return compile_loop(*loop);
    // What a hoisted alloc holds is poison at first, as without it.
    Step step;
    if (const Alloc* alloc = node.as<Alloc>()) compile_alloc(*alloc, &step);
    if (const UopNode* uop = node.as<UopNode>()) compile_uop(*uop, &step);
    for_each_child(node, [&](const NodePtr& child) { step.children.push_back(compile(*child)); });
    return add_step(std::move(step));
  }

  size_t compile_loop(const Loop& loop) {
    const std::string variable = loop.variable();
    EMULSION_CHECK(variables_.count(variable) == 0, "loop {} inside itself", variable);
    Step step;
    step.kind = Step::Kind::loop;
    step.min = machine_.compile_index(loop.min, scope_of(loop.stage, variables_));
    step.extent = machine_.compile_index(loop.extent, scope_of(loop.stage, variables_));
    step.slot = machine_.add_slot();
    step.backwards = options_.reverse_parallel && loop.kind == LoopKind::parallel;
    variables_[variable] = step.slot;
    step.children.push_back(compile(*loop.body));
    variables_.erase(variable);
    return add_step(std::move(step));
  }

  size_t add_step(Step step) {
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
  }

  void compile_alloc(const Alloc& alloc, Step* step) {
    step->kind = Step::Kind::alloc;
    ExprMachine::Scope scope = scope_of(alloc.stage, variables_);
    step->buffer = nest_.buffer_position(alloc.stage);
    EMULSION_CHECK(nest_.buffers[static_cast<size_t>(step->buffer)].role == BufferRole::internal,
                   "alloc of {}, which is not internal", alloc.stage);
    EMULSION_CHECK(alloc.mins.size() == alloc.extents.size() &&
                       alloc.mins.size() == nest_.stage(alloc.stage).axes.size(),
                   "alloc of {} with {} mins and {} extents", alloc.stage, alloc.mins.size(),
                   alloc.extents.size());
    for (const Expr& min : alloc.mins) step->mins.push_back(machine_.compile_index(min, scope));
    for (const Expr& extent : alloc.extents) {
      step->extents.push_back(std::max<int64_t>(0, evaluate_index(extent, sizes_)));
    }
    step->layout = alloc.layout;
    if (!alloc.output.empty()) step->output = nest_.buffer_position(alloc.output);
  }

  void compile_uop(const UopNode& uop, Step* step) {
    step->kind = Step::Kind::uop;
    const Stage& stage = nest_.stage(uop.stage);
    ExprMachine::Scope loops = scope_of(stage.name, variables_);
    for (const Guard& guard : uop.guards) {
      step->guards.emplace_back(machine_.compile_index(guard.condition, loops), guard.mask);
    }
    std::vector<Axis> axes = stage.axes;
    if (uop.part == Part::update) {
      axes.insert(axes.end(), stage.reduction_axes.begin(), stage.reduction_axes.end());
    }
    EMULSION_CHECK(uop.point.size() == axes.size(), "stage {}: a point of {} for {} axes",
                   stage.name, uop.point.size(), axes.size());
    std::map<std::string, int> names;
    std::vector<Expr> own_index;
    std::vector<int> slots;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Axis& axis = axes[i];
      ExprMachine::Program place = machine_.compile_index(uop.point[i], loops);
      // What is a loop's variable, or a number, is in a slot already.
      const bool is_known = place.code.empty();
      slots.push_back(names[axis.name()] = is_known ? place.result : machine_.add_slot());
      if (!is_known) step->point.emplace_back(slots.back(), std::move(place));
      if (own_index.size() < stage.axes.size()) own_index.push_back(axis_value(axis.name()));
    }
    Expr value = body_of(stage, uop);
    if (uop.part == Part::init) value = identity_of(stage.combiner, stage.dtype);
    if (uop.part == Part::update) {
      value = combine(stage.combiner, read_buffer(stage.name, stage.dtype, own_index), value);
    }
    slots.resize(stage.axes.size());
    step->assignment = machine_.assignment(machine_.compile(value, scope_of(stage.name, names)),
                                           nest_.buffer_position(stage.name), std::move(slots));
  }

  ExprMachine::Scope scope_of(const std::string& owner, const std::map<std::string, int>& names) {
    ExprMachine::Scope scope;
    scope.owner = owner;
    const auto slots_of = [owner](const std::map<std::string, int>& slots) {
      return [&slots, owner](const std::string& name) {
        auto found = slots.find(name);
        EMULSION_CHECK(found != slots.end(), "stage {}: {} is not in scope", owner, name);
        return found->second;
      };
    };
    scope.axis = slots_of(names);
    scope.size = slots_of(size_slots_);
    scope.buffer = [this](const ExprNode& read) { return nest_.buffer_position(read.name); };
    return scope;
  }

  void execute(size_t position) {
    const Step& step = steps_[position];
    switch (step.kind) {
      case Step::Kind::sequence:
        for (size_t child : step.children) execute(child);
        return;
      case Step::Kind::loop:
        execute_loop(step);
        return;
      case Step::Kind::alloc:
        with_stack_room([&] { execute_alloc(step); });
        return;
      case Step::Kind::uop:
        execute_uop(step);
        return;
    }
  }

  void execute_loop(const Step& step) {
    const int64_t min = machine_.run_index(step.min);
    const int64_t extent = machine_.run_index(step.extent);
    for (int64_t i = 0; i < extent; ++i) {
      for (size_t child : step.children) {
        machine_.integer(step.slot) = min + (step.backwards ? extent - 1 - i : i);
        execute(child);
      }
    }
  }

  void execute_alloc(const Step& step) {
    BufferView& view = machine_.buffer(step.buffer);
    EMULSION_CHECK(!view.live, "alloc of {} inside another", view.name);
    // A sum that is kept as double has no room in the output.
    const bool in_output = step.output >= 0 && !view.wide;
    in_output ? share_output(step, &view) : make_memory(step, &view);
    view.live = true;
    for (size_t child : step.children) execute(child);
    view.live = false;
  }

  void make_memory(const Step& step, BufferView* made) {
    BufferView& view = *made;
    const std::vector<int64_t> strides = step.layout.strides(step.extents);
    std::vector<int64_t> padded;
    for (size_t d = 0; d < step.extents.size(); ++d) {
      padded.push_back(step.layout.padded(d, step.extents[d]));
      view.axes[d] = {machine_.run_index(step.mins[d]), step.extents[d], strides[d],
                      step.layout.fold(d) > 0};
    }
    std::vector<uint8_t>& bytes = storage_[static_cast<size_t>(step.buffer)];
    bytes.resize(count_of(padded) * static_cast<size_t>(view.element_size()));
    fill_with_poison(view.wide ? DType::f64 : view.dtype, &bytes);
    view.data = bytes.data();
  }

  // What the output has there already is lost, as it is in a kernel.
  void share_output(const Step& step, BufferView* made) {
    BufferView& view = *made;
    const BufferView& output = machine_.buffer(step.output);
    const int64_t size = view.element_size();
    std::vector<int64_t> offsets = {0};  // of all elements, in bytes
    view.data = output.data;
    for (size_t d = 0; d < step.extents.size(); ++d) {
      const BufferView::AxisView& whole = output.axes[d];
      const int64_t min = machine_.run_index(step.mins[d]), first = min - whole.min;
      // A part may reach beyond the output, where it has no memory.
      const int64_t extent = std::min(step.extents[d], whole.extent - first);
      EMULSION_CHECK(extent == 0 || (first >= 0 && extent > 0),
                     "alloc of {} in output {}: from index {} on, of {} from {} on", view.name,
                     output.name, min, whole.extent, whole.min);
      view.axes[d] = {min, extent, whole.stride, false};
      view.data += first * whole.stride * size;
      std::vector<int64_t> next;
      for (int64_t offset : offsets) {
        for (int64_t i = 0; i < extent; ++i) next.push_back(offset + i * whole.stride * size);
      }
      offsets = std::move(next);
    }
    std::vector<uint8_t> poison(static_cast<size_t>(size));
    fill_with_poison(view.dtype, &poison);
    for (int64_t offset : offsets) std::memcpy(view.data + offset, poison.data(), poison.size());
  }

  void execute_uop(const Step& step) {
    bool loads = true, stores = true;
    for (const auto& [condition, mask] : step.guards) {
      if (machine_.run_index(condition) != 0) continue;
      loads = loads && mask == GuardMask::stores;
      stores = stores && mask == GuardMask::loads;
      if (!loads && !stores) return;
    }
    for (const auto& [slot, place] : step.point) machine_.integer(slot) = machine_.run_index(place);
    if (!stores) {
      machine_.run_loads(step.assignment);
    } else if (!loads) {
      machine_.run_store(step.assignment);
    } else {
      machine_.run(step.assignment);
    }
  }

  const LoopNest& nest_;
  const InterpretOptions& options_;
  ExprMachine machine_;
  SizeValues sizes_;
  std::map<std::string, int> size_slots_;
  std::map<std::string, int> variables_;  // the loops around the node being compiled
  std::vector<std::vector<uint8_t>> storage_;
  std::vector<Step> steps_;
};

}  // namespace

TensorValues apply_packs(const LoopNest& nest, const TensorValues& arguments,
                         const InterpretOptions& options) {
  TensorValues result = arguments;
  for (const Pack& pack : nest.packs) {
    auto found = arguments.find(pack.weight);
    if (found == arguments.end()) {
      if (arguments.count(pack.packed)) continue;
      fail("argument {}: expected a tensor (or {}, already packed), got none", pack.weight,
           pack.packed);
    }
    EMULSION_CHECK(pack.nest != nullptr, "the pack of {} has no nest", pack.weight);
    TensorValues packed = interpret_nest(*pack.nest, {{pack.weight, found->second}}, options);
    EMULSION_CHECK(packed.size() == 1 && packed.count(pack.packed), "the pack of {} makes no {}",
                   pack.weight, pack.packed);
    result[pack.packed] = std::move(packed.begin()->second);
  }
  for (const Pack& pack : nest.packs) {
    bool still_read = false;
    for (const Buffer* buffer : nest.arguments()) {
      still_read = still_read || buffer->name == pack.weight;
    }
    if (!still_read) result.erase(pack.weight);
  }
  return result;
}

TensorValues interpret_nest(const LoopNest& nest, const TensorValues& arguments,
                            const InterpretOptions& options) {
  TensorValues packed = apply_packs(nest, arguments, options);
  return NestInterpreter(nest, packed, options).run();
}

}  // namespace emulsion
