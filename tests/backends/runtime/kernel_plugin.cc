// A shared library that holds a kernel and the runtime that it needs: anywhere_test loads it.

#include <vector>

#include "HalideRuntime.h"
#include "tests/backends/runtime/emulsion_test_twice.h"
#include "tests/backends/runtime/test_buffer.h"

extern "C" int emulsion_test_visit(int /*x*/, int /*y*/) { return 0; }

// How many of `rows` x 8 values are wrong; -1 when the kernel refused them.
extern "C" __attribute__((visibility("default"))) int wrong_values_of_plugin(int rows) {
  using emulsion::runtime::TestBuffer;
  TestBuffer x(emulsion::runtime::kF32, {rows, 8}), y(emulsion::runtime::kF32, {rows, 8});
  for (int i = 0; i < rows * 8; ++i) x.data<float>()[i] = static_cast<float>(i);
  if (emulsion_test_twice(&x.raw, &y.raw) != 0) return -1;
  int wrong = 0;
  for (int i = 0; i < rows * 8; ++i) wrong += y.data<float>()[i] != 2.0f * static_cast<float>(i);
  return wrong;
}
