#ifndef EMULSION_BACKENDS_TILE_MACHINE_REPORT_SVG_CANVAS_H_
#define EMULSION_BACKENDS_TILE_MACHINE_REPORT_SVG_CANVAS_H_

// Writes a picture as one SVG file that needs nothing else: no script, no font, no link. Text is
// escaped, so that a name is never markup, whatever is in it.

#include <string>

namespace emulsion {

// Text between tags or in an attribute: & < > " ' become entities; control characters and bytes
// that are no UTF-8 become '?'.
std::string escape_xml(const std::string& text);

class SvgCanvas {
 public:
  // In pixels. `style`: CSS rules for the classes that are named below; ours, never a user's.
  SvgCanvas(double width, double height, const std::string& style);

  // `attributes`: ours ("class=\"grid\"" or "fill=\"#123456\""); `title`: shown when pointed at.
  void rect(double x, double y, double width, double height, const std::string& attributes,
            const std::string& title = "");
  void line(double x1, double y1, double x2, double y2, const std::string& attributes);
  void text(double x, double y, const std::string& text, const std::string& attributes = "");
  // `path`: SVG path data.
  void path(const std::string& path, const std::string& attributes);

  // The whole file.
  std::string finish() const;

 private:
  std::string body_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_REPORT_SVG_CANVAS_H_
