#ifndef EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_CACHE_H_
#define EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_CACHE_H_

// Parsed descriptors of the kernels that a thread has called, so that a small kernel's arguments
// are checked in a fraction of the time that the kernel takes. Per thread: no lock, and nothing
// shared between cores.

#include "backends/runtime/descriptor.h"

namespace emulsion::runtime {

// Null when this thread has not met the descriptor. The address finds the entry and the text
// confirms it: the address may have been reused, by a library that was unloaded and another that
// was loaded in its place.
const Descriptor* find_descriptor(const char* text);

// Parses the descriptor and keeps it; null, with the reason, when it is malformed. What these two
// functions return is valid until the next call of add_descriptor on this thread. May throw
// std::bad_alloc.
const Descriptor* add_descriptor(const char* text, ErrorMessage* reason);

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_CACHE_H_
