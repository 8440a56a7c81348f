#include "examples/lesson_11_roofline/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/tile_machine/report/svg_canvas.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

constexpr double kWidth = 900, kHeight = 560;
constexpr double kLeft = 80, kRight = 860, kTop = 60, kBottom = 490;

constexpr const char* kStyle =
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222}.head{font-size:18px;font-weight:bold}"
    ".quiet{fill:#666}.mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#ddd}"
    ".roof{stroke:#222;stroke-width:2;fill:none}.way{stroke:#888;stroke-dasharray:4 3;fill:none}"
    ".unfused{fill:#fff;stroke:#aa3377;stroke-width:2}.fused{fill:#4477aa}";

// A logarithmic axis over whole powers of ten.
struct LogAxis {
  double low = 0, high = 1;    // exponents
  double first = 0, last = 1;  // pixels

  double at(double value) const {
    return first + (std::log10(value) - low) / (high - low) * (last - first);
  }
};

LogAxis axis_around(const std::vector<double>& values, double first, double last) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  LogAxis axis{std::floor(std::log10(*least)), std::ceil(std::log10(*most)), first, last};
  if (axis.high == axis.low) axis.high += 1;
  return axis;
}

std::string power_of_ten(double exponent) { return fmt::format("{:g}", std::pow(10.0, exponent)); }

void check_positive(const Roof& roof, const std::vector<RooflinePoint>& points) {
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!is_positive(roof.gflops) || !is_positive(roof.gigabytes)) {
    fail("roofline: expected a peak and a bandwidth above 0, got {} GF/s and {} GB/s", roof.gflops,
         roof.gigabytes);
  }
  for (const RooflinePoint& point : points) {
    if (point.operations > 0 && point.bytes > 0 && is_positive(point.seconds)) continue;
    fail("roofline: {}, {}: expected operations, bytes and seconds above 0, got {}, {} and {}",
         point.network, point.variant, point.operations, point.bytes, point.seconds);
  }
}

class Drawing {
 public:
  Drawing(const Roof& roof, const std::vector<RooflinePoint>& points)
      : roof_(roof), points_(points), canvas_(kWidth, kHeight, kStyle) {
    std::vector<double> intensities = {roof.ridge() / 10, roof.ridge() * 10}, rates = {roof.gflops};
    for (const RooflinePoint& point : points) {
      intensities.push_back(point.intensity());
      rates.push_back(point.gflops());
    }
    x_ = axis_around(intensities, kLeft, kRight);
    rates.push_back(roof.attainable(std::pow(10.0, x_.low)));
    y_ = axis_around(rates, kBottom, kTop);
  }

  std::string draw() {
    canvas_.rect(0, 0, kWidth, kHeight, "fill=\"#fff\"");
    canvas_.text(kLeft, 32, "Roofline: operations a second over operations a byte",
                 "class=\"head\"");
    draw_grid();
    draw_roof();
    std::map<std::string, const RooflinePoint*> before;  // of the same network
    for (const RooflinePoint& point : points_) {
      const RooflinePoint*& last = before[point.network];
      if (last != nullptr) draw_way(*last, point);
      last = &point;
    }
    for (const RooflinePoint& point : points_) draw_point(point);
    return canvas_.finish();
  }

 private:
  void draw_grid() {
    for (double e = x_.low; e <= x_.high; ++e) {
      const double x = x_.at(std::pow(10.0, e));
      canvas_.line(x, kTop, x, kBottom, "class=\"grid\"");
      canvas_.text(x, kBottom + 18, power_of_ten(e), "class=\"mid\"");
    }
    for (double e = y_.low; e <= y_.high; ++e) {
      const double y = y_.at(std::pow(10.0, e));
      canvas_.line(kLeft, y, kRight, y, "class=\"grid\"");
      canvas_.text(kLeft - 8, y + 4, power_of_ten(e), "class=\"end\"");
    }
    canvas_.text((kLeft + kRight) / 2, kBottom + 42, "operations for each byte of memory traffic",
                 "class=\"mid quiet\"");
    canvas_.text(kLeft - 8, kTop - 8, "GF/s", "class=\"end quiet\"");
  }

  void draw_roof() {
    const double first = std::pow(10.0, x_.low), last = std::pow(10.0, x_.high);
    const double top = y_.at(roof_.gflops);
    canvas_.path(
        fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}", x_.at(first),
                    y_.at(roof_.attainable(first)), x_.at(roof_.ridge()), top, x_.at(last), top),
        "class=\"roof\"");
    canvas_.text(kRight, top - 8, fmt::format("{:.1f} GF/s", roof_.gflops), "class=\"end\"");
    canvas_.text(x_.at(roof_.ridge()) - 12, top - 8, fmt::format("{:.1f} GB/s", roof_.gigabytes),
                 "class=\"end\"");
  }

  void draw_way(const RooflinePoint& from, const RooflinePoint& to) {
    canvas_.line(x_.at(from.intensity()), y_.at(from.gflops()), x_.at(to.intensity()),
                 y_.at(to.gflops()), "class=\"way\"");
  }

  void draw_point(const RooflinePoint& point) {
    constexpr double kRadius = 6;
    const double x = x_.at(point.intensity()), y = y_.at(point.gflops());
    const char* mark = point.variant == "fused" ? "fused" : "unfused";
    canvas_.path(fmt::format("M{0:.1f} {1:.1f}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0",
                             x - kRadius, y, kRadius, 2 * kRadius),
                 fmt::format("class=\"{}\"", mark));
    canvas_.text(x + 10, y + 4, point.network + ", " + point.variant);
  }

  const Roof& roof_;
  const std::vector<RooflinePoint>& points_;
  SvgCanvas canvas_;
  LogAxis x_, y_;
};

}  // namespace

std::string to_string(const Roof& roof, const std::vector<RooflinePoint>& points) {
  std::string text = fmt::format(
      "roof: {:.1f} GF/s, {:.1f} GB/s: memory is the limit below {:.1f} operations a byte\n",
      roof.gflops, roof.gigabytes, roof.ridge());
  text += fmt::format("{:14} {:8} {:>9} {:>9} {:>8} {:>11} {:>9}\n", "network", "", "MB moved",
                      "Mflop", "flop/B", "roof GF/s", "GF/s");
  for (const RooflinePoint& point : points) {
    text += fmt::format("{:14} {:8} {:9.2f} {:9.1f} {:8.1f} {:11.1f} {:9.1f}\n", point.network,
                        point.variant, static_cast<double>(point.bytes) * 1e-6,
                        static_cast<double>(point.operations) * 1e-6, point.intensity(),
                        roof.attainable(point.intensity()), point.gflops());
  }
  return text;
}

std::string to_json(const Roof& roof, const std::vector<RooflinePoint>& points) {
  nlohmann::ordered_json json;
  json["roof"] = {{"gflops", roof.gflops}, {"gigabytes", roof.gigabytes}, {"ridge", roof.ridge()}};
  json["points"] = nlohmann::ordered_json::array();
  for (const RooflinePoint& point : points) {
    json["points"].push_back({{"network", point.network},
                              {"variant", point.variant},
                              {"operations", point.operations},
                              {"bytes", point.bytes},
                              {"seconds", point.seconds},
                              {"intensity", point.intensity()},
                              {"gflops", point.gflops()},
                              {"attainable", roof.attainable(point.intensity())}});
  }
  return json.dump(2) + "\n";
}

std::string draw_roofline(const Roof& roof, const std::vector<RooflinePoint>& points) {
  check_positive(roof, points);
  return Drawing(roof, points).draw();
}

}  // namespace emulsion
