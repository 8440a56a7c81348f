#include "examples/lesson_08_photo/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dsl/error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string temporary(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string photo_path() { return std::getenv("EMULSION_PHOTO"); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string file_of(const std::string& name, const std::string& bytes) {
  std::ofstream(temporary(name), std::ios::binary) << bytes;
  return temporary(name);
}

Picture read_png(const std::string& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  Picture picture{image.height, image.width, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  EXPECT_NE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr), 0);
  return picture;
}

// 3 x 4, each value its own place.
Picture numbered() {
  Picture picture{3, 4, {}};
  for (int i = 0; i < 36; ++i) picture.pixels.push_back(static_cast<uint8_t>(7 * i));
  return picture;
}

// A JPEG file of 2 rows of 3 pixels, made by the library that reads it.
std::string jpeg_of(const std::vector<uint8_t>& pixels, int format, int subsampling) {
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the library's type
  const tjhandle encoder = tjInitCompress();
  EXPECT_EQ(tjCompress2(encoder, pixels.data(), 3, 0, 2, format, &bytes, &size, subsampling, 100,
                        TJFLAG_ACCURATEDCT),
            0);
  std::string file(bytes, bytes + size);
  tjFree(bytes);
  tjDestroy(encoder);
  return file;
}

TEST(Picture, ReadsThePhotograph) {
  const Picture photo = read_jpeg(photo_path());
  EXPECT_EQ(photo.height, 427);
  EXPECT_EQ(photo.width, 640);
  ASSERT_EQ(photo.pixels.size(), 427u * 640 * 3);
  // The sky in the top left corner is blue.
  EXPECT_GT(photo.pixels[2], photo.pixels[0]);
}

TEST(Picture, ReadsAGreyPhotographAsColours) {
  const std::vector<uint8_t> grey = {0, 128, 255, 255, 128, 0};
  const Picture photo = read_jpeg(file_of("grey.jpg", jpeg_of(grey, TJPF_GRAY, TJSAMP_GRAY)));
  EXPECT_EQ(photo.height, 2);
  EXPECT_EQ(photo.width, 3);
  ASSERT_EQ(photo.pixels.size(), 18U);
  for (size_t i = 0; i < 18; ++i) EXPECT_NEAR(photo.pixels[i], grey[i / 3], 4) << i;
}

TEST(Picture, APngHoldsEveryByte) {
  const Picture picture = numbered();
  write_png(temporary("numbered.png"), picture);
  const Picture read = read_png(temporary("numbered.png"));
  EXPECT_EQ(read.height, 3);
  EXPECT_EQ(read.width, 4);
  EXPECT_EQ(read.pixels, picture.pixels);
}

TEST(Picture, CropTakesAPart) {
  const Picture part = crop(numbered(), 1, 2, 2, 1);
  EXPECT_EQ(part.height, 2);
  EXPECT_EQ(part.width, 1);
  EXPECT_EQ(part.pixels, (std::vector<uint8_t>{18 * 7 % 256, 19 * 7 % 256, 20 * 7 % 256,
                                               30 * 7 % 256, 31 * 7 % 256, 32 * 7 % 256}));
  EXPECT_TRUE(crop(numbered(), 3, 4, 0, 0).pixels.empty());
}

TEST(Picture, RefusesAFileThatIsNotThere) {
  EXPECT_THAT([] { read_jpeg("/no/such/photo.jpg"); },
              ThrowsMessage<Error>(HasSubstr("cannot read JPEG /no/such/photo.jpg: No such file")));
}

TEST(Picture, RefusesWhatIsNoJpeg) {
  for (const std::string& bytes : {std::string(), std::string("GIF89a"), std::string(1000, '\0')}) {
    EXPECT_THAT([&] { read_jpeg(file_of("other.jpg", bytes)); },
                ThrowsMessage<Error>(HasSubstr("other.jpg: expected a JPEG, got: ")));
  }
}

TEST(Picture, RefusesColoursForPrinting) {
  std::string bytes = jpeg_of(std::vector<uint8_t>(24, 200), TJPF_CMYK, TJSAMP_444);
  EXPECT_THAT(
      [&] { read_jpeg(file_of("ycck.jpg", bytes)); },
      ThrowsMessage<Error>(HasSubstr("ycck.jpg: expected a JPEG in grey, RGB or YCbCr, got "
                                     "one in YCCK (CMYK); legal: convert it to RGB first")));
  const size_t marker = bytes.find("Adobe");  // 5 letters, 3 numbers of 2 bytes, the transform
  ASSERT_NE(marker, std::string::npos);
  ASSERT_EQ(bytes.at(marker + 11), 2);
  bytes[marker + 11] = 0;
  EXPECT_THAT([&] { read_jpeg(file_of("cmyk.jpg", bytes)); },
              ThrowsMessage<Error>(HasSubstr("cmyk.jpg: expected a JPEG in grey, RGB or YCbCr, got "
                                             "one in CMYK; legal: convert it to RGB first")));
}

TEST(Picture, RefusesAPhotographThatEndsEarly) {
  const std::string whole = bytes_of(photo_path());
  for (size_t size : {whole.size() - 2, whole.size() / 2, size_t{20}}) {
    EXPECT_THAT([&] { read_jpeg(file_of("cut.jpg", whole.substr(0, size))); },
                ThrowsMessage<Error>(HasSubstr("cut.jpg: expected a JPEG, got: ")))
        << size;
  }
}

TEST(Picture, RefusesADamagedPhotograph) {
  std::string bytes = bytes_of(photo_path());
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 64; ++i) bytes[i] = '\xff';
  EXPECT_THAT([&] { read_jpeg(file_of("damaged.jpg", bytes)); },
              ThrowsMessage<Error>(HasSubstr("damaged.jpg: expected a JPEG, got: ")));
}

TEST(Picture, RefusesToWriteToNowhere) {
  EXPECT_THAT(
      [] { write_png("/no/such/folder/x.png", numbered()); },
      ThrowsMessage<Error>(HasSubstr("cannot write PNG /no/such/folder/x.png: No such file")));
}

TEST(Picture, APngThatCannotBeWrittenLeavesWhatWasThere) {
  const std::string folder = temporary("a_folder.png");
  std::filesystem::create_directories(folder);
  EXPECT_THAT([&] { write_png(folder, numbered()); },
              ThrowsMessage<Error>(HasSubstr("a_folder.png: Is a directory")));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
}

TEST(Picture, RefusesToWriteAPictureWithoutPixels) {
  EXPECT_THAT([] { write_png(temporary("none.png"), Picture()); },
              ThrowsMessage<Error>(HasSubstr("picture of 0 x 0: expected 0 values, at least one")));
}

TEST(Picture, RefusesToWriteOtherValuesThanItsPixels) {
  Picture picture = numbered();
  picture.pixels.pop_back();
  EXPECT_THAT([&] { write_png(temporary("less.png"), picture); },
              ThrowsMessage<Error>(HasSubstr("picture of 3 x 4: expected 36 values")));
}

TEST(Picture, RefusesACropBeyondTheEdge) {
  for (auto [top, left] : {std::pair(2, 0), std::pair(-1, 0), std::pair(0, 3), std::pair(0, -1)}) {
    auto take = [row = top, column = left] { crop(numbered(), row, column, 2, 2); };
    EXPECT_THAT(take, ThrowsMessage<Error>(HasSubstr("expected a part of the picture of 3 x 4")));
  }
}

}  // namespace
}  // namespace emulsion
