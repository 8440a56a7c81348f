#include "backends/halide/reported_loops.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "Halide.h"
#include "backends/halide/build_pipeline.h"
#include "backends/halide/define_stages.h"
#include "backends/halide/halide_call.h"
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

class NestWalker {
 public:
  std::vector<ReportedLoop> loops;

  void walk(const Node& node) {
    if (!runs(node)) return;
    bool is_loop = node.kind == NodeKind::loop;
    std::optional<int64_t> extent;
    if (is_loop && node.extent->op == ExprOp::constant) extent = node.extent->int_value;
    is_loop = is_loop && extent != 1;
    if (is_loop) {
      loops.push_back({node.stage, node.axis, node.loop_kind, extent, around_});
      around_.push_back(loop_variable(node.stage, node.axis));
    }
    for (const NodePtr& child : node.children) walk(*child);
    if (is_loop) around_.pop_back();
  }

 private:
  std::vector<std::string> around_;
};

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
  NestWalker walker;
  walker.walk(*nest.root);
  return std::move(walker.loops);
}

std::vector<ReportedLoop> loops_of_halide(const LoopNest& nest) {
  std::string report;
  call_halide("asking for the loops of " + nest.name, [&] {
    HalidePipeline built = build_pipeline(nest, true);
    std::vector<Halide::Internal::Function> outputs;
    for (const Halide::Func& output : built.outputs) outputs.push_back(output.function());
    report = Halide::Internal::print_loop_nest(outputs);
  });
  return ReportParser().parse(report);
}

std::string to_string(const std::vector<ReportedLoop>& loops) {
  std::string text;
  for (const ReportedLoop& loop : loops) text += describe(loop) + "\n";
  return text;
}

std::optional<std::string> first_difference(const std::vector<ReportedLoop>& nest,
                                            const std::vector<ReportedLoop>& halide) {
  std::vector<ReportedLoop> expected = by_stage(nest), reported = by_stage(halide);
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
