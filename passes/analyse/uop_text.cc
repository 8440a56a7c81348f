// A uOp as text and as JSON (passes/analyse/uop_list.h).

#include <nlohmann/json.hpp>

#include "dsl/error.h"
#include "passes/analyse/uop_list.h"

namespace emulsion {
namespace {

using Json = nlohmann::ordered_json;

std::string box_text(const UopRegion& region, const LoopNest& nest) {
  std::string ranges;
  for (int32_t d = 0; d < region.rank; ++d) {
    ranges += fmt::format("{}{} .. +{}", d ? ", " : "", region.min[d], region.extent[d]);
  }
  return fmt::format("{}[{}]", nest.buffers.at(region.buffer).name, ranges);
}

std::string kind_text(const Uop& uop) {
  if (uop.kind == UopKind::load) return "load";
  if (uop.kind == UopKind::store) return "store";
  return uop.part == Part::init ? "init" : "execute";
}

std::string part_text(Part part) {
  if (part == Part::init) return "init";
  return part == Part::update ? "update" : "pure";
}

Json box_json(const UopRegion& region, const LoopNest& nest) {
  Json box;
  if (region.buffer >= 0) box["buffer"] = nest.buffers.at(region.buffer).name;
  box["min"] = std::vector<int32_t>(region.min.begin(), region.min.begin() + region.rank);
  box["extent"] = std::vector<int32_t>(region.extent.begin(), region.extent.begin() + region.rank);
  return box;
}

}  // namespace

std::string to_string(const Uop& uop, const LoopNest& nest) {
  std::string text = fmt::format("{}: {} {} {}", uop.index, kind_text(uop),
                                 box_text(uop.write, nest), uop.part == Part::update ? "+=" : "<-");
  for (size_t i = 0; i < uop.reads.size(); ++i) {
    text += (i ? ", " : " ") + box_text(uop.reads[i], nest);
  }
  if (uop.bytes) text += fmt::format(", {} bytes", uop.bytes);
  if (uop.macs) text += fmt::format(", {} macs", uop.macs);
  if (uop.idle) text += ", idle";
  return text;
}

std::string to_json(const Uop& uop, const LoopNest& nest) {
  Json json;
  json["index"] = uop.index;
  json["kind"] = kind_text(uop);
  json["stage"] = nest.stages.at(uop.stage).name;
  json["part"] = part_text(uop.part);
  json["reads"] = Json::array();
  for (const UopRegion& read : uop.reads) json["reads"].push_back(box_json(read, nest));
  json["write"] = box_json(uop.write, nest);
  if (uop.part == Part::update) json["reduction"] = box_json(uop.reduction, nest);
  json["bytes"] = uop.bytes;
  json["macs"] = uop.macs;
  if (uop.idle) json["idle"] = true;
  return json.dump();
}

}  // namespace emulsion
