// A LoopNest as text: one header line with the arguments and outputs, constants, packs, then the
// tree. A stage's axis whose index is just the loop of the same name is left out of the `where`.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/error.h"
#include "passes/nest/loop_nest.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

std::string declaration(const Buffer& buffer) {
  return fmt::format("{}: {}{}", buffer.name, to_string(buffer.dtype), to_string(buffer.shape));
}

std::string loop_word(LoopKind kind) {
  if (kind == LoopKind::serial) return "for";
  return kind == LoopKind::tile ? "tile" : to_string(kind);
}

std::string uop_word(UopKind kind) {
  switch (kind) {
    case UopKind::load:
      return "load";
    case UopKind::execute:
      return "execute";
    case UopKind::store:
      return "store";
  }
  return "?";
}

// "if m < 128 (loads)": only the loads are left out where it does not hold.
std::string mask_text(GuardMask mask) {
  switch (mask) {
    case GuardMask::instance:
      return "";
    case GuardMask::loads_and_stores:
      return " (loads and stores)";
    case GuardMask::loads:
      return " (loads)";
    case GuardMask::stores:
      return " (stores)";
  }
  return "";
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
    case Combiner::min_number:
      return "min_number=";
    case Combiner::max_number:
      return "max_number=";
  }
  return "=";
}

class Printer : public NestVisitor {
 public:
  explicit Printer(const LoopNest& nest) : nest_(nest) {}

  std::string print() {
    print_header();
    if (nest_.root) walk(*nest_.root);
    return std::move(text_);
  }

 private:
  // From some depth on the lines say how deep they are, or the text would be mostly blanks.
  void line(const std::string& content) {
    constexpr int kDeepest = 100;
    text_ += std::string(static_cast<size_t>(2 * std::min(depth_, kDeepest)), ' ');
    if (depth_ > kDeepest) text_ += fmt::format("[{}] ", depth_);
    text_ += content + "\n";
  }

  void print_header() {
    std::vector<std::string> inputs, outputs;
    for (const Buffer* argument : nest_.arguments()) {
      (argument->role == BufferRole::output ? outputs : inputs).push_back(declaration(*argument));
    }
    line(fmt::format("kernel {}({}) -> {}", nest_.name, fmt::join(inputs, ", "),
                     fmt::join(outputs, ", ")));
    for (const Buffer& buffer : nest_.buffers) {
      if (buffer.role == BufferRole::constant) line("constant " + declaration(buffer));
    }
    for (const Pack& pack : nest_.packs) {
      line(fmt::format("pack {} -> {}", pack.weight, pack.packed));
    }
    for (const TileGrid& grid : nest_.tile_grids) {
      const std::string inside = grid.result == grid.stage ? "" : " (" + grid.stage + ")";
      line(fmt::format("grid {}{}: {}", grid.result, inside, to_string(grid)));
    }
  }

  void print_inside(const Node& node) {
    ++depth_;
    walk(node);
    --depth_;
  }

  void visit_loop(const Loop& loop) override {
    line(fmt::format("{} {}{} in {}{}{}", loop_word(loop.kind), loop.variable(), shared_text(loop),
                     steps_text(loop), pieces_text(loop) + prefetch_text(loop),
                     loop.partition ? ", partition" : ""));
    print_inside(*loop.body);
  }

  void visit_alloc(const Alloc& alloc) override {
    line(alloc_text(alloc));
    print_inside(*alloc.body);
  }

  void visit_hoisted_alloc(const HoistedAlloc& alloc) override {
    line(fmt::format("hoisted_alloc {}[{}] in {}{}", alloc.stage,
                     fmt::join(extents_of(alloc), ", "), to_string(alloc.memory),
                     order_text(alloc)));
    hoisted_.insert(alloc.stage);
    print_inside(*alloc.body);
    hoisted_.erase(alloc.stage);
  }

  void visit_window(const WindowNode& window) override {
    std::vector<std::string> ranges;
    for (size_t d = 0; d < window.extents.size(); ++d) {
      ranges.push_back(range_text(window.mins[d], window.extents[d]));
    }
    std::string slides;
    for (const Window& slide : window.slides) {
      slides += fmt::format(", {} slides along {}: {} at first, then {}",
                            nest_.stage(window.stage).axes[slide.axis].name(),
                            to_string(slide.loop), slide.length, slide.fresh());
    }
    line(fmt::format("{} {}[{}]{}", window.is_whole ? "part" : "window", window.stage,
                     fmt::join(ranges, ", "), slides));
    print_inside(*window.body);
  }

  void visit_uop(const UopNode& uop) override { line(uop_text(uop)); }

  void visit_branch(const Branch& branch) override { print_branch(branch, "if "); }

  // "if B == 1", "else if B % 8 == 0", "else"
  void print_branch(const Branch& branch, const std::string& word) {
    line(word + to_string(branch.condition));
    print_inside(*branch.holds);
    if (const Branch* other = branch.otherwise->as<Branch>()) {
      print_branch(*other, "else if ");
    } else {
      line("else");
      print_inside(*branch.otherwise);
    }
  }

  static std::string shared_text(const Loop& loop) {
    std::string text;
    for (const std::string& stage : loop.shared) {
      text += (text.empty() ? " with " : ", ") + loop_variable(stage, loop.axis);
    }
    return text;
  }

  // "8"; of a loop that does not start at 0 "2 .. +8"
  std::string steps_text(const Loop& loop) {
    const bool from_0 = loop.min->op == ExprOp::constant && loop.min->int_value == 0;
    return from_0 ? to_string(loop.extent) : range_text(loop.min, loop.extent);
  }

  // ", n in C .. +D"
  std::string pieces_text(const Loop& loop) {
    std::string text;
    for (const AxisPiece& piece : loop.pieces) {
      text += fmt::format(", {} in {}", piece.axis,
                          range_text(extent_value(piece.min), extent_value(piece.extent)));
    }
    return text;
  }

  static std::string prefetch_text(const Loop& loop) {
    std::string text;
    for (const Prefetch& prefetch : loop.prefetches) {
      text += fmt::format(", prefetching {} {} ahead", prefetch.buffer, prefetch.distance);
      if (!prefetch.ahead_of.empty()) text += " of " + prefetch.ahead_of;
    }
    return text;
  }

  // "alloc mm[y.mo * 6 .. +6, 0 .. +64] in registers"; a folded axis: "bx[fold 4, 0 .. +64]"
  std::string alloc_text(const Alloc& alloc) {
    std::vector<std::string> ranges = extents_of(alloc);
    for (size_t d = 0; d < ranges.size(); ++d) {
      if (alloc.layout.fold(d) == 0) ranges[d] = to_string(alloc.mins[d]) + " .. " + ranges[d];
    }
    const std::string own =
        hoisted_.count(alloc.stage) ? "hoisted" : to_string(alloc.memory) + order_text(alloc);
    const std::string where = alloc.output.empty() ? own : "output " + alloc.output;
    return fmt::format("alloc {}[{}] in {}", alloc.stage, fmt::join(ranges, ", "), where);
  }

  // "+64", "fold 4", "+60 align 16", "+C room 64"
  std::vector<std::string> extents_of(const Storage& storage) {
    std::vector<std::string> extents;
    for (size_t d = 0; d < storage.extents.size(); ++d) {
      const int64_t fold = storage.layout.fold(d);
      extents.push_back(fold > 0 ? fmt::format("fold {}", fold)
                                 : "+" + extent_text(storage.extents[d]));
      const int64_t multiple = storage.layout.alignments.empty() ? 0 : storage.layout.alignments[d];
      if (multiple > 1) extents.back() += fmt::format(" align {}", multiple);
      if (const int64_t room = storage.layout.room(d); room > 0) {
        extents.back() += fmt::format(" room {}", room);
      }
    }
    return extents;
  }

  // ", order (n, m)": outermost first, when it is not that of the axes.
  std::string order_text(const Storage& storage) {
    if (storage.layout.order.empty()) return "";
    std::vector<std::string> names;
    for (size_t axis : storage.layout.order) {
      names.push_back(nest_.stage(storage.stage).axes[axis].name());
    }
    return fmt::format(", order ({})", fmt::join(names, ", "));
  }

  std::string range_text(const Expr& min, const Expr& extent) {
    return to_string(min) + " .. +" + extent_text(extent);
  }

  std::string extent_text(const Expr& extent) {
    const bool is_sum =
        extent->args.size() == 2 && extent->op != ExprOp::min && extent->op != ExprOp::max;
    return is_sum ? "(" + to_string(extent) + ")" : to_string(extent);
  }

  std::string uop_text(const UopNode& uop) {
    const Stage& stage = nest_.stage(uop.stage);
    std::vector<std::string> names = axis_names(stage.axes);
    std::string text =
        fmt::format("{} {}[{}] ", uop_word(uop.kind), stage.name, fmt::join(names, ", "));
    if (uop.part == Part::init) {
      text += "= " + to_string(identity_of(stage.combiner, stage.dtype));
    } else {
      text += (uop.atomic ? "atomic " : "") + assignment(stage.combiner) + " " +
              to_string(body_of(stage, uop));
    }
    for (const Axis& axis : stage.reduction_axes) names.push_back(axis.name());
    return text + where_text(uop, stage, names) + guard_text(uop, names);
  }

  std::string where_text(const UopNode& uop, const Stage& stage,
                         const std::vector<std::string>& names) {
    std::vector<std::string> bindings;
    for (size_t i = 0; i < uop.point.size() && i < names.size(); ++i) {
      std::string index = to_string(uop.point[i]);
      if (index != loop_variable(stage.name, names[i]))
        bindings.push_back(names[i] + " = " + index);
    }
    return bindings.empty() ? "" : fmt::format("  where {}", fmt::join(bindings, ", "));
  }

  // A guard speaks of the stage's axes where it can: "if m < 128". One that is a mask says what it
  // masks: "if m < 128 (stores)".
  std::string guard_text(const UopNode& uop, const std::vector<std::string>& names) {
    std::vector<std::string> conditions;
    for (const Guard& guard : uop.guards) {
      std::vector<Expr> sides;
      for (const Expr& side : guard.condition->args) {
        sides.push_back(axis_name_of(side, uop, names));
      }
      conditions.push_back(to_string(with_args(guard.condition, std::move(sides))) +
                           mask_text(guard.mask));
    }
    return conditions.empty() ? "" : fmt::format("  if {}", fmt::join(conditions, " and "));
  }

  Expr axis_name_of(const Expr& index, const UopNode& uop, const std::vector<std::string>& names) {
    if (index->op == ExprOp::constant || index->op == ExprOp::size) return index;
    for (size_t i = 0; i < uop.point.size() && i < names.size(); ++i) {
      if (equal(uop.point[i], index)) return axis_value(names[i]);
    }
    return index;
  }

  const LoopNest& nest_;
  std::set<std::string> hoisted_;  // stages whose HoistedAlloc is around the node at hand
  int depth_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const TileGrid& grid) {
  const bool batched = grid.batch->op != ExprOp::constant || grid.batch->int_value != 1;
  return fmt::format("{}{} x {} x {} tiles of {} x {} x {}",
                     batched ? to_string(grid.batch) + " of " : "", to_string(grid.m),
                     to_string(grid.n), to_string(grid.k), grid.tile_m, grid.tile_n, grid.tile_k);
}

std::string to_string(const LoopNest& nest) { return Printer(nest).print(); }

}  // namespace emulsion
