#ifndef EMULSION_BACKENDS_RUNTIME_STATUS_H_
#define EMULSION_BACKENDS_RUNTIME_STATUS_H_

// What a kernel's typed header returns: the kernel's code and, when it refused, its message. A
// plain value, so that a caller decides whether a wrong buffer is an exception, a log line or an
// exit. Costs nothing when all is well: the message is then an empty string.

#include <string>

namespace emulsion {

struct [[nodiscard]] Status {
  int code = 0;  // 0, or an emulsion_error_code
  // Names the kernel, the argument and the axis, what was found and what is legal.
  std::string message;

  bool ok() const { return code == 0; }
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_RUNTIME_STATUS_H_
