#include "backends/halide/reported_loops.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "Halide.h"
#include "backends/halide/build_pipeline.h"
#include "backends/halide/halide_call.h"
#include "dsl/error.h"

// Exported by libHalide.so, and what Func::print_loop_nest() writes to standard error, but not declared in
// Halide.h.
namespace Halide::Internal {
std::string print_loop_nest(const std::vector<Function>& outputs);
}  // namespace Halide::Internal

namespace emulsion {
namespace {

void collect(const Node& node, int depth, std::vector<ReportedLoop>* loops) {
  if (node.kind == NodeKind::loop) {
    ReportedLoop loop{depth, node.stage, node.axis, node.loop_kind, std::nullopt};
    if (node.extent->op == ExprOp::constant) loop.extent = node.extent->int_value;
    if (loop.extent != 1) {
      loops->push_back(loop);
      ++depth;
    }
  }
  for (const NodePtr& child : node.children) collect(*child, depth, loops);
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

// Halide's text, by indentation: "produce y:", "parallel m.mo:", "for n.no in [0, 7]:", "consume mm:". A loop
// belongs to the stage whose production is the innermost around it.
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
    return std::move(loops_);
  }

 private:
  struct Open {
    size_t indent;
    bool is_loop;
    std::string produced;  // empty: not a production
  };

  void parse_line(const std::string& line, size_t indent) {
    std::istringstream words(line);
    std::string first, name;
    words >> first >> name;
    if (!name.empty() && name.back() == ':') name.pop_back();
    std::optional<LoopKind> kind = kind_of(first);
    if (!kind) {
      // Names that Halide has met before get a number behind a dollar sign.
      open_.push_back({indent, false, first == "produce" ? name.substr(0, name.find('$')) : ""});
      return;
    }
    ReportedLoop loop;
    loop.kind = *kind;
    loop.axis = name.substr(name.rfind('.') + 1);
    loop.extent = extent_in(line);
    for (const Open& open : open_) {
      if (open.is_loop) ++loop.depth;
      if (!open.produced.empty()) loop.stage = open.produced;
    }
    open_.push_back({indent, true, ""});
    loops_.push_back(loop);
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
  std::vector<ReportedLoop> loops_;
};

std::string describe(const ReportedLoop& loop) {
  return fmt::format("{}{} {}.{}{}", std::string(static_cast<size_t>(2 * loop.depth), ' '),
                     word(loop.kind), loop.stage, loop.axis,
                     loop.extent ? fmt::format(" in {}", *loop.extent) : "");
}

// A loop that Halide has and knows to run once is not one either.
std::vector<ReportedLoop> without_single_steps(const std::vector<ReportedLoop>& loops) {
  std::vector<ReportedLoop> result;
  std::vector<int> skipped;  // depths of the loops left out around the loop at hand
  for (ReportedLoop loop : loops) {
    while (!skipped.empty() && skipped.back() >= loop.depth) skipped.pop_back();
    if (loop.extent == 1) {
      skipped.push_back(loop.depth);
      continue;
    }
    loop.depth -= static_cast<int>(skipped.size());
    result.push_back(loop);
  }
  return result;
}

}  // namespace

bool ReportedLoop::operator==(const ReportedLoop& other) const {
  bool same_extent = !extent || !other.extent || *extent == *other.extent;
  return depth == other.depth && stage == other.stage && axis == other.axis &&
         kind == other.kind && same_extent;
}

std::vector<ReportedLoop> loops_of_nest(const LoopNest& nest) {
  std::vector<ReportedLoop> loops;
  EMULSION_CHECK(nest.root != nullptr, "nest {}: no tree", nest.name);
  collect(*nest.root, 0, &loops);
  return loops;
}

std::vector<ReportedLoop> loops_of_halide(const LoopNest& nest) {
  std::string report;
  call_halide("asking for the loops of " + nest.name, [&] {
    HalidePipeline built = build_pipeline(nest, true);
    std::vector<Halide::Internal::Function> outputs;
    for (const Halide::Func& output : built.outputs) outputs.push_back(output.function());
    report = Halide::Internal::print_loop_nest(outputs);
  });
  return without_single_steps(ReportParser().parse(report));
}

std::string to_string(const std::vector<ReportedLoop>& loops) {
  std::string text;
  for (const ReportedLoop& loop : loops) text += describe(loop) + "\n";
  return text;
}

std::optional<std::string> first_difference(const std::vector<ReportedLoop>& expected,
                                            const std::vector<ReportedLoop>& reported) {
  for (size_t i = 0; i < std::max(expected.size(), reported.size()); ++i) {
    std::string left = i < expected.size() ? describe(expected[i]) : "nothing";
    std::string right = i < reported.size() ? describe(reported[i]) : "nothing";
    if (i >= expected.size() || i >= reported.size() || !(expected[i] == reported[i])) {
      return fmt::format("loop {}: the nest has \"{}\", Halide has \"{}\"", i, left, right);
    }
  }
  return std::nullopt;
}

}  // namespace emulsion
