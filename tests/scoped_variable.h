#ifndef EMULSION_TESTS_SCOPED_VARIABLE_H_
#define EMULSION_TESTS_SCOPED_VARIABLE_H_

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace emulsion {

// A variable of the environment that has another value for one scope, or none.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* text = std::getenv(name_.c_str())) before_ = text;
    set(value);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) {
    value ? setenv(name_.c_str(), value->c_str(), 1) : unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_SCOPED_VARIABLE_H_
