#include "backends/halide/halide_call.h"

#include <mutex>
#include <stdexcept>
#include <utility>

#include "Halide.h"
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

std::recursive_mutex& halide_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

// Installs the reporter for the outermost call, and takes it away: the application may use Halide
// too.
class ReporterScope {
 public:
  ReporterScope() {
    if (depth_++ == 0) Halide::set_custom_compile_time_error_reporter(&reporter());
  }
  ~ReporterScope() {
    if (--depth_ == 0) Halide::set_custom_compile_time_error_reporter(nullptr);
  }
  ReporterScope(const ReporterScope&) = delete;
  ReporterScope& operator=(const ReporterScope&) = delete;

  static Reporter& reporter() {
    static auto* reporter = new Reporter;
    return *reporter;
  }

 private:
  static int depth_;
};

int ReporterScope::depth_ = 0;  // guarded by halide_mutex()

// Halide walks statements recursively, and the caller's stack may be small. Pages that nothing
// touches cost nothing.
constexpr size_t kStackBytes = size_t{256} << 20;

// Halide runs its own compilation on a stack of its own; so does this what stands in front of it.
class StackScope {
 public:
  StackScope() : before_(Halide::get_compiler_stack_size()) {
    Halide::set_compiler_stack_size(kStackBytes);
  }
  ~StackScope() { Halide::set_compiler_stack_size(before_); }
  StackScope(const StackScope&) = delete;
  StackScope& operator=(const StackScope&) = delete;

 private:
  const size_t before_;  // the application's
};

[[noreturn]] void fail_internally(const std::string& what, const std::string& message) {
  const size_t end = message.find_last_not_of('\n') + 1;  // 0 where there is no such character
  throw InternalError(what + ": Halide: " + message.substr(0, end));
}

}  // namespace

void call_halide(const std::string& what, const std::function<void()>& body) {
  std::lock_guard<std::recursive_mutex> lock(halide_mutex());
  ReporterScope scope;
  ReporterScope::reporter().take_warnings();
  try {
    const StackScope stack;
    Halide::Internal::run_with_large_stack(body);
  } catch (const HalideFailure& failure) {
    fail_internally(what, failure.what());
  } catch (const Halide::Error& failure) {
    fail_internally(what, failure.what());
  }
  // The one kind of warning that is never noise: the kernel is known to fail its own check.
  std::string warnings = ReporterScope::reporter().take_warnings();
  if (warnings.find("guaranteed to fail") != std::string::npos) fail_internally(what, warnings);
}

}  // namespace emulsion
