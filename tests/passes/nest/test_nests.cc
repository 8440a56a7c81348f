#include "tests/passes/nest/test_nests.h"

#include <utility>

namespace emulsion {
namespace {

Stage matmul_stage(const Extent& rows) {
  Stage stage;
  stage.name = "mm";
  stage.dtype = DType::f32;
  stage.axes = {Axis("m", rows), Axis("n", 8)};
  stage.reduction_axes = {Axis("k", 3)};
  stage.combiner = Combiner::sum;
  Expr m = axis_value("m"), n = axis_value("n"), k = axis_value("k");
  Expr row = min(m, extent_value(rows - Extent(1)));
  stage.body = read_buffer("x", DType::f32, {row, k}) * read_buffer("w", DType::f32, {k, n});
  return stage;
}

Stage relu_stage(const Extent& rows) {
  Stage stage;
  stage.name = "y";
  stage.dtype = DType::f32;
  stage.axes = {Axis("m", rows), Axis("n", 8)};
  Expr m = axis_value("m"), n = axis_value("n");
  stage.body = max(read_buffer("mm", DType::f32, {m, n}) + read_buffer("b", DType::f32, {n}), 0.0f);
  LoopTransform split;
  split.kind = LoopTransform::Kind::split;
  split.axis = "m";
  split.outer = "mo";
  split.inner = "mi";
  split.factor = 2;
  stage.transforms = {split};
  return stage;
}

}  // namespace

NodePtr block_node(std::vector<NodePtr> children) { return make_node(Block{std::move(children)}); }

NodePtr loop_node(const std::string& stage, const std::string& axis, Expr extent, NodePtr child,
                  LoopKind kind, Part part) {
  Loop loop;
  loop.stage = stage;
  loop.part = part;
  loop.axis = axis;
  loop.extent = std::move(extent);
  loop.kind = kind;
  loop.body = std::move(child);
  return make_node(std::move(loop));
}

NodePtr alloc_node(const std::string& stage, std::vector<Expr> mins, std::vector<Expr> extents,
                   NodePtr child, Memory memory) {
  Alloc alloc;
  alloc.stage = stage;
  alloc.mins = std::move(mins);
  alloc.extents = std::move(extents);
  alloc.memory = memory;
  alloc.body = std::move(child);
  return make_node(std::move(alloc));
}

NodePtr uop_node(UopKind kind, const std::string& stage, Part part, std::vector<Expr> point,
                 std::vector<Expr> guards) {
  return make_node(UopNode{kind, stage, part, std::move(point), guards_of(guards)});
}

std::vector<Guard> guards_of(const std::vector<Expr>& conditions) {
  std::vector<Guard> guards;
  for (const Expr& condition : conditions) guards.push_back({condition, GuardMask::instance});
  return guards;
}

Expr v(const std::string& stage, const std::string& axis) {
  return axis_value(loop_variable(stage, axis));
}

LoopNest linear_nest(const Extent& rows) {
  LoopNest nest;
  nest.name = "y";
  for (const auto& [name, coefficient] : rows.coefficients()) nest.sizes.push_back(name);
  nest.buffers = {
      {"x", DType::f32, BufferRole::input, {rows, 3}, nullptr},
      {"w", DType::f32, BufferRole::weight, {3, 8}, nullptr},
      {"b", DType::f32, BufferRole::weight, {8}, nullptr},
      {"y", DType::f32, BufferRole::output, {rows, 8}, nullptr},
      {"mm", DType::f32, BufferRole::internal, {rows, 8}, nullptr},
  };
  nest.stages = {matmul_stage(rows), relu_stage(rows)};

  Expr two = int_constant(2), eight = int_constant(8);
  Expr mm_m = v("y", "mo") * 2 + v("mm", "m"), mm_n = v("mm", "n");
  auto tile = [&](Part part, NodePtr body) {
    return loop_node("mm", "m", two, loop_node("mm", "n", eight, body, LoopKind::vectorized, part),
                     LoopKind::unrolled, part);
  };
  NodePtr init = tile(Part::init, uop_node(UopKind::execute, "mm", Part::init, {mm_m, mm_n}));
  NodePtr update = loop_node("mm", "k", int_constant(3),
                             tile(Part::update, uop_node(UopKind::execute, "mm", Part::update,
                                                         {mm_m, mm_n, v("mm", "k")})),
                             LoopKind::serial, Part::update);
  Expr m = v("y", "mo") * 2 + v("y", "mi");
  NodePtr store =
      uop_node(UopKind::store, "y", Part::pure, {m, v("y", "n")}, {m < extent_value(rows)});
  NodePtr epilogue =
      loop_node("y", "mi", two, loop_node("y", "n", eight, store, LoopKind::vectorized));
  NodePtr storage = alloc_node("mm", {v("y", "mo") * 2, int_constant(0)}, {two, eight},
                               block_node({init, update, epilogue}), Memory::stack);
  Expr tiles = loop_extents(nest.stages[1], {extent_value(rows), eight}).at("mo");
  nest.root = loop_node("y", "mo", tiles, storage, LoopKind::parallel);
  return nest;
}

LoopNest pointwise_nest(const Extent& extent, const Expr& body, DType dtype) {
  LoopNest nest;
  nest.name = "y";
  for (const auto& [name, coefficient] : extent.coefficients()) nest.sizes.push_back(name);
  nest.buffers = {{"x", dtype, BufferRole::input, {extent}, nullptr},
                  {"y", body.dtype(), BufferRole::output, {extent}, nullptr}};
  Stage stage;
  stage.name = "y";
  stage.dtype = body.dtype();
  stage.axes = {Axis("i", extent)};
  stage.body = body;
  nest.stages = {stage};
  nest.root = loop_node("y", "i", extent_value(extent),
                        uop_node(UopKind::store, "y", Part::pure, {v("y", "i")}));
  return nest;
}

LoopNest copy_nest(const Extent& extent, DType dtype) {
  return pointwise_nest(extent, read_buffer("x", dtype, {axis_value("i")}), dtype);
}

LoopNest reduction_nest(Combiner combiner, const Extent& extent, DType dtype) {
  LoopNest nest;
  nest.name = "y";
  for (const auto& [name, coefficient] : extent.coefficients()) nest.sizes.push_back(name);
  nest.buffers = {{"x", dtype, BufferRole::input, {extent}, nullptr},
                  {"y", dtype, BufferRole::output, {}, nullptr}};
  Stage stage;
  stage.name = "y";
  stage.dtype = dtype;
  stage.reduction_axes = {Axis("k", extent)};
  stage.combiner = combiner;
  stage.body = read_buffer("x", dtype, {axis_value("k")});
  nest.stages = {stage};
  NodePtr update = uop_node(UopKind::execute, "y", Part::update, {v("y", "k")});
  nest.root = block_node(
      {uop_node(UopKind::execute, "y", Part::init, {}),
       loop_node("y", "k", extent_value(extent), update, LoopKind::serial, Part::update)});
  return nest;
}

LoopNest masked_loads_nest() {
  LoopNest nest;
  nest.name = "y";
  nest.buffers = {
      {"x", DType::f32, BufferRole::input, {10}, nullptr},
      {"y", DType::f32, BufferRole::output, {10}, nullptr},
      {"a", DType::f32, BufferRole::internal, {10}, nullptr},
  };
  const Axis i("i", 10);
  const auto read = [](const std::string& buffer) {
    return read_buffer(buffer, DType::f32, {axis_value("i")});
  };
  Stage a, y;
  a.name = "a";
  y.name = "y";
  a.dtype = y.dtype = DType::f32;
  a.axes = y.axes = {i};
  a.body = read("x") * 2.0f;
  y.body = read("a");
  a.transforms = {{LoopTransform::Kind::split, "i", "io", "ii", 4, Tail::predicate_loads}};
  nest.stages = {a, y};
  const Expr index = v("a", "io") * 4 + v("a", "ii");
  UopNode execute{
      UopKind::execute, "a", Part::pure, {index}, {{index < 10, GuardMask::loads}}, false, Expr()};
  NodePtr steps =
      loop_node("a", "ii", int_constant(4), make_node(std::move(execute)), LoopKind::vectorized);
  NodePtr stored = loop_node("y", "i", int_constant(10),
                             uop_node(UopKind::store, "y", Part::pure, {v("y", "i")}));
  nest.root = alloc_node("a", {int_constant(0)}, {int_constant(12)},
                         block_node({loop_node("a", "io", int_constant(3), steps), stored}));
  return nest;
}

LoopNest packed_nest() {
  LoopNest pack;
  pack.name = "w_packed";
  pack.buffers = {{"w", DType::f32, BufferRole::weight, {3, 8}, nullptr},
                  {"w_packed", DType::f32, BufferRole::output, {2, 3, 4}, nullptr}};
  Stage stage;
  stage.name = "w_packed";
  stage.dtype = DType::f32;
  stage.axes = {Axis("panel", 2), Axis("k", 3), Axis("lane", 4)};
  stage.body =
      read_buffer("w", DType::f32, {axis_value("k"), axis_value("panel") * 4 + axis_value("lane")});
  pack.stages = {stage};
  NodePtr node = uop_node(UopKind::store, "w_packed", Part::pure,
                          {v("w_packed", "panel"), v("w_packed", "k"), v("w_packed", "lane")});
  for (const char* axis : {"lane", "k", "panel"}) {
    int extent = *axis == 'l' ? 4 : *axis == 'k' ? 3 : 2;
    node = loop_node("w_packed", axis, int_constant(extent), node);
  }
  pack.root = node;

  LoopNest nest = linear_nest();
  nest.buffers[1] = {"w_packed", DType::f32, BufferRole::weight, {2, 3, 4}, nullptr};
  Expr n = axis_value("n");
  nest.stages[0].body = transform(nest.stages[0].body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->name != "w") return Expr();
    return read_buffer("w_packed", DType::f32, {n / 4, axis_value("k"), n % 4});
  });
  nest.packs = {{"w", "w_packed", std::make_shared<const LoopNest>(pack)}};
  return nest;
}

NodePtr child_of(const NodePtr& node, size_t i) {
  std::vector<NodePtr> children;
  for_each_child(*node, [&](const NodePtr& child) { children.push_back(child); });
  return children.at(i);
}

}  // namespace emulsion
