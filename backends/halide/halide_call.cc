#include "backends/halide/halide_call.h"

#include <mutex>
#include <stdexcept>
#include <utility>

#include "Halide.h"
#include "backends/entry/run_in_child.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

// What Halide reported. Not derived from Error: a user of ours has not caused it.
struct HalideFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throwing is what Halide's own reporter does, and the only way not to return to Halide.
class Reporter : public Halide::CompileTimeErrorReporter {
 public:
  // Keeps all but one: that the check of an index is known to fail. It may stand in a part of a
  // loop that has no steps.
  void warning(const char* message) override {
    if (std::string(message).find(kIndexCheck) == std::string::npos) warnings_ += message;
  }
  [[noreturn]] void error(const char* message) override { throw HalideFailure(message); }
  std::string take_warnings() { return std::exchange(warnings_, std::string()); }

 private:
  std::string warnings_;
};

std::mutex& halide_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Reporter& reporter() {
  static auto* reporter = new Reporter;
  return *reporter;
}

// Halide walks statements recursively, and the caller's stack may be small. Pages that nothing
// touches cost nothing.
constexpr size_t kStackBytes = size_t{256} << 20;

thread_local int call_depth = 0;

// The outermost call of a thread has Halide, its errors and its stack for itself; the application
// may use Halide too. No recursive mutex: to one, a child process is another thread.
class CallScope {
 public:
  CallScope() {
    if (call_depth++ > 0) return;
    halide_mutex().lock();
    Halide::set_custom_compile_time_error_reporter(&reporter());
    stack_before_ = Halide::get_compiler_stack_size();
    Halide::set_compiler_stack_size(kStackBytes);
  }
  ~CallScope() {
    if (--call_depth > 0) return;
    Halide::set_compiler_stack_size(stack_before_);
    Halide::set_custom_compile_time_error_reporter(nullptr);
    halide_mutex().unlock();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  size_t stack_before_ = 0;
};

[[noreturn]] void fail_internally(const std::string& what, const std::string& message) {
  const size_t end = message.find_last_not_of('\n') + 1;  // 0 where there is no such character
  throw InternalError(what + ": Halide: " + message.substr(0, end));
}

}  // namespace

void call_halide(const std::string& what, const std::function<void()>& body) {
  const CallScope scope;
  reporter().take_warnings();
  require_memory(what, 3 * kStackBytes);  // its code generator takes one more, besides the heap
  try {
    Halide::Internal::run_with_large_stack(body);
  } catch (const HalideFailure& failure) {
    fail_internally(what, failure.what());
  } catch (const Halide::Error& failure) {
    fail_internally(what, failure.what());
  }
  // The one kind of warning that is never noise: the kernel is known to fail its own check.
  std::string warnings = reporter().take_warnings();
  if (warnings.find("guaranteed to fail") != std::string::npos) fail_internally(what, warnings);
}

void call_halide_in_child(const std::string& what, const std::function<void()>& body) {
  const CallScope scope;  // so that no other thread is in a call
  run_in_child(what, [&] { call_halide(what, body); });
}

}  // namespace emulsion
