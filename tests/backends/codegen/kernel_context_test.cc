#include "backends/codegen/kernel_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/codegen/npy.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

KernelContext context(std::map<std::string, std::string> files) {
  return KernelContext({Target::parse("x86-64-v3")}, std::move(files));
}

std::string temporary(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

TEST(KernelContextTest, FindsAFileByPathOrLabel) {
  const KernelContext files = context(
      {{"digits/weights/w1.npy", "/tmp/1"}, {"../other/w2.npy", "/tmp/2"}, {"w.npy", "/tmp/3"}});
  EXPECT_EQ(files.path("digits/weights/w1.npy"), "/tmp/1");
  EXPECT_EQ(files.path("weights/w1.npy"), "/tmp/1");
  EXPECT_EQ(files.path("w1.npy"), "/tmp/1");
  EXPECT_EQ(files.path("//digits:weights/w1.npy"), "/tmp/1");
  EXPECT_EQ(files.path(":weights/w1.npy"), "/tmp/1");
  EXPECT_EQ(files.path("@other//:w2.npy"), "/tmp/2");
  EXPECT_EQ(files.path("w.npy"), "/tmp/3");
  // The whole path of one, and the end of another.
  EXPECT_EQ(
      context({{"a/w.npy", "/tmp/1"}, {"w.npy", "/tmp/2"}, {"z/w.npy", "/tmp/3"}}).path("w.npy"),
      "/tmp/2");
}

TEST(KernelContextTest, ReadsAConstant) {
  const std::string path = temporary("constant.npy");
  write_npy(path, make_npy<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Tensor w = context({{"w.npy", path}}).constant("w", "w.npy");
  EXPECT_EQ(w.dtype(), f32);
  EXPECT_EQ(to_string(w.shape()), "[2, 3]");
  EXPECT_EQ(w.op()->data->size(), 24);
}

TEST(KernelContextTest, RefusesAFileThatIsNotThere) {
  EXPECT_THAT(
      [] {
        context({{"a/w1.npy", "1"}}).path("w2.npy");
      },
      ThrowsMessage<Error>(HasSubstr("data: a/w1.npy")));
  EXPECT_THAT([] { context({}).path("w2.npy"); }, ThrowsMessage<Error>(HasSubstr("none")));
  EXPECT_THAT(
      [] {
        context({{"a/w1.npy", "1"}}).path("");
      },
      ThrowsMessage<Error>(HasSubstr("data file \"\"")));
}

TEST(KernelContextTest, RefusesPartOfAName) {
  EXPECT_THAT(
      [] {
        context({{"a/w1.npy", "1"}}).path("1.npy");
      },
      ThrowsMessage<Error>(HasSubstr("\"1.npy\"")));
}

TEST(KernelContextTest, RefusesANameThatTwoFilesHave) {
  EXPECT_THAT(
      [] {
        context({{"a/w.npy", "1"}, {"b/w.npy", "2"}}).path("w.npy");
      },
      ThrowsMessage<Error>(HasSubstr("a/w.npy, b/w.npy")));
}

TEST(KernelContextTest, RefusesADamagedFile) {
  const std::string path = temporary("damaged.npy");
  std::ofstream(path) << "\x93NUMPY";
  EXPECT_THAT(
      [&] {
        context({{"w.npy", path}}).constant("w", "w.npy");
      },
      ThrowsMessage<Error>(HasSubstr("damaged.npy")));
}

TEST(KernelContextTest, ReadsBytes) {
  const std::string path = temporary("bytes.npy");
  write_npy(path, make_npy<uint8_t>({2}, {1, 255}));
  const Tensor w = context({{"w.npy", path}}).constant("w", "w.npy");
  EXPECT_EQ(w.dtype(), u8);
  EXPECT_EQ(w.op()->data->at(1), 255);
}

}  // namespace
}  // namespace emulsion
