#ifndef EMULSION_EXAMPLES_LESSON_08_PHOTO_PICTURE_H_
#define EMULSION_EXAMPLES_LESSON_08_PHOTO_PICTURE_H_

// Pictures in memory and in files: libjpeg-turbo reads photographs, libpng writes results.

#include <cstdint>
#include <string>
#include <vector>

namespace emulsion {

struct Picture {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3], row-major: red, green, blue
};

// Of a grey, an RGB or a YCbCr photograph. Throws Error naming the file: not there, not a JPEG, in
// colours for printing (CMYK), or damaged, even if only in its last rows.
Picture read_jpeg(const std::string& path);
// Throws Error naming the file: a picture without pixels, or a place where nothing can be written.
void write_png(const std::string& path, const Picture& picture);

// Of rows [top, top + height) the columns [left, left + width). Throws Error when the picture has
// not got them.
Picture crop(const Picture& picture, int64_t top, int64_t left, int64_t height, int64_t width);

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_LESSON_08_PHOTO_PICTURE_H_
