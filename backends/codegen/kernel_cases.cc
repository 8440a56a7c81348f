#include "backends/codegen/kernel_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backends/codegen/kernel_context.h"
#include "backends/runtime/emulsion_runtime.h"
#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/target.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

constexpr int64_t kAwkward[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65};
constexpr size_t kMargin = 64;
constexpr uint8_t kCanary = 0xa5;

bool has_a_shape(const Graph& graph, const SizeValues& sizes) {
  auto fits = [&](const OpPtr& op) {
    return std::all_of(op->shape.begin(), op->shape.end(),
                       [&](const Extent& extent) { return extent.evaluate(sizes) >= 0; });
  };
  return std::all_of(graph.ops().begin(), graph.ops().end(), fits);
}

// How many operations of expressions the interpreter runs, about.
int64_t interpreted_operations(const Graph& graph, const SizeValues& sizes) {
  double total = 0;
  const auto count = [&](const Op& op) {
    if (op.kind != OpKind::compute) return;
    auto operations = static_cast<double>(size_of(op.body).nodes);
    for (const std::vector<Axis>* axes : {&op.axes, &op.reduction_axes}) {
      for (const Axis& axis : *axes) {
        operations *= static_cast<double>(axis.extent().evaluate(sizes));
      }
    }
    total += operations;
  };
  for (const OpPtr& op : graph.ops()) {
    count(*op);
    for (const OpPtr& member : op->members) count(*member);
  }
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::min(total, kMost));
}

// The sizes that the interpreter is done with in seconds: all, or the smaller ones, of which at
// least a few.
std::vector<SizeValues> within_seconds(const Graph& graph, std::vector<SizeValues> all) {
  constexpr int64_t kMostOperations = int64_t{1} << 28;
  constexpr size_t kLeast = 4;
  const int64_t times = keeps_whole_numbers(graph) ? 2 : 1;  // in both precisions
  std::vector<std::pair<int64_t, size_t>> by_work;
  for (size_t i = 0; i < all.size(); ++i) {
    by_work.emplace_back(times * interpreted_operations(graph, all[i]), i);
  }
  std::sort(by_work.begin(), by_work.end());
  std::vector<size_t> kept;
  int64_t total = 0;
  for (const auto& [work, at] : by_work) {
    total += work;
    if (total > kMostOperations && kept.size() >= kLeast) break;
    kept.push_back(at);
  }
  std::sort(kept.begin(), kept.end());
  std::vector<SizeValues> result;
  result.reserve(kept.size());
  for (size_t at : kept) result.push_back(std::move(all[at]));
  return result;
}

bool keeps_whole(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::div:
    case ExprOp::exp:
    case ExprOp::log:
    case ExprOp::pow:
    case ExprOp::sqrt:
    case ExprOp::tanh:
    case ExprOp::erf:
      return !is_float(node.dtype);
    case ExprOp::constant:
      return !is_float(node.dtype) || node.float_value == std::floor(node.float_value);
    default:
      return true;
  }
}

bool keeps_whole(const Op& op) {
  bool whole = true;
  for (const OpPtr& member : op.members) whole = whole && keeps_whole(*member);
  if (op.kind == OpKind::compute) {
    whole = whole && !any_part(op.body, [](const Expr& e) { return !keeps_whole(e.node()); });
  }
  if (op.kind == OpKind::constant && is_float(op.dtype)) {
    TensorValue value;
    value.dtype = op.dtype;
    value.shape = {static_cast<int64_t>(op.data->size()) / size_in_bytes(op.dtype)};
    value.bytes.assign(op.data->begin(), op.data->end());
    for (int64_t i = 0; i < value.shape[0]; ++i) {
      whole = whole && value.value(i) == std::floor(value.value(i));
    }
  }
  return whole;
}

DType dtype_of_element(runtime::ElementType type) {
  for (DType dtype : all_dtypes()) {
    if (!is_computable(dtype)) continue;
    auto element = [](auto value) { return runtime::element_type<decltype(value)>(); };
    if (visit_element(dtype, element) == type) return dtype;
  }
  EMULSION_CHECK(false, "no such element type {}", static_cast<int>(type));
  return DType::f32;
}

}  // namespace

Graph graph_under_test() {
  const KernelUnderTest& kernel = kernel_under_test();
  std::vector<Target> targets;
  targets.reserve(static_cast<size_t>(kernel.info->target_count));
  for (int i = 0; i < kernel.info->target_count; ++i) {
    targets.push_back(Target::parse(kernel.info->targets[i]));
  }
  return emulsion_kernel(KernelContext(targets, kernel.data));
}

std::vector<SizeValues> awkward_sizes(const Graph& graph) {
  const std::vector<std::string>& names = graph.sizes();
  if (names.empty()) return {SizeValues{}};
  std::vector<SizeValues> result;
  constexpr size_t kCount = std::size(kAwkward);
  // The second round gives every size a value of its own.
  for (size_t round = 0; round < (names.size() > 1 ? 2 : 1); ++round) {
    for (size_t i = 0; i < kCount; ++i) {
      SizeValues sizes;
      for (size_t s = 0; s < names.size(); ++s) {
        sizes[names[s]] = kAwkward[(i + 3 * s * round) % kCount];
      }
      if (has_a_shape(graph, sizes)) result.push_back(sizes);
    }
  }
  return within_seconds(graph, std::move(result));
}

TensorValues make_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues result;
  for (const OpPtr& op : graph.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate(sizes));
    result[op->name] = random_integers(op->dtype, shape, seed++);
  }
  return result;
}

bool keeps_whole_numbers(const Graph& graph) {
  return std::all_of(graph.ops().begin(), graph.ops().end(),
                     [](const OpPtr& op) { return keeps_whole(*op); });
}

TensorValues run_kernel(const runtime::KernelInfo& info, const TensorValues& arguments,
                        const SizeValues& sizes) {
  PreparedCall call(info, arguments, sizes);
  const int code = call.run();
  if (code != 0) {
    fail("{}: {} ({})", emulsion_error_name(code), emulsion_last_error(), code);
  }
  return call.outputs();
}

PreparedCall::PreparedCall(const runtime::KernelInfo& info, const TensorValues& arguments,
                           const SizeValues& sizes)
    : info_(info), arguments_(static_cast<size_t>(info.argument_count)) {
  for (int s = 0; s < info.size_count; ++s) sizes_.push_back(sizes.at(info.sizes[s]));
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const runtime::KernelArgument& declared = info.arguments[i];
    const auto value = arguments.find(declared.name);
    set(declared, value == arguments.end() || declared.is_output ? nullptr : &value->second,
        &arguments_[i]);
    for (int p = 0; p < info.pack_count; ++p) {
      if (std::strcmp(info.packs[p].packed, declared.name) == 0) {
        pack(info.packs[p], arguments.at(info.packs[p].weight.name), &arguments_[i]);
      }
    }
    raw_.push_back(&arguments_[i].raw);
  }
}

// Without a value the storage is poison: the kernel has to write it.
void PreparedCall::set(const runtime::KernelArgument& declared, const TensorValue* value,
                       Argument* argument) {
  const size_t rank = static_cast<size_t>(declared.rank);
  argument->declared = &declared;
  argument->shape.resize(rank);
  declared.shape(sizes_.data(), argument->shape.data());
  TensorValue filled = zeros(dtype_of_element(declared.type), argument->shape);
  fill_with_poison(&filled);
  if (value != nullptr) {
    EMULSION_CHECK(value->bytes.size() == filled.bytes.size(), "{}: {} bytes, expected {}",
                   declared.name, value->bytes.size(), filled.bytes.size());
    filled.bytes = value->bytes;
  }
  argument->storage.assign(filled.bytes.size() + 2 * kMargin, kCanary);
  std::copy(filled.bytes.begin(), filled.bytes.end(), argument->storage.begin() + kMargin);
  argument->dimensions.resize(rank);
  const bool fits =
      runtime::set_dimensions(argument->shape.data(), rank, argument->dimensions.data());
  EMULSION_CHECK(fits, "argument {}: an extent of 2^31 or more", declared.name);
  runtime::set_buffer(declared.type, argument->storage.data() + kMargin, rank,
                      argument->dimensions.data(), &argument->raw);
}

void PreparedCall::pack(const runtime::KernelPack& pack, const TensorValue& weight,
                        Argument* packed) {
  Argument unpacked;
  set(pack.weight, &weight, &unpacked);
  const int code = pack.call(&unpacked.raw, &packed->raw);
  if (code != 0) fail("pack {}: {} ({})", pack.weight.name, emulsion_last_error(), code);
}

TensorValues PreparedCall::outputs() const {
  TensorValues result;
  for (const Argument& argument : arguments_) {
    const auto begin = argument.storage.begin();
    const auto end = argument.storage.end();
    auto untouched = [](uint8_t byte) { return byte == kCanary; };
    if (!std::all_of(begin, begin + kMargin, untouched) ||
        !std::all_of(end - kMargin, end, untouched)) {
      fail("argument {}: the kernel wrote outside of it", argument.declared->name);
    }
    if (!argument.declared->is_output) continue;
    TensorValue value = zeros(dtype_of_element(argument.declared->type), argument.shape);
    value.bytes.assign(begin + kMargin, end - kMargin);
    result[argument.declared->name] = std::move(value);
  }
  return result;
}

}  // namespace emulsion
