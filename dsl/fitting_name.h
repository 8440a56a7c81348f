#ifndef EMULSION_DSL_FITTING_NAME_H_
#define EMULSION_DSL_FITTING_NAME_H_

// Names that are made of others.

#include <functional>
#include <string>

namespace emulsion {

// A legal name, of one that is made of legal ones: "y_" + "_acc" is y_acc, and what is too long
// lacks some of its middle. Behind it there is room for a number.
std::string fitting_name(std::string wanted);
// The fitting name, or the first that is free with a number behind it: y, y1, y2.
std::string free_name(const std::string& wanted,
                      const std::function<bool(const std::string& name)>& is_taken);

}  // namespace emulsion

#endif  // EMULSION_DSL_FITTING_NAME_H_
