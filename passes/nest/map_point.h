#ifndef EMULSION_PASSES_NEST_MAP_POINT_H_
#define EMULSION_PASSES_NEST_MAP_POINT_H_

// From the loops of a stage back to its axes, through its transforms.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// The value of each axis of a stage at its innermost point, in loop variables: the axis counted
// from the region's start; and the guards that keep it inside the region, in the order of the
// splits that they are of.
struct PointMap {
  std::map<std::string, Expr> local;
  std::vector<Guard> guards;
};
PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents);

// The axes that are loops once all transforms are done. Those of reduction axes are there in the
// update only.
std::set<std::string> loop_axes(const Stage& stage, Part part);
std::set<std::string> reduction_loop_axes(const Stage& stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_MAP_POINT_H_
