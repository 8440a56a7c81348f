#include "backends/halide/jit.h"

#include <mutex>
#include <utility>

#include "Halide.h"
#include "backends/entry/check_cpu_limits.h"
#include "backends/entry/index_needs.h"
#include "backends/entry/loop_chunks.h"
#include "backends/entry/storage_needs.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/lower_statement.h"
#include "backends/halide/scalar_ops.h"
#include "backends/runtime/kept_memory.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using Halide::Internal::JITModule, Halide::Internal::JITSharedRuntime;

// What a run asks of this process: threads, and to be told of errors, on whatever thread they are.
struct RunContext : Halide::JITUserContext {
  std::mutex mutex;
  std::string message;
  decltype(Halide::JITHandlers::custom_do_par_for) share;  // Halide's pool, or what replaces it

  RunContext() {
    Halide::JITHandlers wanted;
    wanted.custom_error = [](Halide::JITUserContext* context, const char* text) {
      auto* run = static_cast<RunContext*>(context);
      std::lock_guard<std::mutex> lock(run->mutex);
      run->message = text;  // of several at once, any
    };
    wanted.custom_malloc = [](Halide::JITUserContext*, size_t size) {
      return runtime::take_memory(size);
    };
    wanted.custom_free = [](Halide::JITUserContext*, void* memory) {
      runtime::give_memory_back(memory);
    };
    wanted.custom_print = [](Halide::JITUserContext*, const char*) {};
    JITSharedRuntime::populate_jit_handlers(this, wanted);
    // The pool takes a lock for each step, which is too much for a short row.
    share = std::exchange(handlers.custom_do_par_for, [](auto* context, auto* task, auto... loop) {
      return share_chunks(context, task, loop..., JITSharedRuntime::get_num_threads,
                          static_cast<RunContext*>(context)->share);
    });
  }
};

std::shared_ptr<const JITModule> compile(const LoopNest& nest, const Target& target,
                                         const CompileOptions& options) {
  check_cpu_limits(nest, code_limits(target));
  // Taken down under the same lock as it is made.
  std::shared_ptr<JITModule> result(new JITModule(), [](JITModule* module) {
    call_halide("releasing a kernel", [&] { delete module; });
  });
  call_halide("compiling " + nest.name, [&] {
    Halide::Target jit_target = kernel_target(target)
                                    .with_feature(Halide::Target::JIT)
                                    .with_feature(Halide::Target::UserContext);
    constexpr const char* kFunction = "emulsion_jit_kernel";  // not a function of the C library
    Halide::Module module =
        kernel_module(nest, kFunction, jit_target, Halide::LinkageType::ExternalPlusArgv, options);
    *result = JITModule(module, module.get_function_by_name(kFunction));
  });
  return result;
}

}  // namespace

struct JitKernel::Compiled {
  LoopNest nest;
  std::vector<StorageNeed> storage;
  std::vector<IndexNeed> indices;
  std::shared_ptr<const JITModule> module;
  std::map<std::string, JitKernel> packs;  // by packed name

  Compiled(const LoopNest& source, const Target& target, const CompileOptions& options)
      : nest(source),
        storage(storage_needs(source)),
        indices(index_needs(source)),
        module(compile(source, target, options)) {
    for (const Pack& pack : nest.packs) {
      packs.emplace(pack.packed, JitKernel(*pack.nest, target, options));
    }
  }
};

JitKernel::JitKernel(const LoopNest& nest, const Target& target, const CompileOptions& options) {
  require_this_machine(target);
  compiled_ = std::make_shared<const Compiled>(nest, target, options);
}

std::function<void()> JitKernel::bind(const std::map<std::string, JitBuffer>& arguments,
                                      const SizeValues& known) const {
  const auto bound = std::make_shared<const BoundBuffers>(
      bind_buffers(compiled_->nest, arguments, known, [&](const Pack& pack, const auto& of_pack) {
        compiled_->packs.at(pack.packed).run(of_pack);
      }));
  check_indices(compiled_->nest.name, compiled_->indices, bound->sizes);
  check_storage(compiled_->nest.name, compiled_->storage, bound->sizes);
  std::vector<Halide::Runtime::Buffer<>> views;
  for (const JitBuffer& buffer : bound->buffers) {
    const std::vector<int> extents(buffer.shape.rbegin(), buffer.shape.rend());
    views.emplace_back(halide_type(buffer.dtype), buffer.data, extents);
  }
  return [compiled = compiled_, bound, views = std::move(views)] {
    RunContext run;
    Halide::JITUserContext* context = &run;
    std::vector<const void*> argv = {&context};
    for (const int32_t& size : bound->size_values) argv.push_back(&size);
    for (const Halide::Runtime::Buffer<>& view : views) argv.push_back(view.raw_buffer());
    const int code = compiled->module->argv_function()(argv.data());
    if (code == 0) return;
    fail("kernel {}: code {}: {}", compiled->nest.name, code,
         run.message.empty() ? "no message" : run.message);
  };
}

}  // namespace emulsion
