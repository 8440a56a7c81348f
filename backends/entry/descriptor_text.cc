#include "backends/entry/descriptor_text.h"

#include <algorithm>

#include "dsl/error.h"

namespace emulsion {
namespace {

// "2*B+1": as Extent prints it, without spaces.
std::string extent_text(const Extent& extent) {
  std::string text = extent.to_string();
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

}  // namespace

std::string descriptor_text(const LoopNest& nest, const std::string& kernel) {
  std::string text = kernel + "\n";
  for (size_t i = 0; i < nest.sizes.size(); ++i) text += (i ? "," : "") + nest.sizes[i];
  text += "\n";
  for (const Buffer* argument : nest.arguments()) {
    std::string direction = argument->role == BufferRole::output ? "o" : "i";
    if (const Pack* pack = nest.find_pack(argument->name)) direction = "p " + pack->weight;
    // Generated code reads and writes whatever alignment the element has.
    text += fmt::format("{} {} {} 0 {}", direction, argument->name, to_string(argument->dtype),
                        argument->shape.size());
    for (const Extent& extent : argument->shape) text += " " + extent_text(extent);
    text += "\n";
  }
  return text;
}

}  // namespace emulsion
