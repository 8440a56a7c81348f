#ifndef EMULSION_BACKENDS_HALIDE_HALIDE_CALL_H_
#define EMULSION_BACKENDS_HALIDE_HALIDE_CALL_H_

// The one door to Halide's compiler. Behind it Halide neither prints nor ends the process: what it
// reports becomes an InternalError, because a LoopNest that was verified is one that Halide
// accepts, so a refusal is a mistake of this backend.
//
// Halide keeps global state while it compiles (names made unique, the error reporter, LLVM's
// options), and promises nothing about threads. So one compilation runs at a time in this process.
// Kernels, once compiled, are called without this lock.

#include <functional>
#include <string>

namespace emulsion {

// What the check of an index in checked mode calls itself.
inline constexpr const char* kIndexCheck = "an index inside its memory";

// Runs `body`, which may call any of Halide. `what` starts the message: "compiling linear_relu".
// Errors of our own pass through. Calls may nest on one thread.
void call_halide(const std::string& what, const std::function<void()>& body);
// In a child process (run_in_child.h): of what `body` does, only files stay.
void call_halide_in_child(const std::string& what, const std::function<void()>& body);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_HALIDE_CALL_H_
