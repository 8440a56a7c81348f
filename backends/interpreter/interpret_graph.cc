#include "backends/interpreter/interpret_graph.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "backends/interpreter/evaluate_expr.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// f32 rounded from the doubles it was accumulated in.
std::vector<uint8_t> rounded(const std::vector<uint8_t>& wide) {
  TensorValue result = zeros(DType::f32, {static_cast<int64_t>(wide.size() / sizeof(double))});
  const double* from = reinterpret_cast<const double*>(wide.data());
  for (int64_t i = 0; i < result.element_count(); ++i) {
    result.data<float>()[i] = static_cast<float>(from[i]);
  }
  return std::move(result.bytes);
}

// Calls `body` for every index of a box, row-major; the slots hold the index. Where `enters` of a
// depth is false, not for those inside of it.
template <typename Body, typename Enters>
void for_each_index(ExprMachine* machine, const std::vector<int>& slots,
                    const std::vector<int64_t>& extents, size_t depth, const Body& body,
                    const Enters& enters) {
  if (depth == slots.size()) {
    body();
    return;
  }
  if (!enters(depth)) return;
  for (int64_t i = 0; i < extents[depth]; ++i) {
    machine->integer(slots[depth]) = i;
    for_each_index(machine, slots, extents, depth + 1, body, enters);
  }
}

template <typename Body>
void for_each_index(ExprMachine* machine, const std::vector<int>& slots,
                    const std::vector<int64_t>& extents, size_t depth, const Body& body) {
  for_each_index(machine, slots, extents, depth, body, [](size_t) { return true; });
}

bool is_zero(const ExprNode& node) {
  if (node.op != ExprOp::constant) return false;
  return is_float(node.dtype) ? node.float_value == 0 : node.int_value == 0;
}

void add_conjuncts(const Expr& condition, std::vector<Expr>* conjuncts) {
  if (condition->op != ExprOp::logical_and) {
    conjuncts->push_back(condition);
    return;
  }
  for (const Expr& part : condition->args) add_conjuncts(part, conjuncts);
}

// Where one of these is false, the term of a sum is zero and nothing is read. A condition that
// reads ends them: its reads are checked wherever the sum goes.
std::vector<Expr> conditions_of_terms(const Op& op) {
  std::vector<Expr> conditions;
  if (op.combiner != Combiner::sum) return conditions;
  Expr term = op.body;
  while (term->op == ExprOp::select && is_zero(term->args[2].node())) {
    const auto reads = [](const Expr& part) { return part->op == ExprOp::read; };
    if (any_part(term->args[0], reads)) break;
    add_conjuncts(term->args[0], &conditions);
    const Expr taken = term->args[1];
    term = taken;
  }
  return conditions;
}

// How many reduction axes, from the outermost on, have a value once `expr` has one.
size_t depth_of(const Expr& expr, const Op& op) {
  size_t depth = 0;
  for (size_t d = 0; d < op.reduction_axes.size(); ++d) {
    const auto is_axis = [&](const Expr& part) {
      return part->op == ExprOp::axis && part->name == op.reduction_axes[d].name();
    };
    if (any_part(expr, is_axis)) depth = d + 1;
  }
  return depth;
}

class GraphInterpreter {
 public:
  GraphInterpreter(const Graph& graph, const TensorValues& arguments,
                   const InterpretOptions& options)
      : graph_(graph),
        arguments_(arguments),
        options_(options),
        machine_(options.f64_accumulation, OutOfBounds::error) {
    std::vector<DeclaredTensor> declared;
    for (const OpPtr& op : graph.arguments()) declared.push_back({op->name, op->dtype, op->shape});
    sizes_ = bind_arguments(declared, arguments, options.sizes);
    for (const auto& [name, value] : sizes_) size_slots_[name] = machine_.add_slot(value);
  }

  TensorValues run() {
    for (const OpPtr& op : graph_.ops()) evaluate(*op);
    TensorValues outputs;
    for (const OpPtr& op : graph_.outputs()) {
      const BufferView& view = machine_.buffer(buffers_.at(op.get()));
      TensorValue value;
      value.dtype = op->dtype;
      value.shape = evaluate_shape("output " + op->name, op->shape, sizes_);
      value.bytes.assign(view.data, view.data + view.element_size() * value.element_count());
      outputs.emplace(op->name, std::move(value));
    }
    return outputs;
  }

 private:
  void evaluate(const Op& op) {
    switch (op.kind) {
      case OpKind::input:
      case OpKind::weight:
        add_tensor(op, arguments_.at(op.name).bytes);
        return;
      case OpKind::constant:
        EMULSION_CHECK(op.data != nullptr, "constant {} has no data", op.name);
        add_tensor(op, *op.data);
        return;
      case OpKind::compute:
        compute(op);
        return;
      case OpKind::fused:
        for (const OpPtr& member : op.members) evaluate(*member);
        EMULSION_CHECK(!op.members.empty(), "{} has no members", op.name);
        buffers_[&op] = buffers_.at(op.members.back().get());
        return;
    }
  }

  int add_tensor(const Op& op, std::vector<uint8_t> bytes) {
    BufferView view;
    view.name = op.name;
    view.dtype = op.dtype;
    view.live = true;
    view.set_block(evaluate_shape(op.name, op.shape, sizes_));
    storage_.push_back(std::move(bytes));
    view.data = storage_.back().data();
    return buffers_[&op] = machine_.add_buffer(std::move(view));
  }

  void compute(const Op& op) {
    bool reduces = op.combiner != Combiner::none;
    bool wide = reduces && options_.f64_accumulation && op.dtype == DType::f32;
    std::vector<int64_t> extents = evaluate_shape(op.name, op.shape, sizes_);
    TensorValue blank = zeros(wide ? DType::f64 : op.dtype, extents);
    int buffer = add_tensor(op, std::move(blank.bytes));
    machine_.buffer(buffer).wide = wide;

    std::map<std::string, int> variables;  // the axes
    std::vector<int> axes, reduction;
    std::vector<Expr> own_index;
    std::vector<int64_t> reduction_extents;
    for (const Axis& axis : op.axes) {
      axes.push_back(variables[axis.name()] = machine_.add_slot());
      own_index.push_back(axis_value(axis.name()));
    }
    for (const Axis& axis : op.reduction_axes) {
      reduction.push_back(variables[axis.name()] = machine_.add_slot());
      reduction_extents.push_back(axis.extent().evaluate(sizes_));
    }
    ExprMachine::Scope scope = scope_of(op, variables);
    auto assignment = [&](const Expr& value) {
      return machine_.assignment(machine_.compile(value, scope), buffer, axes);
    };
    if (!reduces) {
      ExprMachine::Assignment whole = assignment(op.body);
      for_each_index(&machine_, axes, extents, 0, [&] { machine_.run(whole); });
      return;
    }
    Expr self = read_buffer(op.name, op.dtype, own_index);
    ExprMachine::Assignment init = assignment(identity_of(op.combiner, op.dtype));
    ExprMachine::Assignment update = assignment(combine(op.combiner, self, op.body));
    // Gradients sum over all points, of which few have a term: loops of none are left out.
    std::vector<std::vector<ExprMachine::Program>> conditions(reduction.size());
    for (const Expr& condition : conditions_of_terms(op)) {
      const size_t depth = depth_of(condition, op);
      if (depth < conditions.size()) {
        conditions[depth].push_back(machine_.compile(condition, scope));
      }
    }
    const auto has_terms = [&](size_t depth) {
      return std::all_of(conditions[depth].begin(), conditions[depth].end(),
                         [&](const auto& condition) { return machine_.run_index(condition) != 0; });
    };
    for_each_index(&machine_, axes, extents, 0, [&] {
      machine_.run(init);
      for_each_index(
          &machine_, reduction, reduction_extents, 0, [&] { machine_.run(update); }, has_terms);
    });
    if (!wide) return;
    storage_.push_back(rounded(storage_.back()));
    machine_.buffer(buffer).wide = false;
    machine_.buffer(buffer).data = storage_.back().data();
  }

  ExprMachine::Scope scope_of(const Op& op, const std::map<std::string, int>& variables) {
    ExprMachine::Scope scope;
    scope.owner = op.name;
    const auto slots_of = [&op](std::map<std::string, int> slots) {
      return [&op, slots = std::move(slots)](const std::string& name) {
        auto found = slots.find(name);
        if (found == slots.end()) fail("{}: {}: expected a value, got none", op.name, name);
        return found->second;
      };
    };
    scope.axis = slots_of(variables);
    scope.size = slots_of(size_slots_);
    scope.buffer = [this, &op](const ExprNode& read) {
      const Op* source =
          read.tensor ? read.tensor.get() : &op;  // without a tensor: the accumulator
      auto found = buffers_.find(source);
      EMULSION_CHECK(found != buffers_.end(), "{} reads {} before it is computed", op.name,
                     source->name);
      return found->second;
    };
    return scope;
  }

  const Graph& graph_;
  const TensorValues& arguments_;
  const InterpretOptions& options_;
  ExprMachine machine_;
  SizeValues sizes_;
  std::map<std::string, int> size_slots_;
  std::unordered_map<const Op*, int> buffers_;
  std::vector<std::vector<uint8_t>> storage_;  // moving a vector keeps its data where it is
};

}  // namespace

TensorValues interpret_graph(const Graph& graph, const TensorValues& arguments,
                             const InterpretOptions& options) {
  return GraphInterpreter(graph, arguments, options).run();
}

}  // namespace emulsion
