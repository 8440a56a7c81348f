#ifndef EMULSION_BACKENDS_CODEGEN_CHECK_REPRODUCIBLE_H_
#define EMULSION_BACKENDS_CODEGEN_CHECK_REPRODUCIBLE_H_

// Whether emulsion_kernel() makes the same graph each time. The bytes of a kernel follow from the
// request and the text of the graph (generate_kernel.h), so the texts are what is compared.

#include <string>
#include <vector>

namespace emulsion {

// What the generator writes in a process of its own: another process id and other addresses, at
// least a second later, with other values of HOME, LANG, TZ and USER. `command` is this program's,
// without its name; `--graph=FILE` is added to it. Error: it could not be run, or failed.
std::string graph_text_of_another_process(const std::vector<std::string>& command);

// Error when the texts differ: names the kernel and the first line in which they do.
void check_same_graph(const std::string& kernel, const std::string& first,
                      const std::string& second);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_CHECK_REPRODUCIBLE_H_
