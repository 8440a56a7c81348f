#ifndef EMULSION_DSL_ERROR_H_
#define EMULSION_DSL_ERROR_H_

// The two kinds of failure that Emulsion knows, and nothing else. An `Error` is the user's to mend:
// it says what was asked, which operation, argument, axis or loop, what was found and what would be
// legal. An `InternalError` is ours: an EMULSION_CHECK that did not hold. Both are thrown, so a
// host process lives on; no call in the library ends the process.

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace emulsion {

// The user's fault. Lower case, "expected ..., got ...", no full stop.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// A schedule that cannot be honoured: the message starts with the directive as it was written. What
// lower() throws shows the nest too; what() is then the message, a line break and the nest.
class ScheduleError : public Error {
 public:
  explicit ScheduleError(const std::string& message, const std::string& nest = "")
      : Error(nest.empty() ? message : message + '\n' + nest), message_(message), nest_(nest) {}

  const std::string& message() const { return message_; }  // without the nest
  const std::string& nest() const { return nest_; }        // empty when nothing is shown

 private:
  std::string message_, nest_;
};

// Our fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws Error with a formatted message: fail("argument 1 (x) of relu: expected ..., got {}",
// dtype).
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace emulsion

// EMULSION_CHECK(i < n, "i = {}, n = {}", i, n): the message is formatted only when the check
// fails.
#define EMULSION_CHECK(condition, ...)                                                         \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      ::emulsion::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                          \
  } while (false)

#endif  // EMULSION_DSL_ERROR_H_
