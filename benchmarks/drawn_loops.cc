#include "benchmarks/drawn_loops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "benchmarks/drawer.h"
#include "benchmarks/whole_number.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

// An axis, or what an operand has in the place of one: factor * R + plus, where R is a run-time
// size, or a number.
struct Length {
  int64_t number;  // in a run, also where it is a run-time size
  bool is_run_time = false;

  std::string text(int64_t factor = 1, int64_t plus = 0) const {
    if (!is_run_time) return fmt::format("{}", factor * number + plus);
    std::string text = factor == 1 ? "R" : fmt::format("{} * R", factor);
    if (plus != 0) text += fmt::format(" {} {}", plus < 0 ? '-' : '+', plus < 0 ? -plus : plus);
    return text;
  }
};

struct NamedLength {
  std::string name;
  Length length;
};
using Axes = std::vector<NamedLength>;

std::string list_of(const Axes& axes) {
  std::vector<std::string> words;
  for (const NamedLength& axis : axes)
    words.push_back(fmt::format("{}: {}", axis.name, axis.length.text()));
  return fmt::format("{}", fmt::join(words, ", "));
}

// The text of a program, line by line.
class Lines {
 public:
  Lines(Drawer* draw, const Axes& axes) : draw_(*draw) {
    for (const NamedLength& axis : axes)
      if (axis.length.is_run_time) sizes_["R"] = axis.length.number;
  }

  // An input of this shape. Its name.
  std::string input(const std::string& type, const std::vector<std::string>& shape) {
    std::string name = fmt::format("x{}", count_++);
    inputs_ += fmt::format("input {}: {}[{}]\n", name, type, fmt::join(shape, ", "));
    return name;
  }
  // The same, read at these axes.
  std::string read(const std::string& type, const Axes& axes) {
    std::vector<std::string> shape, indices;
    for (const NamedLength& axis : axes) {
      shape.push_back(axis.length.text());
      indices.push_back(axis.name);
    }
    return fmt::format("{}[{}]", input(type, shape), fmt::join(indices, ", "));
  }
  void compute(const std::string& name, const Axes& axes, const std::string& body) {
    operations_ += fmt::format("{}[{}] = {}\n", name, list_of(axes), body);
  }
  DrawnLoops program(const std::string& name) const {
    return {name,
            fmt::format("emulsion graph 1\n{}{}{}output y\n", sizes_.empty() ? "" : "size R\n",
                        inputs_, operations_),
            sizes_};
  }
  Drawer& draw() { return draw_; }

 private:
  Drawer& draw_;
  SizeValues sizes_;
  std::string inputs_, operations_;
  int count_ = 0;
};

// Axes of eight thousand elements to a million, so that the call itself is little; one is the
// longest, and some are short.
Axes draw_axes(Drawer* draw, int64_t least_rank, int64_t most_rank) {
  constexpr int64_t kFewest = 1 << 13, kMost = 1 << 20;
  const std::vector<std::string> names = {"i", "j", "k", "l"};
  const int64_t rank = draw->between(least_rank, most_rank), longest = draw->between(0, rank - 1);
  const int64_t elements = draw->of_any_size(kFewest, kMost);
  Axes axes;
  int64_t others = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t number = draw->one_of(2) ? draw->between(2, 8) : draw->of_any_size(2, 100);
    if (i != longest) others *= number;
    axes.push_back({names[static_cast<size_t>(i)], {number}});
  }
  axes[static_cast<size_t>(longest)].length.number = std::max<int64_t>(elements / others, 2);
  if (draw->one_of(4))
    axes[static_cast<size_t>(draw->between(0, rank - 1))].length.is_run_time = true;
  return axes;
}

std::string draw_float(Drawer* draw) { return draw->one_of(6) ? "f64" : "f32"; }

Axes some_of(Drawer* draw, const Axes& axes) {
  Axes some;
  for (const NamedLength& axis : axes)
    if (draw->one_of(2)) some.push_back(axis);
  return some;
}

// Operands of which some have not all axes.
void draw_broadcast(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw_float(&draw);
  std::string body = lines->read(type, axes);
  for (int64_t i = draw.between(1, 3); i > 0; --i) {
    const std::string sign = draw.any<std::string>({"+", "-", "*"});
    const std::string other = lines->read(type, some_of(&draw, axes));
    body = draw.one_of(4) ? fmt::format("max({}, {})", body, other)
                          : fmt::format("({} {} {})", body, sign, other);
  }
  lines->compute("y", axes, body);
}

// Operands whose axes stand in another order.
void draw_transpose(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw.one_of(4) ? draw.any<std::string>({"u8", "i16", "i32"}) : "f32";
  std::string body = lines->read(type, draw.shuffled(axes));
  for (int64_t i = draw.between(0, 2); i > 0; --i) {
    const Axes other = draw.one_of(2) ? axes : draw.shuffled(axes);
    body = fmt::format("{} {} {}", body, draw.one_of(2) ? "+" : "*", lines->read(type, other));
  }
  lines->compute("y", axes, body);
}

// Reduced over windows of one axis or two, whose step may be 1, more, or as long as the window;
// with weights or without.
void draw_window(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw_float(&draw);
  const std::vector<std::string> names = {"r", "s"};
  std::vector<std::string> shape, indices;
  Axes windows;
  const int64_t first = draw.between(0, static_cast<int64_t>(axes.size()) - 1);
  const int64_t count =
      std::min<int64_t>(draw.between(1, 2), static_cast<int64_t>(axes.size()) - first);
  for (int64_t i = 0; i < static_cast<int64_t>(axes.size()); ++i) {
    const NamedLength& axis = axes[static_cast<size_t>(i)];
    if (i < first || i >= first + count) {
      shape.push_back(axis.length.text());
      indices.push_back(axis.name);
      continue;
    }
    const NamedLength window = {names[static_cast<size_t>(i - first)], {draw.between(2, 7)}};
    const int64_t step = draw.any<int64_t>({1, 1, 2, window.length.number});
    shape.push_back(axis.length.text(step, window.length.number));
    indices.push_back(step == 1 ? fmt::format("{} + {}", axis.name, window.name)
                                : fmt::format("{} * {} + {}", step, axis.name, window.name));
    windows.push_back(window);
  }
  std::string body = fmt::format("{}[{}]", lines->input(type, shape), fmt::join(indices, ", "));
  if (draw.one_of(2)) body = fmt::format("{} * {}", body, lines->read(type, windows));
  lines->compute("y", axes,
                 fmt::format("{}({}) {}", draw.one_of(3) ? "max" : "sum", list_of(windows), body));
}

// Neighbours, every second one, from the end, or several times.
void draw_index(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw_float(&draw);
  std::string body;
  for (int64_t i = draw.between(1, 2); i > 0; --i) {
    std::vector<std::string> shape, indices;
    for (const NamedLength& axis : axes) {
      const Length& length = axis.length;
      shape.push_back(length.text());
      indices.push_back(axis.name);
      if (!draw.one_of(3)) continue;
      switch (draw.between(1, 4)) {
        case 1:
          shape.back() = length.text(1, 3);
          indices.back() = fmt::format("{} + {}", axis.name, draw.between(1, 3));
          break;
        case 2:
          shape.back() = length.text(2, 1);
          indices.back() = fmt::format("2 * {} + {}", axis.name, draw.between(0, 1));
          break;
        case 3:
          indices.back() = fmt::format("{} - {}", length.text(1, -1), axis.name);
          break;
        default:
          indices.back() = fmt::format("{} / {}", axis.name, draw.between(2, 3));
      }
    }
    const std::string read =
        fmt::format("{}[{}]", lines->input(type, shape), fmt::join(indices, ", "));
    body = body.empty() ? read : fmt::format("{} {} {}", body, draw.one_of(2) ? "+" : "*", read);
  }
  lines->compute("y", axes, body);
}

// Reduced over any axes, whose order in the sum is any; what is kept stands in any order, too.
void draw_reduce(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw_float(&draw);
  Axes kept, reduced;
  for (const NamedLength& axis : axes) (draw.one_of(2) ? kept : reduced).push_back(axis);
  if (reduced.empty()) std::swap(kept, reduced);
  std::string body = lines->read(type, axes);
  if (draw.one_of(2)) body = fmt::format("{} * {}", body, lines->read(type, some_of(&draw, axes)));
  lines->compute("y", draw.one_of(4) ? draw.shuffled(kept) : kept,
                 fmt::format("{}({}) {}", draw.one_of(4) ? "max" : "sum",
                             list_of(draw.shuffled(reduced)), body));
}

// Narrow integers, computed in a wider type.
void draw_cast(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string narrow = draw.any<std::string>({"u8", "i8", "i16", "u16"}),
                    wide = draw.any<std::string>({"i32", "i32", "f32"});
  const auto operand = [&](const Axes& of) {
    return fmt::format("{}({})", wide, lines->read(narrow, of));
  };
  std::string body = operand(axes);
  if (draw.one_of(2)) {
    body = fmt::format("{} {} {}", body, draw.one_of(2) ? "*" : "-", operand(some_of(&draw, axes)));
  }
  Axes kept = axes;
  if (draw.one_of(2)) {
    const auto at = kept.begin() + draw.between(0, static_cast<int64_t>(kept.size()) - 1);
    body = fmt::format("sum({}) {}", list_of({*at}), body);
    kept.erase(at);
  } else if (wide == "i32" && draw.one_of(2)) {
    body = fmt::format("{}({})", narrow, body);
  }
  lines->compute("y", kept, body);
}

// Sums over some axes, and then an operation of all that reads them.
void draw_normed(Lines* lines, const Axes& axes) {
  Drawer& draw = lines->draw();
  const std::string type = draw_float(&draw), x = lines->read(type, axes);
  Axes kept, reduced;
  for (const NamedLength& axis : axes) (draw.one_of(2) ? kept : reduced).push_back(axis);
  if (reduced.empty()) std::swap(kept, reduced);
  lines->compute("s", kept,
                 fmt::format("{}({}) {}", draw.one_of(3) ? "max" : "sum", list_of(reduced), x));
  std::vector<std::string> names;
  for (const NamedLength& axis : kept) names.push_back(axis.name);
  lines->compute("y", axes,
                 fmt::format("{} {} s[{}]", x, draw.one_of(2) ? "-" : "*", fmt::join(names, ", ")));
}

struct Kind {
  std::string name;
  int64_t least_rank, most_rank;
  void (*draw)(Lines* lines, const Axes& axes);
};

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> all = {
      {"broadcast", 2, 4, draw_broadcast}, {"transpose", 2, 4, draw_transpose},
      {"window", 1, 3, draw_window},       {"index", 1, 3, draw_index},
      {"reduce", 1, 4, draw_reduce},       {"cast", 1, 3, draw_cast},
      {"normed", 1, 3, draw_normed},
  };
  return all;
}

const Kind& kind_named(const std::string& name) {
  const auto kind = std::find_if(all_kinds().begin(), all_kinds().end(),
                                 [&](const Kind& one) { return one.name == name; });
  if (kind == all_kinds().end()) {
    fail("expected one of {}, got {}", fmt::join(loop_kinds(), ", "), name);
  }
  return *kind;
}

int64_t number_of(const std::string& text, const std::string& name) {
  const std::optional<int64_t> number = whole_number(text);
  if (!number) fail("expected a kind, a seed and a number, as window/7.231, got {}", name);
  return *number;
}

}  // namespace

std::vector<std::string> loop_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : all_kinds()) names.push_back(kind.name);
  return names;
}

DrawnLoops loops_named(const std::string& name) {
  const size_t slash = std::min(name.find('/'), name.size());
  const size_t dot = std::min(name.find('.', slash), name.size());
  const Kind& kind = kind_named(name.substr(0, slash));
  const auto after = [&](size_t at, size_t end) {
    return at < end ? name.substr(at + 1, end - at - 1) : std::string();
  };
  const int64_t seed = number_of(after(slash, dot), name),
                number = number_of(after(dot, name.size()), name);
  constexpr uint64_t kApart = 1'000'000'007;
  Drawer draw(static_cast<uint64_t>(seed) * kApart + static_cast<uint64_t>(number));
  const Axes axes = draw_axes(&draw, kind.least_rank, kind.most_rank);
  Lines lines(&draw, axes);
  kind.draw(&lines, axes);
  return lines.program(name);
}

std::vector<std::string> draw_loops(uint64_t seed, size_t count, const std::string& kind) {
  const std::vector<std::string> kinds =
      kind.empty() ? loop_kinds() : std::vector<std::string>{kind_named(kind).name};
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(fmt::format("{}/{}.{}", kinds[i % kinds.size()], seed, i));
  return names;
}

}  // namespace emulsion::benchmarks
