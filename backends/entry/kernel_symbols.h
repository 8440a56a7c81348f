#ifndef EMULSION_BACKENDS_ENTRY_KERNEL_SYMBOLS_H_
#define EMULSION_BACKENDS_ENTRY_KERNEL_SYMBOLS_H_

// The symbols by which a kernel's C header and its archive agree. Several kernels may have one
// name, in the shared libraries of one program, and a linker takes the first that it finds. So each
// function has a symbol of its own besides, with a hash of the kernel in it, and the header says
// that a call of the function is one of that symbol:
//
//   int linear(struct halide_buffer_t *_x_buffer, ...) __asm__("linear_is_9c1f...");

#include <string>
#include <vector>

namespace emulsion {

// "linear_is_9c1f..." for the function linear of the kernel with that hash.
std::string own_symbol(const std::string& function, const std::string& identity);

// A C header as Halide writes it, made one of this kernel alone: each of the functions, its form
// for an array of buffers (`linear_argv`) and what tells of its arguments (`linear_metadata`) stand
// for their own symbols. With a reference to the first one, also where nothing is called: a linker
// takes `linear` from some archive, and for the reference this header's too, where `linear` is once
// more. That is an error.
std::string with_own_symbols(std::string header, const std::vector<std::string>& functions,
                             const std::string& identity);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_KERNEL_SYMBOLS_H_
