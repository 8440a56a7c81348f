#include "benchmarks/nest_kernel.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <utility>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "benchmarks/peers/halide_peer.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {
namespace {

void add(Comparison one, HalideThreads threads, const Values& values, double tolerance,
         std::vector<Comparison>* all) {
  one.prepare = [threads] { set_halide_threads(threads); };
  one.prepare();
  one.on_one_thread = threads == HalideThreads::one;
  for (const Contender& peer : one.peers) {
    announce(fmt::format("comparing {} with {}", one.name, peer.name));
    check_equal_outputs(fmt::format("{} and {}", one.name, peer.name), peer.call, one.emulsion.call,
                        values, tolerance);
  }
  all->push_back(std::move(one));
}

}  // namespace

Values values_of(const Graph& graph, const SizeValues& sizes) {
  auto values = std::make_shared<KernelValues>();
  uint64_t seed = 0;
  for (const OpPtr& op : graph.arguments()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, sizes);
    values->by_name[op->name] = op->dtype == DType::u16
                                    ? random_integers(op->dtype, shape, ++seed, 0, 65535)
                                    : random_integers(op->dtype, shape, ++seed);
  }
  for (const OpPtr& output : graph.outputs()) {
    values->outputs.push_back(output->name);
    values->by_name[output->name] =
        zeros(output->dtype, evaluate_shape(output->name, output->shape, sizes));
  }
  return values;
}

Call kernel_call(const LoopNest& nest, const Values& values) {
  // Two kernels may pack a weight in two ways: the second then has one of its own.
  const auto own = std::make_shared<TensorValues>();
  for (auto& [name, value] : apply_packs(nest, values->by_name)) {
    const auto [shared, is_new] = values->by_name.emplace(name, value);
    if (!is_new && shared->second.shape != value.shape) own->insert_or_assign(name, value);
  }
  std::map<std::string, JitBuffer> buffers;
  for (const Buffer* argument : nest.arguments()) {
    const auto packed = own->find(argument->name);
    TensorValue& value = packed == own->end() ? values->by_name.at(argument->name) : packed->second;
    buffers[argument->name] = {value.dtype, value.shape, value.bytes.data()};
  }
  return [call = JitKernel(nest).bind(buffers), values, own] { call(); };
}

void check_equal_outputs(const std::string& both, const Call& one, const Call& other,
                         const Values& values, double tolerance) {
  one();
  TensorValues expected;
  for (const std::string& name : values->outputs) {
    TensorValue& output = values->by_name.at(name);
    expected.emplace(name, output);
    fill_with_poison(&output);
  }
  other();
  for (const auto& [name, value] : expected) {
    const auto difference = first_difference(value, values->by_name.at(name), tolerance, tolerance);
    if (difference) fail("{} differ: {}{}", both, name, *difference);
  }
}

void add(Comparison one, const Values& values, std::vector<Comparison>* all) {
  add(std::move(one), HalideThreads::all, values, 0, all);
}

void add_on_one_thread(const Comparison& one, const Values& values, double tolerance,
                       std::vector<Comparison>* all) {
  add(one, HalideThreads::one, values, tolerance, all);
}

void add_on_one_and_all_threads(const Comparison& one, const Values& values,
                                std::vector<Comparison>* all, double tolerance) {
  Comparison threaded = one;
  threaded.name = one.name + "/one_thread";
  add(threaded, HalideThreads::one, values, tolerance, all);
  if (Target::host().cores == 1) return;
  threaded.name = one.name + "/all_threads";
  add(std::move(threaded), HalideThreads::all, values, tolerance, all);
}

}  // namespace emulsion::benchmarks
