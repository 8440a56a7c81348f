#include "backends/halide/reported_loops.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "Halide.h"
#include "backends/halide/build_pipeline.h"
#include "backends/halide/define_stages.h"
#include "backends/halide/halide_call.h"
#include "backends/halide/nest_places.h"
#include "dsl/error.h"

// Exported by libHalide.so, and what Func::print_loop_nest() writes to standard error, but not
// declared in Halide.h.
namespace Halide::Internal {
std::string print_loop_nest(const std::vector<Function>& outputs);
}  // namespace Halide::Internal

namespace emulsion {
namespace {

// Whether a uOp under this node is ever issued, as far as numbers tell.
bool runs(const Node& node) {
  if (node.kind == NodeKind::loop && node.extent->op == ExprOp::constant &&
      node.extent->int_value <= 0) {
    return false;
  }
  if (node.children.empty()) return node.kind != NodeKind::block;
  return std::any_of(node.children.begin(), node.children.end(),
                     [](const NodePtr& child) { return runs(*child); });
}

// The loops of a stage whose extents follow those of `axes`: not the steps inside a split.
std::set<std::string> loops_over(const Stage& stage, std::set<std::string> axes) {
  for (const LoopTransform& t : stage.transforms) {
    if (t.kind == LoopTransform::Kind::split) {
      if (axes.erase(t.axis)) axes.insert(t.outer);
    } else if (axes.erase(t.outer) + axes.erase(t.inner) > 0) {
      axes.insert(t.axis);
    }
  }
  return axes;
}

class NestWalker {
 public:
  explicit NestWalker(const LoopNest& nest) {
    for (const auto& [stage, axes] : shrinking_axes(nest, find_places(nest))) {
      moving_[stage] = loops_over(nest.stage(stage), axes);
    }
    find_longer(*nest.root);
    walk(*nest.root);
    for (ReportedLoop& loop : loops) {
      if (slid_along_.count(loop_variable(loop.stage, loop.axis))) loop.extent = std::nullopt;
    }
  }
  std::vector<ReportedLoop> loops;

 private:
  void find_longer(const Node& node) {
    if (node.kind == NodeKind::loop && !is_one_step(node)) longer_.insert(variable_of(node));
    for (const NodePtr& child : node.children) find_longer(*child);
  }

  // A loop of a single step is left out where its variable is that of a longer one elsewhere, of a
  // special case or of the start value: loops that vanish are told by their variables.
  void walk(const Node& node) {
    if (!runs(node)) return;
    const bool is_loop = node.kind == NodeKind::loop &&
                         (!is_one_step(node) || longer_.count(variable_of(node)) == 0);
    if (is_loop) {
      loops.push_back(reported(node));
      around_.push_back(variable_of(node));
    }
    for (const NodePtr& child : node.children) walk(*child);
    if (is_loop) around_.pop_back();
  }

  static std::string variable_of(const Node& loop) { return loop_variable(loop.stage, loop.axis); }

  static bool is_one_step(const Node& loop) {
    return loop.extent->op == ExprOp::constant && loop.extent->int_value == 1;
  }

  ReportedLoop reported(const Node& node) {
    ReportedLoop loop;
    loop.stage = node.stage;
    loop.axis = node.axis;
    loop.kind = node.loop_kind;
    loop.around = around_;
    const auto slides = first_iterations_in(node.extent);
    if (slides) slid_along_.insert(slides->begin(), slides->end());
    if (is_one_step(node) || moving_[node.stage].count(node.axis)) {
      loop.may_vanish = true;
    } else if (node.extent->op == ExprOp::constant) {
      loop.extent = node.extent->int_value;
    } else if (slides && !slides->empty()) {
      loop.may_vanish = later_extent(node.extent, *slides) == 1;
    }
    return loop;
  }

  // The extent in all iterations but the first, when it is a number.
  static std::optional<int64_t> later_extent(const Expr& extent,
                                             const std::set<std::string>& slides) {
    bool varies = false;
    visit(extent, [&](const Expr& e) { varies = varies || e->op == ExprOp::size; });
    if (varies) return std::nullopt;
    std::map<std::string, int64_t> later;
    for (const std::string& variable : slides) later[variable] = 1;
    return evaluate_index(extent, later);
  }

  std::set<std::string> longer_;  // variables of loops that are not known to have a single step
  std::vector<std::string> around_;
  std::map<std::string, std::set<std::string>> moving_;  // loops by stage: see shrinking_axes
  std::set<std::string> slid_along_;
};

// Without the loops that Halide may do without, where it does.
std::vector<ReportedLoop> without_vanished(const std::vector<ReportedLoop>& nest,
                                           const std::vector<ReportedLoop>& halide) {
  std::set<std::string> vanished;
  for (const ReportedLoop& loop : nest) {
    const bool there = std::any_of(halide.begin(), halide.end(), [&](const ReportedLoop& other) {
      return other.stage == loop.stage && other.axis == loop.axis;
    });
    if (loop.may_vanish && !there) vanished.insert(loop_variable(loop.stage, loop.axis));
  }
  std::vector<ReportedLoop> result;
  for (ReportedLoop loop : nest) {
    if (vanished.count(loop_variable(loop.stage, loop.axis))) continue;
    loop.around.erase(
        std::remove_if(loop.around.begin(), loop.around.end(),
                       [&](const std::string& variable) { return vanished.count(variable) > 0; }),
        loop.around.end());
    result.push_back(std::move(loop));
  }
  return result;
}

std::string word(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "for";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::tile:  // never reaches Halide
      return "tile";
  }
  return "for";
}

std::optional<LoopKind> kind_of(const std::string& text) {
  for (LoopKind kind :
       {LoopKind::serial, LoopKind::parallel, LoopKind::vectorized, LoopKind::unrolled}) {
    if (word(kind) == text) return kind;
  }
  return std::nullopt;
}

// Halide's text, by indentation: "produce y:", "parallel m.mo:", "for n.no in [0, 7]:", "consume
// mm:", "y(...) = ...". A loop belongs to the stage whose production is the innermost around it.
// Productions directly inside one another share loops ("for fused.m:"), which are the first one's;
// a loop inside these is that of the first of them that is assigned there.
class ReportParser {
 public:
  std::vector<ReportedLoop> parse(const std::string& report) {
    std::istringstream lines(report);
    for (std::string line; std::getline(lines, line);) {
      size_t indent = line.find_first_not_of(' ');
      if (indent == std::string::npos) continue;
      while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
      parse_line(line.substr(indent), indent);
    }
    std::vector<ReportedLoop> live;
    for (Found& found : loops_) {
      if (!found.live) continue;
      for (size_t outer : found.around) found.loop.around.push_back(variable(loops_[outer].loop));
      live.push_back(found.loop);
    }
    return live;
  }

 private:
  static constexpr size_t kNoLoop = SIZE_MAX;
  struct Open {
    size_t indent;
    size_t loop = kNoLoop;              // its place; none: not a loop, or one of a single step
    std::vector<std::string> produced;  // stages; none: not a production
  };
  struct Found {
    ReportedLoop loop;                // its stage is empty as long as it is not known
    std::vector<size_t> around;       // places, outermost first
    std::vector<std::string> stages;  // that it may belong to
    bool live = false;                // whether anything is computed inside
  };

  static std::string variable(const ReportedLoop& loop) {
    return loop_variable(loop.stage, loop.axis);
  }

  void parse_line(const std::string& line, size_t indent) {
    std::istringstream words(line);
    std::string first, name;
    words >> first >> name;
    if (!name.empty() && name.back() == ':') name.pop_back();
    // A loop that starts earlier for a window that slides along it is "y.$n", printed "y.".
    while (!name.empty() && name.back() == '.') name.pop_back();
    if (line.find("(...) = ...") != std::string::npos) {
      note_assignment(name_in_nest(first.substr(0, first.find('('))));
    } else if (std::optional<LoopKind> kind = kind_of(first)) {
      note_loop(line, name, *kind, indent);
    } else if (first == "produce") {
      std::vector<std::string> stages;
      if (!open_.empty()) stages = open_.back().produced;
      stages.push_back(name_in_nest(name));
      open_.push_back({indent, kNoLoop, stages});
    } else {
      open_.push_back({indent, kNoLoop, {}});
    }
  }

  void note_assignment(const std::string& stage) {
    for (const Open& open : open_) {
      if (open.loop == kNoLoop) continue;
      Found& found = loops_[open.loop];
      found.live = true;
      const bool may_be =
          std::find(found.stages.begin(), found.stages.end(), stage) != found.stages.end();
      if (found.loop.stage.empty() && may_be) found.loop.stage = stage;
    }
  }

  void note_loop(const std::string& line, const std::string& name, LoopKind kind, size_t indent) {
    Found found;
    found.loop.kind = kind;
    found.loop.axis = name_in_nest(name.substr(name.rfind('.') + 1));
    found.loop.extent = extent_in(line);
    for (const Open& open : open_) {
      if (open.loop != kNoLoop) found.around.push_back(open.loop);
      if (!open.produced.empty()) found.stages = open.produced;
    }
    const bool shared = ("." + name).find(".fused.") != std::string::npos;
    if (!found.stages.empty() && (shared || found.stages.size() == 1)) {
      found.loop.stage = found.stages.front();
    }
    if (found.loop.extent == 1) {
      open_.push_back({indent, kNoLoop, {}});
      return;
    }
    open_.push_back({indent, loops_.size(), {}});
    loops_.push_back(std::move(found));
  }

  // "in [0, 7]" is 8.
  static std::optional<int64_t> extent_in(const std::string& line) {
    size_t from = line.find(" in [");
    if (from == std::string::npos) return std::nullopt;
    char* rest = nullptr;
    int64_t low = std::strtoll(line.c_str() + from + 5, &rest, 10);
    if (rest == nullptr || *rest != ',') return std::nullopt;
    int64_t high = std::strtoll(rest + 1, nullptr, 10);
    return high - low + 1;
  }

  std::vector<Open> open_;
  std::vector<Found> loops_;
};

// Halide reports before it knows the extent of what is inside a fused loop. It would find that a
// stage of run-time extent needs more than it has, and leave out what comes after that.
void forget_sizes_of_fused(const HalidePipeline& built) {
  for (const auto& [stage, func] : built.funcs) {
    if (!built.fused.count(func.name())) continue;
    std::vector<Halide::Internal::Bound>& bounds = func.function().schedule().bounds();
    bounds.erase(std::remove_if(bounds.begin(), bounds.end(),
                                [](const Halide::Internal::Bound& bound) {
                                  return !Halide::Internal::is_const(bound.extent);
                                }),
                 bounds.end());
  }
}

std::string describe(const ReportedLoop& loop) {
  return fmt::format("{}{} {}{}", std::string(2 * loop.around.size(), ' '), word(loop.kind),
                     loop_variable(loop.stage, loop.axis),
                     loop.extent ? fmt::format(" in {}", *loop.extent) : "");
}

bool same(const ReportedLoop& a, const ReportedLoop& b) {
  bool same_extent = !a.extent || !b.extent || *a.extent == *b.extent;
  return a.stage == b.stage && a.axis == b.axis && a.kind == b.kind && a.around == b.around &&
         same_extent;
}

std::vector<ReportedLoop> by_stage(std::vector<ReportedLoop> loops) {
  std::stable_sort(loops.begin(), loops.end(),
                   [](const ReportedLoop& a, const ReportedLoop& b) { return a.stage < b.stage; });
  return loops;
}

}  // namespace

std::vector<ReportedLoop> loops_of_nest(const LoopNest& nest) {
  EMULSION_CHECK(nest.root != nullptr, "nest {}: no tree", nest.name);
  return std::move(NestWalker(nest).loops);
}

std::vector<ReportedLoop> loops_of_halide(const LoopNest& nest) {
  std::string report;
  call_halide("asking for the loops of " + nest.name, [&] {
    HalidePipeline built = build_pipeline(nest, true);
    forget_sizes_of_fused(built);
    std::vector<Halide::Internal::Function> outputs;
    for (const Halide::Func& output : built.outputs) outputs.push_back(output.function());
    report = Halide::Internal::print_loop_nest(outputs);
  });
  return ReportParser().parse(report);
}

bool report_is_of_kernel(const LoopNest& nest) {
  return std::none_of(nest.stages.begin(), nest.stages.end(), [](const Stage& stage) {
    const bool is_empty = std::any_of(stage.axes.begin(), stage.axes.end(),
                                      [](const Axis& axis) { return axis.extent() == Extent(0); });
    return is_empty || has_fused_loops(stage) || !stage.specializations.empty();
  });
}

std::string to_string(const std::vector<ReportedLoop>& loops) {
  std::string text;
  for (const ReportedLoop& loop : loops) text += describe(loop) + "\n";
  return text;
}

std::optional<std::string> first_difference(const std::vector<ReportedLoop>& nest,
                                            const std::vector<ReportedLoop>& halide) {
  std::vector<ReportedLoop> expected = by_stage(without_vanished(nest, halide));
  std::vector<ReportedLoop> reported = by_stage(halide);
  for (size_t i = 0; i < std::max(expected.size(), reported.size()); ++i) {
    bool both = i < expected.size() && i < reported.size();
    if (both && same(expected[i], reported[i])) continue;
    return fmt::format("the nest has \"{}\", Halide has \"{}\"",
                       i < expected.size() ? describe(expected[i]) : "nothing",
                       i < reported.size() ? describe(reported[i]) : "nothing");
  }
  return std::nullopt;
}

}  // namespace emulsion
