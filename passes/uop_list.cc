#include "passes/uop_list.h"

#include <algorithm>

#include "dsl/error.h"

namespace emulsion {
namespace {

std::string box_text(const UopRegion& region, const LoopNest& nest) {
  std::string ranges;
  for (int32_t d = 0; d < region.rank; ++d) {
    ranges += fmt::format("{}{} .. +{}", d ? ", " : "", region.min[d], region.extent[d]);
  }
  return fmt::format("{}[{}]", nest.buffers.at(region.buffer).name, ranges);
}

std::string verb(const Uop& uop) {
  if (uop.kind == NodeKind::load) return "load";
  if (uop.kind == NodeKind::store) return "store";
  return uop.part == Part::init ? "init" : "execute";
}

}  // namespace

int64_t UopRegion::elements() const {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) count *= extent[d];
  return count;
}

bool UopRegion::operator==(const UopRegion& other) const {
  return buffer == other.buffer && rank == other.rank &&
         std::equal(min.begin(), min.begin() + rank, other.min.begin()) &&
         std::equal(extent.begin(), extent.begin() + rank, other.extent.begin());
}

std::string to_string(const Uop& uop, const LoopNest& nest) {
  std::string text = fmt::format("{}: {} {} {}", uop.index, verb(uop), box_text(uop.write, nest),
                                 uop.part == Part::update ? "+=" : "<-");
  for (size_t i = 0; i < uop.reads.size(); ++i) {
    text += (i ? ", " : " ") + box_text(uop.reads[i], nest);
  }
  if (uop.bytes) text += fmt::format(", {} bytes", uop.bytes);
  if (uop.macs) text += fmt::format(", {} macs", uop.macs);
  return text;
}

}  // namespace emulsion
