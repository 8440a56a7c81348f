// A LoopNest as text: one header line with the arguments and outputs, constants, packs, then the
// tree. Index expressions are shown simplified (the tree itself keeps what lowering wrote); a
// stage's axis whose index is just the loop of the same name is left out of the `where`.

#include <set>
#include <utility>

#include "dsl/error.h"
#include "passes/index/collect_terms.h"
#include "passes/nest/guard_tails.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {
namespace {

std::string index_text(const Expr& expr) { return to_string(collect_terms(expr)); }

// The right-hand side: only the indices of its reads are simplified.
std::string value_text(const Expr& body) {
  return to_string(transform(body, [](const Expr& e) {
    if (e->op != ExprOp::read) return Expr();
    std::vector<Expr> indices;
    for (const Expr& index : e->args) indices.push_back(collect_terms(index));
    auto node = std::make_shared<ExprNode>(e.node());
    node->args = std::move(indices);
    return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
  }));
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? separator : "") + parts[i];
  return text;
}

std::string declaration(const Buffer& buffer) {
  return fmt::format("{}: {}{}", buffer.name, to_string(buffer.dtype), to_string(buffer.shape));
}

std::string loop_word(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "for";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::tile:
      return "tile";
  }
  return "for";
}

std::string uop_word(NodeKind kind) {
  switch (kind) {
    case NodeKind::load:
      return "load";
    case NodeKind::execute:
      return "execute";
    case NodeKind::store:
      return "store";
    default:
      return "?";
  }
}

std::string assignment(Combiner combiner) {
  switch (combiner) {
    case Combiner::none:
      return "=";
    case Combiner::sum:
      return "+=";
    case Combiner::product:
      return "*=";
    case Combiner::min:
      return "min=";
    case Combiner::max:
      return "max=";
  }
  return "=";
}

class Printer {
 public:
  explicit Printer(const LoopNest& nest) : nest_(nest) {}

  std::string print() {
    print_header();
    if (nest_.root) print_node(*nest_.root, 0);
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& content) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + content + "\n";
  }

  void print_header() {
    std::vector<std::string> inputs, outputs;
    for (const Buffer* argument : nest_.arguments()) {
      (argument->role == BufferRole::output ? outputs : inputs).push_back(declaration(*argument));
    }
    line(0,
         fmt::format("kernel {}({}) -> {}", nest_.name, join(inputs, ", "), join(outputs, ", ")));
    for (const Buffer& buffer : nest_.buffers) {
      if (buffer.role == BufferRole::constant) line(0, "constant " + declaration(buffer));
    }
    for (const Pack& pack : nest_.packs) {
      line(0, fmt::format("pack {} -> {}", pack.weight, pack.packed));
    }
    for (const TileGrid& grid : nest_.tile_grids) {
      const std::string inside = grid.result == grid.stage ? "" : " (" + grid.stage + ")";
      line(0, fmt::format("grid {}{}: {}", grid.result, inside, to_string(grid)));
    }
  }

  void print_node(const Node& node, int depth) {
    switch (node.kind) {
      case NodeKind::block:
        for (const NodePtr& child : node.children) print_node(*child, depth);
        return;
      case NodeKind::loop:
        line(depth, fmt::format("{} {}{} in {}{}", loop_word(node.loop_kind),
                                loop_variable(node.stage, node.axis), shared_text(node),
                                index_text(node.extent), prefetch_text(node)));
        break;
      case NodeKind::branch:
        print_branch(node, depth, "if ");
        return;
      case NodeKind::alloc:
        line(depth, alloc_text(node));
        break;
      case NodeKind::reserve:
        line(depth, fmt::format("reserve {}[{}] in {}{}", node.stage, join(extents_of(node), ", "),
                                to_string(node.memory), order_text(node)));
        break;
      case NodeKind::produce:
        line(depth, fmt::format("produce {}[{}]", node.stage, join(ranges_of(node), ", ")));
        break;
      case NodeKind::load:
      case NodeKind::execute:
      case NodeKind::store:
        line(depth, uop_text(node));
        break;
    }
    if (node.kind == NodeKind::reserve) reserved_.insert(node.stage);
    for (const NodePtr& child : node.children) print_node(*child, depth + 1);
    if (node.kind == NodeKind::reserve) reserved_.erase(node.stage);
  }

  // "if B == 1", "else if B % 8 == 0", "else"
  void print_branch(const Node& node, int depth, const std::string& word) {
    line(depth, word + to_string(node.condition));
    const Stage& stage = nest_.stage(node.stage);
    size_t& index = case_[node.stage];
    if (index < stage.specializations.size()) {
      special_.insert_or_assign(node.stage, specialized(stage, index));
    }
    print_node(*node.children[0], depth + 1);
    special_.erase(node.stage);
    ++index;
    print_other_side(node, depth);
    --index;
  }

  void print_other_side(const Node& node, int depth) {
    const Node& other = *node.children[1];
    if (other.kind == NodeKind::branch) {
      print_branch(other, depth, "else if ");
    } else {
      line(depth, "else");
      print_node(other, depth + 1);
    }
  }

  static std::string shared_text(const Node& loop) {
    std::string text;
    for (const std::string& stage : loop.shared) {
      text += (text.empty() ? " with " : ", ") + loop_variable(stage, loop.axis);
    }
    return text;
  }

  static std::string prefetch_text(const Node& loop) {
    std::string text;
    for (const Prefetch& prefetch : loop.prefetches) {
      text += fmt::format(", prefetching {} {} ahead", prefetch.buffer, prefetch.distance);
    }
    return text;
  }

  // "alloc mm[y.mo * 6 .. +6, 0 .. +64] in registers"; a folded axis: "bx[fold 4, 0 .. +64]"
  std::string alloc_text(const Node& node) {
    if (reserved_.count(node.stage)) {
      return fmt::format("alloc {}[{}] in reserved", node.stage, join(ranges_of(node), ", "));
    }
    return fmt::format("alloc {}[{}] in {}{}", node.stage, join(ranges_of(node), ", "),
                       to_string(node.memory), order_text(node));
  }

  std::vector<std::string> ranges_of(const Node& node) {
    std::vector<std::string> ranges = extents_of(node);
    for (size_t d = 0; d < ranges.size(); ++d) {
      if (node.layout.fold(d) == 0) ranges[d] = index_text(node.mins[d]) + " .. " + ranges[d];
    }
    return ranges;
  }

  // "+64", "fold 4", "+60 align 16"
  std::vector<std::string> extents_of(const Node& node) {
    std::vector<std::string> extents;
    for (size_t d = 0; d < node.extents.size(); ++d) {
      const int64_t fold = node.layout.fold(d);
      extents.push_back(fold > 0 ? fmt::format("fold {}", fold)
                                 : "+" + extent_text(node.extents[d]));
      const int64_t multiple = node.layout.alignments.empty() ? 0 : node.layout.alignments[d];
      if (multiple > 1) extents.back() += fmt::format(" align {}", multiple);
    }
    return extents;
  }

  // ", order (n, m)": outermost first, when it is not that of the axes.
  std::string order_text(const Node& node) {
    if (node.layout.order.empty()) return "";
    std::vector<std::string> names;
    for (size_t axis : node.layout.order) {
      names.push_back(nest_.stage(node.stage).axes[axis].name());
    }
    return fmt::format(", order ({})", join(names, ", "));
  }

  std::string extent_text(const Expr& extent) {
    const Expr shown = collect_terms(extent);
    const bool is_sum =
        shown->args.size() == 2 && shown->op != ExprOp::min && shown->op != ExprOp::max;
    return is_sum ? "(" + to_string(shown) + ")" : to_string(shown);
  }

  std::string uop_text(const Node& node) {
    const Stage& stage = nest_.stage(node.stage);
    std::vector<std::string> names;
    for (const Axis& axis : stage.axes) names.push_back(axis.name());
    std::string text =
        fmt::format("{} {}[{}] ", uop_word(node.kind), stage.name, join(names, ", "));
    if (node.part == Part::init) {
      text += "= " + to_string(identity_of(stage.combiner, stage.dtype));
    } else {
      text += (node.atomic ? "atomic " : "") + assignment(stage.combiner) + " " +
              value_text(stage.body);
    }
    for (const Axis& axis : stage.reduction_axes) names.push_back(axis.name());
    return text + where_text(node, stage, names) + guard_text(node, names);
  }

  std::string where_text(const Node& node, const Stage& stage,
                         const std::vector<std::string>& names) {
    std::vector<std::string> bindings;
    for (size_t i = 0; i < node.point.size() && i < names.size(); ++i) {
      std::string index = index_text(node.point[i]);
      if (index != loop_variable(stage.name, names[i]))
        bindings.push_back(names[i] + " = " + index);
    }
    return bindings.empty() ? "" : "  where " + join(bindings, ", ");
  }

  // The tails of its guards. In a nest that is broken, too: what verify_nest refuses can be shown.
  std::vector<Tail> tails_of(const Node& node) const {
    auto special = special_.find(node.stage);
    std::vector<Tail> tails = guard_tails(
        special == special_.end() ? nest_.stage(node.stage) : special->second, node.part);
    if (tails.size() != node.guards.size()) tails.assign(node.guards.size(), Tail::guard);
    return tails;
  }

  // A guard speaks of the stage's axes where it can: "if m < 128". One that is a mask says so: "if
  // m < 128 (predicate)".
  std::string guard_text(const Node& node, const std::vector<std::string>& names) {
    std::vector<std::string> conditions;
    const std::vector<Tail> tails = tails_of(node);
    for (size_t i = 0; i < node.guards.size(); ++i) {
      Expr shown = collect_terms(node.guards[i]);
      auto copy = std::make_shared<ExprNode>(shown.node());
      for (Expr& side : copy->args) side = axis_name_of(side, node, names);
      conditions.push_back(to_string(Expr(std::shared_ptr<const ExprNode>(std::move(copy)))));
      if (tails[i] != Tail::guard) conditions.back() += " (" + to_string(tails[i]) + ")";
    }
    return conditions.empty() ? "" : "  if " + join(conditions, " and ");
  }

  Expr axis_name_of(const Expr& index, const Node& node, const std::vector<std::string>& names) {
    if (index->op == ExprOp::constant || index->op == ExprOp::size) return index;
    for (size_t i = 0; i < node.point.size() && i < names.size(); ++i) {
      if (equal(collect_terms(node.point[i]), index)) return axis_value(names[i]);
    }
    return index;
  }

  const LoopNest& nest_;
  std::set<std::string> reserved_;        // stages whose reserve is around the node at hand
  std::map<std::string, Stage> special_;  // stages that are in a special case there
  std::map<std::string, size_t> case_;    // how many of its special cases are behind
  std::string text_;
};

}  // namespace

std::string to_string(const TileGrid& grid) {
  const bool batched = grid.batch->op != ExprOp::constant || grid.batch->int_value != 1;
  return fmt::format("{}{} x {} x {} tiles of {} x {} x {}",
                     batched ? index_text(grid.batch) + " of " : "", index_text(grid.m),
                     index_text(grid.n), index_text(grid.k), grid.tile_m, grid.tile_n, grid.tile_k);
}

std::string to_string(const LoopNest& nest) { return Printer(nest).print(); }

}  // namespace emulsion
