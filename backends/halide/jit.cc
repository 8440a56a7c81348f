#include "backends/halide/jit.h"

#include <mutex>

#include "Halide.h"
#include "backends/entry/check_cpu_limits.h"
#include "backends/entry/storage_needs.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/lower_statement.h"
#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// What Halide hands back to us when generated code reports an error, on whatever thread that is.
struct ErrorCapture : Halide::JITUserContext {
  std::mutex mutex;
  std::string message;

  ErrorCapture() {
    Halide::JITHandlers handlers;
    handlers.custom_error = [](Halide::JITUserContext* context, const char* text) {
      auto* capture = static_cast<ErrorCapture*>(context);
      std::lock_guard<std::mutex> lock(capture->mutex);
      if (capture->message.empty()) capture->message = text;
    };
    handlers.custom_print = [](Halide::JITUserContext*, const char*) {};
    Halide::Internal::JITSharedRuntime::populate_jit_handlers(this, handlers);
  }
};

std::shared_ptr<const Halide::Internal::JITModule> compile(const LoopNest& nest,
                                                           const Target& target,
                                                           const CompileOptions& options) {
  check_cpu_limits(nest, code_limits(target));
  // Taken down under the same lock as it is made.
  std::shared_ptr<Halide::Internal::JITModule> result(
      new Halide::Internal::JITModule(), [](Halide::Internal::JITModule* module) {
        call_halide("releasing a kernel", [&] { delete module; });
      });
  call_halide("compiling " + nest.name, [&] {
    Halide::Target jit_target = kernel_target(target)
                                    .with_feature(Halide::Target::JIT)
                                    .with_feature(Halide::Target::UserContext);
    // Not the user's name: that may be a function of the C library.
    constexpr const char* kFunction = "emulsion_jit_kernel";
    Halide::Module module =
        kernel_module(nest, kFunction, jit_target, Halide::LinkageType::ExternalPlusArgv, options);
    *result = Halide::Internal::JITModule(module, module.get_function_by_name(kFunction));
  });
  return result;
}

}  // namespace

struct JitKernel::Compiled {
  LoopNest nest;
  std::vector<StorageNeed> storage;
  std::shared_ptr<const Halide::Internal::JITModule> module;
  std::map<std::string, JitKernel> packs;  // by packed name

  Compiled(const LoopNest& source, const Target& target, const CompileOptions& options)
      : nest(source), storage(storage_needs(source)), module(compile(source, target, options)) {
    for (const Pack& pack : nest.packs) {
      packs.emplace(pack.packed, JitKernel(*pack.nest, target, options));
    }
  }
};

JitKernel::JitKernel(const LoopNest& nest, const Target& target, const CompileOptions& options) {
  require_this_machine(target);
  compiled_ = std::make_shared<const Compiled>(nest, target, options);
}

struct JitCall::Bound {
  std::string kernel;
  std::shared_ptr<const Halide::Internal::JITModule> module;
  std::vector<OwnedBuffer> packed;
  std::vector<int32_t> sizes;
  std::vector<Halide::Runtime::Buffer<>> views;  // of the caller's memory, and of `packed`
};

void JitCall::run() const {
  ErrorCapture capture;
  Halide::JITUserContext* context = &capture;
  std::vector<const void*> argv = {&context};
  argv.reserve(1 + bound_->sizes.size() + bound_->views.size());
  for (const int32_t& size : bound_->sizes) argv.push_back(&size);
  for (const Halide::Runtime::Buffer<>& view : bound_->views) argv.push_back(view.raw_buffer());
  const int code = bound_->module->argv_function()(argv.data());
  if (code != 0) {
    fail("kernel {}: code {}: {}", bound_->kernel, code,
         capture.message.empty() ? "no message" : capture.message);
  }
}

JitCall JitKernel::bind(const std::map<std::string, JitBuffer>& given,
                        const SizeValues& known) const {
  const LoopNest& nest = compiled_->nest;
  auto bound = std::make_shared<JitCall::Bound>();
  bound->kernel = nest.name;
  bound->module = compiled_->module;
  std::map<std::string, JitBuffer> arguments = given;
  bound->packed = pack_weights(nest, known, &arguments, [&](const Pack& pack, const auto& of_pack) {
    compiled_->packs.at(pack.packed).run(of_pack, known);
  });
  const BoundBuffers buffers = bind_buffers(nest, arguments, given, known);
  check_storage(nest.name, compiled_->storage, buffers.sizes);
  for (const std::string& size : nest.sizes) {
    const int64_t value = Extent::size(size).evaluate(buffers.sizes);
    bound->sizes.push_back(static_cast<int32_t>(value));
  }
  for (const JitBuffer* buffer : buffers.buffers) {
    const std::vector<int> extents(buffer->shape.rbegin(), buffer->shape.rend());
    bound->views.emplace_back(halide_type(buffer->dtype), buffer->data, extents);
  }
  JitCall call;
  call.bound_ = std::move(bound);
  return call;
}

void JitKernel::run(const std::map<std::string, JitBuffer>& arguments,
                    const SizeValues& known) const {
  bind(arguments, known).run();
}

}  // namespace emulsion
