#include "examples/lesson_08_photo/picture.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <string>

#include "dsl/error.h"
#include "dsl/files.h"

namespace emulsion {
namespace {

constexpr int64_t kChannels = 3;

void check_shape(const Picture& picture) {
  const int64_t expected = picture.height * picture.width * kChannels;
  if (picture.height < 1 || picture.width < 1 ||
      static_cast<int64_t>(picture.pixels.size()) != expected) {
    fail("picture of {} x {}: expected {} values, at least one pixel, got {}", picture.height,
         picture.width, expected, picture.pixels.size());
  }
}

// Colours for printing have no meaning on a screen without the profile of a printer.
void check_colours(const std::string& path, int colours) {
  if (colours != TJCS_CMYK && colours != TJCS_YCCK) return;
  fail("{}: expected a JPEG in grey, RGB or YCbCr, got one in {}; legal: convert it to RGB first",
       path, colours == TJCS_CMYK ? "CMYK" : "YCCK (CMYK)");
}

}  // namespace

Picture read_jpeg(const std::string& path) {
  const std::string bytes = read_file("JPEG", path);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  auto refuse = [&] { fail("{}: expected a JPEG, got: {}", path, tjGetErrorStr2(decoder.get())); };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                          &colours) != 0) {
    refuse();
  }
  check_colours(path, colours);
  Picture picture{height, width, {}};
  picture.pixels.resize(static_cast<size_t>(picture.height * picture.width * kChannels));
  // Every warning ends the decoding: of half a file, no picture.
  constexpr int kFlags = TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT;
  if (tjDecompress2(decoder.get(), data, bytes.size(), picture.pixels.data(), width, 0, height,
                    TJPF_RGB, kFlags) != 0) {
    refuse();
  }
  return picture;
}

void write_png(const std::string& path, const Picture& picture) {
  check_shape(picture);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  // To memory first: libpng removes a file that it could not write, also one that was there before.
  auto encode = [&](void* to, png_alloc_size_t* size) {
    if (png_image_write_to_memory(&image, to, size, 0, picture.pixels.data(), 0, nullptr) == 0) {
      fail("{}: expected a picture that a PNG can hold, got: {}", path, image.message);
    }
  };
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  encode(bytes.data(), &size);
  bytes.resize(size);
  write_file("PNG", path, bytes);
}

Picture crop(const Picture& picture, int64_t top, int64_t left, int64_t height, int64_t width) {
  check_shape(picture);
  if (top < 0 || left < 0 || height < 0 || width < 0 || height > picture.height - top ||
      width > picture.width - left) {
    fail("crop of {} x {} at row {}, column {}: expected a part of the picture of {} x {}", height,
         width, top, left, picture.height, picture.width);
  }
  Picture part{height, width, {}};
  part.pixels.reserve(static_cast<size_t>(height * width * kChannels));
  for (int64_t row = top; row < top + height; ++row) {
    auto first = picture.pixels.begin() + (row * picture.width + left) * kChannels;
    part.pixels.insert(part.pixels.end(), first, first + width * kChannels);
  }
  return part;
}

}  // namespace emulsion
