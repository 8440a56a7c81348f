#ifndef EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_
#define EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_

// How a nest is compiled, ahead of time or into this process.

namespace emulsion {

struct CompileOptions {
  // Every offset is compared with the memory that it goes to, at run time, before it is used. A
  // kernel that would leave it returns a code instead; its message names the stage, the axis, the
  // index and the extent. For tests of Emulsion itself: such a kernel is many times slower.
  bool checked = false;
  // compile_aot() compiles in a process of its own. LLVM ends the process that it is in when memory
  // runs out while it compiles, for some of its allocations; with this that is an Error. The
  // process is made by fork(): other threads of the program may hold locks, which the child never
  // takes but for those of the C library. A kernel compiled into the process (jit.h) cannot have
  // it.
  bool isolate = false;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_
