#ifndef EMULSION_BACKENDS_ENTRY_RUN_IN_CHILD_H_
#define EMULSION_BACKENDS_ENTRY_RUN_IN_CHILD_H_

// Work that may end its process, in a process of its own. LLVM calls abort() or exit() when memory
// runs out, and nothing that stands around the call can catch that.

#include <cstddef>
#include <functional>
#include <string>

namespace emulsion {

// Runs `body` in a child made by fork(), and waits for it. What the child writes to files stays;
// its memory does not. An Error or an InternalError that `body` throws is thrown here again; any
// other exception as an InternalError with its text. `what` starts the messages: "compiling y".
//
// Error: no process can be made; the child ended otherwise than by returning, as a rule because
// memory ran out.
//
// Of a program with several threads the child has the calling one only: `body` must need no lock
// that another thread may hold. malloc() is safe.
void run_in_child(const std::string& what, const std::function<void()>& body);

// Error: there is no room for so many bytes. Halide takes a stack that it does not get for a fault
// of its own.
void require_memory(const std::string& what, size_t bytes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_RUN_IN_CHILD_H_
