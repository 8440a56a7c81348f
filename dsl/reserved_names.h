#ifndef EMULSION_DSL_RESERVED_NAMES_H_
#define EMULSION_DSL_RESERVED_NAMES_H_

// Names that generated C and C++ cannot have: it is compiled behind whatever else a program
// includes.

#include <string_view>

namespace emulsion {

// Of C or C++, up to C++20; and the words that Emulsion's own text forms take for themselves.
bool is_cpp_keyword(std::string_view name);
// EOF, errno, INT32_MAX: what the C library's headers define as a macro, in any C++ mode of GCC;
// and what starts as the macros of ours and Halide's do.
bool is_macro(std::string_view name);

// std, size_t, FILE: what headers of C and C++ declare outside of all namespaces beside functions,
// which the library itself can be asked for; local names may hide it.
bool is_declared_by_headers(std::string_view name);
// math, string: of C, such that a NAME.h of ours may be found in its place.
bool is_header(std::string_view name);

}  // namespace emulsion

#endif  // EMULSION_DSL_RESERVED_NAMES_H_
