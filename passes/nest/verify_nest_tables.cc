#include "passes/nest/verify_nest_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "dsl/error.h"

namespace emulsion {
namespace {

int role_rank(BufferRole role) {
  switch (role) {
    case BufferRole::input:
    case BufferRole::weight:
      return 0;
    case BufferRole::output:
      return 1;
    case BufferRole::constant:
      return 2;
    case BufferRole::internal:
      return 3;
  }
  return 4;
}

class TableVerifier {
 public:
  explicit TableVerifier(const LoopNest& nest) : nest_(nest) {}

  void verify() {
    EMULSION_CHECK(
        std::is_sorted(nest_.sizes.begin(), nest_.sizes.end()) &&
            std::adjacent_find(nest_.sizes.begin(), nest_.sizes.end()) == nest_.sizes.end(),
        "nest {}: sizes that are not sorted or not unique: {}", nest_.name,
        fmt::join(nest_.sizes, ", "));
    check_buffers();
    std::set<std::string> earlier;
    for (const Stage& stage : nest_.stages) {
      EMULSION_CHECK(!earlier.count(stage.name), "nest {}: two stages {}", nest_.name, stage.name);
      check_stage(stage);
      check_transforms(stage);
      check_specializations(stage);
      check_body(stage, earlier);
      earlier.insert(stage.name);
    }
    for (const Pack& pack : nest_.packs) check_pack(pack);
    for (const TileGrid& grid : nest_.tile_grids) check_grid(grid);
  }

 private:
  void check_grid(const TileGrid& grid) {
    EMULSION_CHECK(nest_.stage(grid.stage).is_reduction(),
                   "nest {}: a grid of {}, which reduces nothing", nest_.name, grid.stage);
    nest_.stage(grid.result);  // is there
    EMULSION_CHECK(grid.tile_m > 0 && grid.tile_n > 0 && grid.tile_k > 0,
                   "nest {}: a grid of {} with tiles of {} x {} x {}", nest_.name, grid.stage,
                   grid.tile_m, grid.tile_n, grid.tile_k);
    for (const Expr& count : {grid.batch, grid.m, grid.n, grid.k}) {
      EMULSION_CHECK(count.defined(), "nest {}: a grid of {} without a count", nest_.name,
                     grid.stage);
    }
  }

  void check_buffers() {
    std::set<std::string> names(nest_.sizes.begin(), nest_.sizes.end());
    int rank = 0;
    for (const Buffer& buffer : nest_.buffers) {
      EMULSION_CHECK(names.insert(buffer.name).second, "nest {}: the name {} twice", nest_.name,
                     buffer.name);
      EMULSION_CHECK(
          role_rank(buffer.role) >= rank,
          "nest {}: {} {} out of order: inputs and weights, outputs, constants, internal",
          nest_.name, to_string(buffer.role), buffer.name);
      rank = role_rank(buffer.role);
      for (const Extent& extent : buffer.shape) check_sizes(extent, "buffer " + buffer.name);
      const bool written = buffer.role == BufferRole::output || buffer.role == BufferRole::internal;
      const bool has_stage = nest_.stages.find(buffer.name) != nullptr;
      EMULSION_CHECK(written || !has_stage, "nest {}: stage {} writes the {} of that name",
                     nest_.name, buffer.name, to_string(buffer.role));
      EMULSION_CHECK(has_stage || !written, "nest {}: no stage writes the {} {}", nest_.name,
                     to_string(buffer.role), buffer.name);
      if (buffer.role == BufferRole::constant) check_constant(buffer);
    }
  }

  void check_constant(const Buffer& buffer) {
    std::optional<int64_t> count = element_count(buffer.shape);
    EMULSION_CHECK(count.has_value() && buffer.data != nullptr &&
                       buffer.data->size() == static_cast<size_t>(*count) *
                                                  static_cast<size_t>(size_in_bytes(buffer.dtype)),
                   "nest {}: constant {} without the bytes that {} needs", nest_.name, buffer.name,
                   to_string(buffer.shape));
  }

  void check_sizes(const Extent& extent, const std::string& what) {
    for (const auto& [name, coefficient] : extent.coefficients()) {
      EMULSION_CHECK(std::count(nest_.sizes.begin(), nest_.sizes.end(), name),
                     "nest {}: {} uses the unknown size {}", nest_.name, what, name);
    }
  }

  void check_stage(const Stage& stage) {
    const Buffer& buffer = nest_.buffer(stage.name);
    EMULSION_CHECK(buffer.dtype == stage.dtype, "nest {}: stage {} of {}, its buffer is {}",
                   nest_.name, stage.name, to_string(stage.dtype), to_string(buffer.dtype));
    EMULSION_CHECK(is_computable(stage.dtype), "nest {}: stage {} of {}", nest_.name, stage.name,
                   to_string(stage.dtype));
    Shape domain;
    for (const Axis& axis : stage.axes) domain.push_back(axis.extent());
    EMULSION_CHECK(domain == buffer.shape, "nest {}: stage {} over {}, its buffer is {}",
                   nest_.name, stage.name, to_string(domain), to_string(buffer.shape));
    EMULSION_CHECK(stage.is_reduction() || stage.reduction_axes.empty(),
                   "nest {}: stage {} with reduction axes and no combiner", nest_.name, stage.name);
    std::set<std::string> names;
    for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduction_axes}) {
      for (const Axis& axis : *axes) {
        EMULSION_CHECK(names.insert(axis.name()).second, "nest {}: stage {} with axis {} twice",
                       nest_.name, stage.name, axis.name());
        check_sizes(axis.extent(), "stage " + stage.name);
      }
    }
  }

  void check_specializations(const Stage& stage) {
    for (size_t i = 0; i < stage.specializations.size(); ++i) {
      const Expr& condition = stage.specializations[i].condition;
      EMULSION_CHECK(condition.defined() && condition.dtype() == DType::boolean,
                     "nest {}: stage {}: a specialization that is no condition", nest_.name,
                     stage.name);
      visit(condition, [&](const Expr& e) {
        EMULSION_CHECK(e->op != ExprOp::axis && e->op != ExprOp::read,
                       "nest {}: stage {}: a specialization that depends on {}", nest_.name,
                       stage.name, e->name);
        if (e->op == ExprOp::size) check_sizes(Extent::size(e->name), "stage " + stage.name);
      });
      check_transforms(specialized(stage, i));
    }
  }

  void check_transforms(const Stage& stage) {
    check_cuts(stage);
    std::set<std::string> loops;
    for (const Axis& axis : stage.axes) loops.insert(axis.name());
    for (const Axis& axis : stage.reduction_axes) loops.insert(axis.name());
    auto take = [&](const std::string& axis) {
      EMULSION_CHECK(loops.erase(axis) == 1,
                     "nest {}: stage {}: a transform of {}, which is no loop", nest_.name,
                     stage.name, axis);
    };
    auto make = [&](const std::string& axis) {
      EMULSION_CHECK(loops.insert(axis).second, "nest {}: stage {}: a transform makes {} twice",
                     nest_.name, stage.name, axis);
    };
    for (const LoopTransform& transform : stage.transforms) {
      if (transform.kind == LoopTransform::Kind::fuse) {
        take(transform.outer);
        take(transform.inner);
        make(transform.axis);
        continue;
      }
      take(transform.axis);
      make(transform.outer);
      if (transform.kind == LoopTransform::Kind::split) make(transform.inner);
      EMULSION_CHECK(transform.factor > 0, "nest {}: stage {}: a split of {} by {}", nest_.name,
                     stage.name, transform.axis, transform.factor);
      EMULSION_CHECK(transform.tail != Tail::automatic,
                     "nest {}: stage {}: a split of {} with an automatic tail", nest_.name,
                     stage.name, transform.axis);
    }
  }

  void check_cuts(const Stage& stage) {
    EMULSION_CHECK(stage.cuts.empty() || !stage.is_reduction(),
                   "nest {}: stage {}: cuts of a reduction", nest_.name, stage.name);
    for (const AxisCut& cut : stage.cuts) {
      const std::optional<size_t> axis = axis_index(stage.axes, cut.axis);
      EMULSION_CHECK(axis, "nest {}: stage {}: a cut of {}, which is no axis", nest_.name,
                     stage.name, cut.axis);
      check_sizes(cut.at, "stage " + stage.name);
    }
  }

  void check_body(const Stage& stage, const std::set<std::string>& earlier) {
    EMULSION_CHECK(stage.body.defined() && stage.body.dtype() == stage.dtype,
                   "nest {}: the body of stage {} is not of type {}", nest_.name, stage.name,
                   to_string(stage.dtype));
    auto is_axis = [&](const std::string& name) {
      return axis_index(stage.axes, name) || axis_index(stage.reduction_axes, name);
    };
    visit(stage.body, [&](const Expr& e) {
      EMULSION_CHECK(e->op != ExprOp::reduce, "nest {}: stage {} with a reduction in its body",
                     nest_.name, stage.name);
      EMULSION_CHECK(e->op != ExprOp::axis || is_axis(e->name),
                     "nest {}: stage {} uses {}, which is not an axis of it", nest_.name,
                     stage.name, e->name);
      if (e->op == ExprOp::size) check_sizes(Extent::size(e->name), "stage " + stage.name);
      if (e->op == ExprOp::read) check_read(stage, e.node(), earlier);
    });
  }

  void check_read(const Stage& stage, const ExprNode& read, const std::set<std::string>& earlier) {
    EMULSION_CHECK(read.tensor == nullptr, "nest {}: stage {} reads an operation of a graph",
                   nest_.name, stage.name);
    const Buffer& buffer = nest_.buffer(read.name);
    EMULSION_CHECK(buffer.dtype == read.dtype, "nest {}: stage {} reads {} as {}, it is {}",
                   nest_.name, stage.name, buffer.name, to_string(read.dtype),
                   to_string(buffer.dtype));
    EMULSION_CHECK(buffer.shape.size() == read.args.size(),
                   "nest {}: stage {} reads {} with {} indices for {} axes", nest_.name, stage.name,
                   buffer.name, read.args.size(), buffer.shape.size());
    const bool computed = role_rank(buffer.role) == 1 || role_rank(buffer.role) == 3;
    EMULSION_CHECK(!computed || earlier.count(buffer.name),
                   "nest {}: stage {} reads {}, which is not an earlier stage", nest_.name,
                   stage.name, buffer.name);
  }

  void check_pack(const Pack& pack) {
    const Buffer& packed = nest_.buffer(pack.packed);
    EMULSION_CHECK(packed.role == BufferRole::weight,
                   "nest {}: pack of {} makes {}, which is no weight", nest_.name, pack.weight,
                   pack.packed);
    EMULSION_CHECK(pack.nest != nullptr, "nest {}: pack of {} without a nest", nest_.name,
                   pack.weight);
    std::vector<const Buffer*> arguments = pack.nest->arguments();
    EMULSION_CHECK(arguments.size() == 2 && arguments[0]->name == pack.weight &&
                       arguments[1]->role == BufferRole::output &&
                       arguments[1]->name == pack.packed,
                   "nest {}: pack of {} whose nest does not take {} to {}", nest_.name, pack.weight,
                   pack.weight, pack.packed);
    EMULSION_CHECK(arguments[0]->shape.size() != packed.shape.size(),
                   "nest {}: pack of {} makes one of the same rank, which no caller could tell",
                   nest_.name, pack.weight);
    EMULSION_CHECK(arguments[1]->shape == packed.shape && arguments[1]->dtype == packed.dtype,
                   "nest {}: pack of {} makes {}, the nest reads {}", nest_.name, pack.weight,
                   to_string(arguments[1]->shape), to_string(packed.shape));
  }

  const LoopNest& nest_;
};

}  // namespace

void verify_nest_tables(const LoopNest& nest) { TableVerifier(nest).verify(); }

}  // namespace emulsion
