// pack: the directive that changes a weight's layout, and the nest that makes the packed weight.

#include <algorithm>
#include <cstring>
#include <limits>

#include "dsl/error.h"
#include "dsl/fitting_name.h"
#include "dsl/nearest_name.h"
#include "dsl/text_lexer.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/make_nest.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {

std::string packed_name(const std::string& weight) { return fitting_name(weight + "_packed"); }

// What a directive makes must be small enough for a buffer, as every tensor of the graph is.
void require_size(const std::string& stage, const Directive& d, const Shape& shape, DType dtype) {
  constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();
  std::optional<int64_t> count = element_count(shape);
  if (count && *count > kMostBytes / size_in_bytes(dtype)) {
    refuse(stage, d,
           fmt::format("expected at most {} bytes, got shape {} of {}; legal: a smaller factor",
                       kMostBytes, to_string(shape), to_string(dtype)));
  }
}

namespace {

std::vector<std::string> weights_read_by(const WrittenNest& nest, const Stage& stage) {
  std::vector<std::string> names;
  for (const std::string& name : buffers_read_by(stage)) {
    const Buffer* buffer = nest.find_buffer(name);
    const bool weight =
        buffer && (buffer->role == BufferRole::weight || buffer->role == BufferRole::constant);
    if (weight) names.push_back(name);
  }
  return names;
}

std::vector<std::string> stages_that_read(const WrittenNest& nest, const std::string& weight) {
  std::vector<std::string> names;
  for (const WrittenStage& stage : nest.stages) {
    if (buffers_read_by(stage.stage).count(weight) > 0) names.push_back(stage.stage.name);
  }
  return names;
}

// Which index of the weight is exactly the axis; the same one in every read.
size_t packed_dimension(const WrittenNest& nest, const WrittenStage& plan, const Directive& d) {
  std::optional<size_t> dimension;
  std::vector<std::string> alone;  // axes that are an index of it
  visit(plan.stage.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->name != d.target) return;
    for (size_t i = 0; i < e->args.size(); ++i) {
      if (e->args[i]->op != ExprOp::axis) continue;
      alone.push_back(e->args[i]->name);
      if (alone.back() == d.axes[0] && !dimension) dimension = i;
    }
  });
  const std::vector<std::string> weights = weights_read_by(nest, plan.stage);
  if (std::count(weights.begin(), weights.end(), d.target) == 0) {
    const std::vector<std::string> readers = stages_that_read(nest, d.target);
    refuse(
        plan.stage.name, d,
        readers.empty()
            ? expected_name("a weight that " + plan.stage.name + " reads", weights, d.target)
            : fmt::format("expected a weight that {} reads ({}), got {}; legal: pack of {} by {}",
                          plan.stage.name, list_names(weights), d.target, d.target,
                          list_names(readers)));
  }
  if (!dimension) {
    refuse(plan.stage.name, d,
           expected_name("an axis that indexes " + d.target + " alone", alone, d.axes[0]));
  }
  return *dimension;
}

// w[.., n, ..]  ->  w_packed[n / factor, .., n % factor], padded with zeros.
Shape packed_shape(const Shape& shape, size_t dimension, int64_t factor) {
  Shape result = {Extent((shape[dimension].constant_term() + factor - 1) / factor)};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != dimension) result.push_back(shape[i]);
  }
  result.emplace_back(factor);
  return result;
}

std::vector<uint8_t> packed_bytes(const Buffer& buffer, size_t dimension, int64_t factor,
                                  const Shape& packed) {
  int64_t item = size_in_bytes(buffer.dtype);
  std::vector<uint8_t> result(*element_count(packed) * item);
  int64_t before = 1, after = 1, extent = buffer.shape[dimension].constant_term();
  for (size_t i = 0; i < dimension; ++i) before *= buffer.shape[i].constant_term();
  for (size_t i = dimension + 1; i < buffer.shape.size(); ++i)
    after *= buffer.shape[i].constant_term();
  // packed index: [n / factor][before][after][n % factor]
  for (int64_t b = 0; b < before; ++b) {
    for (int64_t n = 0; n < extent; ++n) {
      for (int64_t a = 0; a < after; ++a) {
        int64_t from = ((b * extent + n) * after + a) * item;
        int64_t to = ((((n / factor) * before + b) * after + a) * factor + n % factor) * item;
        std::memcpy(&result[to], &(*buffer.data)[from], item);
      }
    }
  }
  return result;
}

std::shared_ptr<const LoopNest> pack_nest(const Buffer& weight_buffer, const std::string& packed,
                                          size_t dimension, int64_t factor) {
  Tensor w = weight(weight_buffer.name, weight_buffer.dtype, weight_buffer.shape);
  int64_t extent = weight_buffer.shape[dimension].constant_term();
  Axis no("panel", Extent((extent + factor - 1) / factor)), ni("lane", Extent(factor));
  Expr n = Expr(no) * int_constant(factor) + Expr(ni);
  Expr clamped = extent % factor == 0 ? n : min(n, int_constant(std::max<int64_t>(extent - 1, 0)));
  std::vector<Axis> axes = {no};
  std::vector<Expr> indices;
  for (size_t i = 0; i < weight_buffer.shape.size(); ++i) {
    if (i == dimension) {
      indices.push_back(clamped);
      continue;
    }
    axes.emplace_back("i" + std::to_string(i), weight_buffer.shape[i]);
    indices.emplace_back(axes.back());
  }
  axes.push_back(ni);
  Expr value = w.at(indices);
  if (extent % factor != 0) {
    value = select(n < int_constant(extent), value, constant(weight_buffer.dtype, 0));
  }
  Graph graph(compute(packed, axes, value));
  return std::make_shared<const LoopNest>(make_nest(graph, Schedule(graph)));
}

}  // namespace

void pack_weight(WrittenNest* nest, const WrittenStage& stage, const Directive& d) {
  Buffer* buffer = nullptr;
  for (Buffer& candidate : nest->buffers) {
    if (candidate.name == d.target) buffer = &candidate;
  }
  if (buffer && buffer->role == BufferRole::input) {
    refuse(stage.stage.name, d,
           fmt::format("expected a weight or a constant ({0}), got {1}, which is an input; "
                       "legal: to declare {1} with weight() in place of input()",
                       list_names(weights_read_by(*nest, stage.stage)), d.target));
  }
  if (!buffer || (buffer->role != BufferRole::weight && buffer->role != BufferRole::constant)) {
    const bool again = nest->find_buffer(packed_name(d.target)) != nullptr;
    refuse(stage.stage.name, d,
           again
               ? fmt::format("expected a weight or a constant, not packed yet, got {}; legal: one "
                             "pack",
                             d.target)
               : expected_name("a weight or a constant", weights_read_by(*nest, stage.stage),
                               d.target));
  }
  size_t dimension = packed_dimension(*nest, stage, d);
  if (!buffer->shape[dimension].is_constant()) {
    refuse(stage.stage.name, d,
           fmt::format("expected an extent that is a number, got {}; legal: no pack",
                       buffer->shape[dimension].to_string()));
  }
  const Buffer original = *buffer;
  std::string packed = packed_name(original.name);
  if (nest->find_buffer(packed) || nest->find(packed)) {
    refuse(
        stage.stage.name, d,
        fmt::format("expected that no buffer is called {0}, got one; legal: another name for {0}",
                    packed));
  }
  Shape shape = packed_shape(original.shape, dimension, d.factor);
  require_size(stage.stage.name, d, shape, original.dtype);
  buffer->name = packed;
  buffer->shape = shape;
  if (original.role == BufferRole::constant) {
    buffer->data = std::make_shared<const std::vector<uint8_t>>(
        packed_bytes(original, dimension, d.factor, shape));
  } else {
    nest->packs.push_back(
        {original.name, packed, pack_nest(original, packed, dimension, d.factor)});
  }
  auto in_packed = [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read || e->name != original.name) return Expr();
    Expr factor = int_constant(d.factor);
    std::vector<Expr> indices = {simplify_index(e->args[dimension] / factor)};
    for (size_t i = 0; i < e->args.size(); ++i) {
      if (i != dimension) indices.push_back(e->args[i]);
    }
    indices.push_back(simplify_index(e->args[dimension] % factor));
    return read_buffer(packed, e->dtype, std::move(indices));
  };
  for (WrittenStage& user : nest->stages) user.stage.body = transform(user.stage.body, in_packed);
}

}  // namespace emulsion
