#ifndef EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_
#define EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_

// How a nest is compiled, ahead of time or into this process.

namespace emulsion {

struct CompileOptions {
  // Every offset is compared with the memory that it goes to, at run time, before it is used. A
  // kernel that would leave it returns a code instead; its message names the stage, the axis, the
  // index and the extent. For tests of Emulsion itself: such a kernel is many times slower.
  bool checked = false;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_COMPILE_OPTIONS_H_
