#ifndef EMULSION_BACKENDS_CODEGEN_EXCEPTION_TEXT_H_
#define EMULSION_BACKENDS_CODEGEN_EXCEPTION_TEXT_H_

// What user code threw, in words.

#include <string>

namespace emulsion {

// Of the exception that is being handled: "std::runtime_error: no such layer", or "int" for what is
// no std::exception. Empty when none is.
std::string current_exception_text();

// From now on a program that ends because nothing catches an exception, as that of a static
// object's constructor, says on standard error that it came from outside emulsion_kernel() and what
// it was, and exits with 1.
void report_uncaught_exceptions();

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_EXCEPTION_TEXT_H_
