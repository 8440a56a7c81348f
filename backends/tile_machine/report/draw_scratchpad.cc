#include "backends/tile_machine/report/draw_scratchpad.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/tile_machine/plan/tile_cost.h"
#include "backends/tile_machine/report/svg_canvas.h"
#include "backends/tile_machine/report/time_bins.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr double kWidth = 1280;
constexpr double kLeft = 104;  // of the plots
constexpr double kRight = 1256;
constexpr double kPlot = kRight - kLeft;
constexpr double kMapTop = 612;  // of the map of addresses
constexpr double kMapHeight = 350;
constexpr size_t kColumns = 288;  // of the whole run
constexpr size_t kMostUops = 2000;
constexpr size_t kMostBuffers = 9;  // with a colour of their own
constexpr size_t kMostTiles = 4000;

struct Colour {
  const char* fill;
  const char* text;  // CSS class of what is written on it
};

// Told apart by people who do not see red and green apart, too (after Paul Tol's schemes).
constexpr Colour kColours[kMostBuffers] = {
    {"#4477aa", "on"}, {"#ccbb44", "ink"}, {"#228833", "on"},
    {"#aa3377", "on"}, {"#66ccee", "ink"}, {"#997700", "on"},
    {"#994455", "on"}, {"#88aadd", "ink"}, {"#44aa99", "on"}};
constexpr Colour kOther = {"#b5b5b5", "ink"};

constexpr const char* kStyle =
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222}"
    ".name{font-size:20px;font-weight:bold}.head{font-size:14px;font-weight:bold}"
    ".small{font-size:10px}.quiet{fill:#666}.end{text-anchor:end}.mid{text-anchor:middle}"
    ".on{fill:#fff;font-size:10px}.ink{fill:#222;font-size:10px}"
    ".back{fill:#f4f4f4}.grid{stroke:#d5d5d5}.limit{stroke:#222;stroke-dasharray:4 3}"
    ".tile{stroke:#fff;stroke-width:.7}.coming{fill:#fff;fill-opacity:.55}.left{fill:#f4f4f4;fill-"
    "opacity:.78}.used{fill:#111}"
    ".busy{fill:#4477aa}.w0{fill:#f2a93b}.w1{fill:#d1372c}.w2{fill:#8d99ae}";

std::string fill(const std::string& colour) { return "fill=\"" + colour + "\""; }
std::string css(const std::string& name) { return "class=\"" + name + "\""; }

// 135647648 -> "135,647,648".
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string bytes_text(int64_t bytes) {
  if (bytes >= int64_t{1} << 20) {
    return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  }
  if (bytes >= 1 << 10) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{} B", bytes);
}

std::string percent(int64_t part, int64_t whole) {
  return fmt::format(
      "{:.1f} %",
      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// As many whole characters of UTF-8 as there is room for.
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end) + "...";
}

// Round numbers, about `count` of them, from `first` to `last`.
std::vector<int64_t> ticks(int64_t first, int64_t last, int count) {
  int64_t step = 1;
  for (int i = 0; (last - first) / step > count; ++i) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  std::vector<int64_t> result;
  for (int64_t at = (first + step - 1) / step * step; at <= last; at += step) result.push_back(at);
  return result;
}

class Picture {
 public:
  Picture(const ScratchpadReport& report, const PictureOptions& options)
      : report_(report),
        program_(report.program),
        plan_(report.plan),
        timing_(report.timing),
        stays_(residencies(report.program, report.plan, report.timing)),
        canvas_(kWidth, 1010, kStyle) {
    choose_colours();
    choose_window(options);
  }

  std::string draw() {
    canvas_.rect(0, 0, kWidth, 1010, fill("#ffffff"));
    draw_figures();
    draw_legend(110);
    if (timing_.total == 0) {
      canvas_.text(24, 170, "The program is empty: there is nothing to plan.");
      return canvas_.finish();
    }
    draw_whole_run();
    draw_contents();
    draw_units();
    draw_addresses();
    return canvas_.finish();
  }

 private:
  // --- colours: the buffers with the most bytes times uses have one each ---

  void choose_colours() {
    std::vector<int64_t> traffic(program_.buffers.size(), 0);
    for (const Residency& stay : stays_) {
      const Tile& tile = program_.tiles[stay.tile];
      traffic[tile.buffer] += tile.bytes;
    }
    std::vector<BufferId> order;
    for (BufferId b = 0; b < traffic.size(); ++b) {
      if (traffic[b] > 0) order.push_back(b);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](BufferId a, BufferId b) { return traffic[a] > traffic[b]; });
    others_ = order.size() > kMostBuffers ? order.size() - kMostBuffers : 0;
    order.resize(order.size() - others_);
    std::sort(order.begin(), order.end());  // as in the nest
    shown_ = std::move(order);
  }

  // Position of a buffer among those with a colour; the one behind them: others.
  size_t colour_index(BufferId buffer) const {
    return static_cast<size_t>(std::find(shown_.begin(), shown_.end(), buffer) - shown_.begin());
  }
  Colour colour(size_t index) const { return index < shown_.size() ? kColours[index] : kOther; }
  Colour tile_colour(TileId tile) const {
    return colour(colour_index(program_.tiles[tile].buffer));
  }

  void choose_window(const PictureOptions& options) {
    if (options.uops < 1 || options.uops > kMostUops) {
      fail("uops of a picture: expected from 1 to {}, got {}", kMostUops, options.uops);
    }
    if (options.first_cycle < 0 || options.first_cycle > std::max<int64_t>(0, timing_.total - 1)) {
      fail("first_cycle of a picture: expected from 0 to {}, got {}",
           std::max<int64_t>(0, timing_.total - 1), options.first_cycle);
    }
    from_ = options.first_cycle;
    for (size_t i = 0; i < plan_.uops.size() && inside_.size() < options.uops; ++i) {
      if (plan_.uops[i].kind == PlannedKind::drop || timing_.spans[i].end <= from_) continue;
      inside_.push_back(i);
      to_ = std::max(to_, timing_.spans[i].end);
    }
  }

  double x_of(int64_t cycle) const {
    const double share =
        static_cast<double>(cycle - from_) / static_cast<double>(std::max<int64_t>(1, to_ - from_));
    return kLeft + kPlot * std::clamp(share, 0.0, 1.0);
  }

  // --- the figures ---

  void draw_figures() {
    const PlanCounts& c = plan_.counts;
    canvas_.text(24, 34, "Scratchpad plan of " + shortened(report_.name, 60), css("name"));
    canvas_.text(24, 54, to_string(plan_.machine), css("quiet"));
    canvas_.text(
        24, 76,
        fmt::format("{} executes in {} cycles (no plan takes fewer than {}); units busy: "
                    "load {}, execute {}, store {}",
                    grouped(c.executes), grouped(timing_.total), grouped(report_.least_cycles),
                    percent(timing_.load_busy, timing_.total),
                    percent(timing_.execute_busy, timing_.total),
                    percent(timing_.store_busy, timing_.total)));
    std::string loads = fmt::format("loads: at least {}", grouped(c.cold_loads));
    for (const PolicyOutcome& outcome : report_.outcomes) {
      loads += fmt::format("; {} {} ({} cycles){}", to_string(outcome.policy),
                           grouped(outcome.counts.loads), grouped(outcome.cycles),
                           outcome.policy == plan_.policy ? ", shown here" : "");
    }
    canvas_.text(24, 94,
                 fmt::format("{}; {} spills; SRAM at most {} of {}", loads, grouped(c.spills),
                             bytes_text(c.peak_bytes), bytes_text(plan_.machine.sram_bytes)));
  }

  void draw_legend(double y) {
    double x = 24;
    auto entry = [&](const std::string& attributes, const std::string& label) {
      canvas_.rect(x, y, 12, 12, attributes);
      canvas_.text(x + 17, y + 10.5, label);
      x += 17 + 6.6 * static_cast<double>(label.size()) + 18;
    };
    for (size_t i = 0; i < shown_.size(); ++i) {
      entry(fill(kColours[i].fill), shortened(program_.buffers[shown_[i]].name, 14));
    }
    if (others_ > 0) entry(fill(kOther.fill), fmt::format("{} others", others_));
    x = 24;
    y += 20;
    canvas_.text(x, y + 10.5, "execute unit:");
    x += 84;
    entry(css("busy"), "busy");
    for (StallCause cause : {StallCause::load, StallCause::space, StallCause::store}) {
      entry(css(stall_class(cause)),
            fmt::format("{} {}", to_string(cause), percent(timing_.stalled(cause), timing_.total)));
    }
  }

  static std::string stall_class(StallCause cause) {
    return fmt::format("w{}", static_cast<int>(cause));
  }

  // --- the whole run ---

  size_t columns() const { return std::min<size_t>(kColumns, static_cast<size_t>(timing_.total)); }

  // Areas on top of each other, each given by its mean in every column, as parts of `full`.
  void stack(double y, double height, const std::vector<std::vector<double>>& layers,
             const std::vector<std::string>& attributes, double full) {
    std::vector<double> low(columns(), y + height);
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> high = low;
      for (size_t i = 0; i < high.size(); ++i) {
        high[i] = std::max(y, high[i] - height * std::max(0.0, layers[l][i]) / full);
      }
      if (high != low) canvas_.path(area(low, high), attributes[l]);
      low = std::move(high);
    }
  }

  // Between two lines of steps: along the upper one and back along the lower one.
  static std::string area(const std::vector<double>& low, const std::vector<double>& high) {
    const size_t n = low.size();
    const double step = kPlot / static_cast<double>(n);
    std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, high[0]);
    for (size_t i = 1; i < n; ++i) {
      if (high[i] == high[i - 1]) continue;
      path += fmt::format("H{:.1f}V{:.1f}", kLeft + step * static_cast<double>(i), high[i]);
    }
    path += fmt::format("H{:.1f}V{:.1f}", kRight, low[n - 1]);
    for (size_t i = n - 1; i > 0; --i) {
      if (low[i] == low[i - 1]) continue;
      path += fmt::format("H{:.1f}V{:.1f}", kLeft + step * static_cast<double>(i), low[i - 1]);
    }
    return path + fmt::format("H{:.1f}Z", kLeft);
  }

  void draw_whole_run() {
    canvas_.text(24, 174, fmt::format("The whole run, {} cycles", grouped(timing_.total)),
                 css("head"));
    TimeBins load(timing_.total, columns()), busy(timing_.total, columns()),
        store(timing_.total, columns());
    for (size_t i = 0; i < plan_.uops.size(); ++i) {
      const Cycles& span = timing_.spans[i];
      if (plan_.uops[i].kind == PlannedKind::load) load.add(span.start, span.end);
      if (plan_.uops[i].kind == PlannedKind::execute) busy.add(span.start, span.end);
      if (plan_.uops[i].kind == PlannedKind::store) store.add(span.start, span.end);
    }
    std::vector<TimeBins> waits(3, TimeBins(timing_.total, columns()));
    for (const Stall& stall : timing_.stalls) {
      waits[static_cast<size_t>(stall.cause)].add(stall.span.start, stall.span.end);
    }
    strip(186, 30, "load", {load.means()}, {fill("#777777")});
    strip(222, 54, "execute", {busy.means(), waits[0].means(), waits[1].means(), waits[2].means()},
          {css("busy"), css("w0"), css("w1"), css("w2")});
    strip(282, 30, "store", {store.means()}, {fill("#777777")});
    mark_window(186, 312);
  }

  void strip(double y, double height, const std::string& label,
             const std::vector<std::vector<double>>& layers,
             const std::vector<std::string>& attributes) {
    canvas_.rect(kLeft, y, kPlot, height, css("back"));
    canvas_.text(kLeft - 10, y + height / 2 + 4, label, css("end"));
    stack(y, height, layers, attributes, 1);
  }

  // Where the detailed part lies in the whole run.
  void mark_window(double top, double bottom) {
    const auto total = static_cast<double>(timing_.total);
    const double left = kLeft + kPlot * static_cast<double>(from_) / total;
    const double width = std::max(1.5, kPlot * static_cast<double>(to_ - from_) / total);
    canvas_.rect(left, top - 3, width, bottom - top + 6,
                 "fill=\"none\" stroke=\"#222\" stroke-width=\"1.2\"", "the part below");
  }

  void draw_contents() {
    constexpr double y = 326, height = 104;
    std::vector<TimeBins> bins(shown_.size() + 1, TimeBins(timing_.total, columns()));
    for (const Residency& stay : stays_) {
      const Tile& tile = program_.tiles[stay.tile];
      bins[colour_index(tile.buffer)].add(
          stay.span.start, stay.span.end,
          static_cast<double>(footprint(plan_.machine, tile.bytes)));
    }
    std::vector<std::vector<double>> layers;
    std::vector<std::string> attributes;
    for (size_t i = 0; i < bins.size(); ++i) {
      layers.push_back(bins[i].means());
      attributes.push_back(fill(colour(i).fill));
    }
    canvas_.rect(kLeft, y, kPlot, height, css("back"));
    stack(y, height, layers, attributes, static_cast<double>(plan_.machine.sram_bytes));
    canvas_.line(kLeft, y, kRight, y, css("limit"));
    canvas_.text(kLeft - 10, y + 9, bytes_text(plan_.machine.sram_bytes), css("end small"));
    canvas_.text(kLeft - 10, y + height / 2 + 4, "in SRAM", css("end"));
    canvas_.text(kLeft - 10, y + height, "0", css("end small"));
    for (int64_t cycle : ticks(0, timing_.total, 8)) {
      const double x =
          kLeft + kPlot * static_cast<double>(cycle) / static_cast<double>(timing_.total);
      canvas_.text(x, y + height + 14, grouped(cycle), css("mid small quiet"));
    }
  }

  // --- the detailed part ---

  void time_axis(double top, double bottom, bool labels) {
    for (int64_t cycle : ticks(from_, to_, 10)) {
      canvas_.line(x_of(cycle), top, x_of(cycle), bottom, css("grid"));
      if (labels) canvas_.text(x_of(cycle), bottom + 14, grouped(cycle), css("mid small quiet"));
    }
  }

  void draw_units() {
    constexpr double lane = 26, gap = 6, top = 496;
    canvas_.text(24, 482,
                 fmt::format("In detail: {} uOps, cycles {} to {}", inside_.size(), grouped(from_),
                             grouped(to_)),
                 css("head"));
    time_axis(top, top + 3 * lane + 2 * gap, false);
    const char* const names[] = {"load", "execute", "store"};
    for (int u = 0; u < 3; ++u) {
      const double y = top + u * (lane + gap);
      canvas_.rect(kLeft, y, kPlot, lane, css("back"));
      canvas_.text(kLeft - 10, y + lane / 2 + 4, names[u], css("end"));
    }
    for (const Stall& stall : timing_.stalls) {
      if (stall.span.end <= from_ || stall.span.start >= to_) continue;
      box(stall.span, top + lane + gap + lane * 0.3, lane * 0.4, css(stall_class(stall.cause)),
          fmt::format("{}, cycles {} to {}", to_string(stall.cause), stall.span.start,
                      stall.span.end));
    }
    for (size_t i : inside_) {
      const double y = top + static_cast<int>(plan_.uops[i].kind) * (lane + gap);
      const Cycles& span = timing_.spans[i];
      box(span, y, lane, css("tile") + " " + fill(tile_colour(plan_.uops[i].tile).fill),
          describe(i));
      label(span, y + lane / 2 + 3.5, label_of(plan_.uops[i]), tile_colour(plan_.uops[i].tile));
    }
  }

  std::string label_of(const PlannedUop& uop) const {
    if (uop.kind != PlannedKind::execute) return tile_name(program_, uop.tile);
    return program_.stages[program_.steps[uop.step].stage];
  }

  std::string describe(size_t i) const {
    const PlannedUop& uop = plan_.uops[i];
    std::string text;
    if (uop.kind == PlannedKind::execute) {
      const TileStep& step = program_.steps[uop.step];
      text = fmt::format("{}: {} at {}", step_name(program_, uop.step),
                         tile_name(program_, uop.tile), uop.address);
      for (size_t o = 0; o + 1u < step.operand_count; ++o) {
        text += fmt::format("{} {} at {}", o ? "," : " from",
                            tile_name(program_, program_.operand(step, o)),
                            plan_.operand_addresses[step.first_operand + o]);
      }
    } else {
      text = fmt::format("{} {} at {} ({})", to_string(uop.kind), tile_name(program_, uop.tile),
                         uop.address, to_string(uop.reason));
    }
    return fmt::format("{}, cycles {} to {}", text, timing_.spans[i].start, timing_.spans[i].end);
  }

  void box(const Cycles& span, double y, double height, const std::string& attributes,
           const std::string& title = "") {
    const double left = x_of(span.start);
    canvas_.rect(left, y, std::max(0.6, x_of(span.end) - left), height, attributes, title);
  }

  // In the middle of its span, when there is room for it.
  void label(const Cycles& span, double y, const std::string& text, const Colour& on) {
    const double room = x_of(span.end) - x_of(span.start);
    if (room < 5.4 * static_cast<double>(text.size()) + 4) return;
    canvas_.text((x_of(span.start) + x_of(span.end)) / 2, y, text,
                 css(std::string("mid ") + on.text));
  }

  // From 0 up to the highest address that is in use in this part.
  void draw_addresses() {
    std::vector<Residency> seen;
    int64_t highest = 1;
    for (const Residency& stay : stays_) {
      if (stay.span.end <= from_ || stay.span.start >= to_ || seen.size() == kMostTiles) continue;
      seen.push_back(stay);
      highest = std::max(highest, stay.address + program_.tiles[stay.tile].bytes);
    }
    top_address_ = highest;
    canvas_.text(24, kMapTop - 8,
                 fmt::format("Addresses in SRAM, of {}; pale: being loaded, or not used again",
                             bytes_text(plan_.machine.sram_bytes)),
                 css("quiet"));
    canvas_.rect(kLeft, kMapTop, kPlot, kMapHeight, css("back"));
    time_axis(kMapTop, kMapTop + kMapHeight, true);
    canvas_.text((kLeft + kRight) / 2, kMapTop + kMapHeight + 34, "cycles", css("mid quiet"));
    int64_t step = 1;
    while (highest / step > 6) step *= 2;
    for (int64_t address = 0; address <= highest; address += step) {
      canvas_.text(kLeft - 10, y_of(address) + 4, bytes_text(address), css("end small"));
    }
    for (const Residency& stay : seen) draw_stay(stay);
    for (size_t i : inside_) draw_use(i);
  }

  double y_of(int64_t address) const {
    return kMapTop +
           kMapHeight * (1 - static_cast<double>(address) / static_cast<double>(top_address_));
  }
  double tall(TileId tile) const { return y_of(0) - y_of(program_.tiles[tile].bytes); }

  void draw_stay(const Residency& stay) {
    const int64_t bytes = program_.tiles[stay.tile].bytes;
    const double height = tall(stay.tile);
    const double y = y_of(stay.address + bytes);
    box(stay.span, y, height,
        css(height < 5 ? "thin" : "tile") + " " + fill(tile_colour(stay.tile).fill),
        fmt::format("{} at {}, {} bytes, cycles {} to {}", tile_name(program_, stay.tile),
                    stay.address, bytes, stay.span.start, stay.span.end));
    if (stay.last_use < stay.span.end) {
      box({stay.last_use, stay.span.end}, y, height, css("left"), "not used again");
    }
    const Cycles seen = {std::max(stay.span.start, from_), std::min(stay.span.end, to_)};
    if (height < 12) return;
    const bool pale = stay.last_use < (seen.start + seen.end) / 2;
    label(seen, y + height / 2 + 3.5, tile_name(program_, stay.tile),
          pale ? kOther : tile_colour(stay.tile));
  }

  // What an execute uses, and what is still on its way.
  void draw_use(size_t i) {
    const PlannedUop& uop = plan_.uops[i];
    const Cycles& span = timing_.spans[i];
    if (uop.kind == PlannedKind::load) {
      const double height = tall(uop.tile);
      box(span, y_of(uop.address) - height, height, css("coming"));
    }
    if (uop.kind != PlannedKind::execute) return;
    const TileStep& step = program_.steps[uop.step];
    for (size_t o = 0; o < step.operand_count; ++o) {
      const double height = std::min(2.0, tall(program_.operand(step, o)) / 2);
      box(span, y_of(plan_.operand_addresses[step.first_operand + o]) - height, height,
          css("used"));
    }
  }

  const ScratchpadReport& report_;
  const TileProgram& program_;
  const ScratchpadPlan& plan_;
  const PlanTiming& timing_;
  const std::vector<Residency> stays_;
  std::vector<BufferId> shown_;  // with a colour of their own
  size_t others_ = 0;            // without
  int64_t from_ = 0, to_ = 0;    // the detailed part
  int64_t top_address_ = 1;      // of the map of addresses
  std::vector<size_t> inside_;   // uOps of it
  SvgCanvas canvas_;
};

}  // namespace

std::string draw_scratchpad(const ScratchpadReport& report, const PictureOptions& options) {
  return Picture(report, options).draw();
}

}  // namespace emulsion
