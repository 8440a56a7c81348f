#include "dsl/graph_text.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "dsl/error.h"
#include "dsl/expr_text.h"
#include "dsl/group_kind.h"

namespace emulsion {
namespace {

constexpr size_t kListedValues = 16;
constexpr size_t kWordsPerLine = 8;

std::string axes_text(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    text += (text.empty() ? "" : ", ") + axis.name() + ": " + axis.extent().to_string();
  }
  return text;
}

// The bits of element `i`, whatever its type.
uint64_t element_bits(const Op& op, size_t i) {
  size_t size = static_cast<size_t>(size_in_bytes(op.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, op.data->data() + i * size, size);  // little-endian, as all our targets are
  return bits;
}

// A signalling NaN would be quieted on its way through a double: only bits keep it.
bool is_signalling(DType dtype, uint64_t bits) {
  bool single = dtype == DType::f32;
  uint64_t exponent = single ? 0x7f800000u : 0x7ff0000000000000u;
  uint64_t quiet = single ? 0x00400000u : 0x0008000000000000u;
  uint64_t rest = quiet - 1;
  return is_float(dtype) && (bits & exponent) == exponent && !(bits & quiet) && (bits & rest) != 0;
}

std::string element_text(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::boolean:
      return bits ? "true" : "false";
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
      return fmt::format("{}{}", wrap_integer(dtype, static_cast<int64_t>(bits)),
                         dtype == DType::i32 ? "" : to_string(dtype));
    case DType::f32: {
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      if (is_signalling(dtype, bits)) return fmt::format("nan(f32, 0x{:08x})", bits);
      return float_literal(dtype, value);
    }
    case DType::f64: {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      if (is_signalling(dtype, bits)) return fmt::format("nan(f64, 0x{:016x})", bits);
      return float_literal(dtype, value);
    }
    case DType::bf16:
      break;
  }
  EMULSION_CHECK(false, "constant of type {}", to_string(dtype));
  return "";
}

std::string data_text(const Op& op) {
  size_t size = static_cast<size_t>(size_in_bytes(op.dtype));
  size_t count = op.data->size() / size;
  std::string text;
  if (count <= kListedValues) {
    for (size_t i = 0; i < count; ++i) {
      text += (i ? ", " : "") + element_text(op.dtype, element_bits(op, i));
    }
    return "{" + text + "}";
  }
  text = "hex {";
  for (size_t i = 0; i < count; ++i) {
    text += i % kWordsPerLine ? " " : "\n  ";
    text += fmt::format("{:0{}x}", element_bits(op, i), 2 * size);
  }
  return text + "\n}";
}

std::string compute_text(const Op& op) {
  std::set<std::string> axes;
  for (const Axis& axis : op.axes) axes.insert(axis.name());
  for (const Axis& axis : op.reduction_axes) axes.insert(axis.name());
  std::string text = op.name + "[" + axes_text(op.axes) + "] = ";
  if (op.combiner != Combiner::none) {
    text += to_string(op.combiner) + "(" + axes_text(op.reduction_axes) + ") ";
  }
  return text + to_string(op.body, axes);
}

// The first line of a loop group.
std::string head_of(const LoopGroup& group) {
  const Op& last = *group.members.back();
  const std::vector<Axis>& axes = result_of(last).axes;
  std::string shared;
  for (const size_t axis : group.axes) shared += (shared.empty() ? "" : ", ") + axes[axis].name();
  return group_kind(group) + " " + last.name + " over [" + shared + "] {\n";
}

std::string indented(const std::string& lines) {
  std::string text = "  ";
  for (const char c : lines) text += c == '\n' ? "\n  " : std::string(1, c);
  return text;
}

}  // namespace

std::string to_string(const Op& op) {
  std::string type = op.name + ": " + to_string(op.dtype) + to_string(op.shape);
  switch (op.kind) {
    case OpKind::input:
      return "input " + type;
    case OpKind::weight:
      return "weight " + type;
    case OpKind::constant:
      return "constant " + type + " = " + data_text(op);
    case OpKind::compute:
      return compute_text(op);
    case OpKind::fused: {
      std::string text = group_kind(op) + " " + op.name + " {\n";
      for (const OpPtr& member : op.members) text += "  " + compute_text(*member) + "\n";
      return text + "}";
    }
  }
  EMULSION_CHECK(false, "no such kind {}", static_cast<int>(op.kind));
  return "";
}

std::string to_string(const Graph& graph) {
  std::string text = "emulsion graph 1\n";
  for (const std::string& size : graph.sizes()) text += "size " + size + "\n";
  auto group = graph.loop_groups().begin();
  for (const OpPtr& op : graph.ops()) {
    const bool is_in = group != graph.loop_groups().end() &&
                       std::count(group->members.begin(), group->members.end(), op) > 0;
    if (is_in && op == group->members.front()) text += head_of(*group);
    text += (is_in ? indented(to_string(*op)) : to_string(*op)) + "\n";
    if (!is_in || op != group->members.back()) continue;
    text += "}\n";
    ++group;
  }
  for (const OpPtr& output : graph.outputs()) text += "output " + output->name + "\n";
  return text;
}

}  // namespace emulsion
