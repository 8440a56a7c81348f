#ifndef EMULSION_PASSES_NEST_MAP_POINT_H_
#define EMULSION_PASSES_NEST_MAP_POINT_H_

#include <map>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// The value of each axis of a stage at its innermost point, in loop variables: the axis counted
// from the region's start, and the guards that keep it inside the region.
struct PointMap {
  std::map<std::string, Expr> local;
  std::vector<Expr> guards;
};
PointMap map_point(const Stage& stage, Part part, const std::vector<Expr>& region_extents);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_MAP_POINT_H_
