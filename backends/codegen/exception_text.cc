#include "backends/codegen/exception_text.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

namespace emulsion {
namespace {

std::string readable(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : mangled;
}

[[noreturn]] void say_and_exit() {
  const std::string thrown = current_exception_text();
  std::fprintf(
      stderr, "error: %s, outside emulsion_kernel(); legal: static objects that throw nothing\n",
      thrown.empty() ? "std::terminate() was called" : ("uncaught exception: " + thrown).c_str());
  std::_Exit(1);
}

}  // namespace

std::string current_exception_text() {
  const std::exception_ptr thrown = std::current_exception();
  if (!thrown) return "";
  const std::type_info* type = abi::__cxa_current_exception_type();
  std::string text = type != nullptr ? readable(type->name()) : "of another language";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    text += std::string(": ") + error.what();
  } catch (...) {  // its type says all there is
  }
  return text;
}

void report_uncaught_exceptions() { std::set_terminate(say_and_exit); }

}  // namespace emulsion
