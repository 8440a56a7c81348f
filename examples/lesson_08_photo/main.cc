// Lesson 8: a picture in, a picture out. An unsharp mask in integers and floats of four widths, in
// tiles by hand and as derived.
//
//   ./bazelw run //examples/lesson_08_photo
//   ./bazelw run //examples/lesson_08_photo -- --photo=me.jpg --amount=1.5 --out=me.png
//
// The interpreter runs both schedules on small parts of the photograph, edges included, and the
// compiled kernels give the same bytes; then they do the whole picture.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bazel/user_path.h"
#include "dsl/emulsion.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "examples/lesson.h"
#include "examples/lesson_08_photo/picture.h"
#include "examples/lesson_08_photo/unsharp.h"
#include "examples/measure_lowering.h"
#include "tools/cpp/runfiles/runfiles.h"

using namespace emulsion;
using bazel::tools::cpp::runfiles::Runfiles;

namespace {

struct Options {
  std::string photo, out, save_photo;
  float amount = 1.5f;
};

TensorValues arguments_for(const Picture& picture, float amount) {
  return {{"photo", make_tensor({picture.height, picture.width, 3}, picture.pixels)},
          {"amount", make_tensor({}, std::vector<float>{amount})}};
}

std::string default_photo(const char* program) {
  std::string error;
  std::unique_ptr<Runfiles> runfiles(Runfiles::Create(program, &error));
  if (!runfiles) fail("no --photo given, and no photograph beside the program: {}", error);
  return runfiles->Rlocation("scikit_learn_data/china.jpg");
}

// Corners and the middle of the photograph, in sizes around that of a tile, and no picture at all.
std::vector<lesson::Trial> trials_of(const Graph& graph, const Picture& photo, float amount) {
  std::vector<Picture> parts = {Picture(), crop(photo, 0, 0, 1, 1)};
  for (auto [height, width] : {std::pair(33, 130), std::pair(7, 5), std::pair(2, 128)}) {
    if (height > photo.height || width > photo.width) continue;
    parts.push_back(crop(photo, 0, 0, height, width));
    parts.push_back(crop(photo, photo.height - height, photo.width - width, height, width));
  }
  std::vector<lesson::Trial> trials;
  for (const Picture& part : parts) {
    trials.push_back(lesson::make_trial(graph, arguments_for(part, amount)));
  }
  return trials;
}

void report(const lesson::Step& step, const Picture& photo, float amount) {
  fmt::print("{} x {} pixels: {:.2f} ms\n\n", photo.height, photo.width,
             1e3 * lesson::seconds(step, arguments_for(photo, amount)));
}

void run(const Options& options) {
  for (const std::string& path : {options.out, options.save_photo}) {  // before the work, not after
    if (!path.empty()) check_writable("PNG", path);
  }
  const Picture photo = read_jpeg(options.photo);
  const Graph graph = unsharp_mask();
  fmt::print("{}\n", to_string(graph));
  const Target target = Target::host();
  const std::vector<lesson::Trial> trials = trials_of(graph, photo, options.amount);
  const lesson::Step by_hand =
      lesson::show("1. By hand, in tiles.", tiled_unsharp_mask(graph, target), trials);
  report(by_hand, photo, options.amount);
  const lesson::Step derived =
      lesson::show("2. As derived.", derive_schedule(graph, target), trials);
  report(derived, photo, options.amount);

  const TensorValues arguments = arguments_for(photo, options.amount);
  const TensorValue sharper = lesson::run_compiled(by_hand, arguments).at("sharper");
  const auto difference =
      first_difference(sharper, lesson::run_compiled(derived, arguments).at("sharper"));
  if (difference) fail("the whole picture, by hand and derived: {}", *difference);
  fmt::print("the whole picture: the same bytes by hand and derived\n");
  if (!options.save_photo.empty()) write_png(options.save_photo, photo);
  write_png(options.out, {photo.height, photo.width, sharper.to_vector<uint8_t>()});
  fmt::print("{}: written\n", options.out);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Sharpens a photograph with an unsharp mask, shows how, and writes a PNG.\n"
      "Example: ./bazelw run //examples/lesson_08_photo -- --photo=me.jpg --out=me.png");
  app.add_option("--photo", options.photo, "A JPEG (default: a photograph of a Chinese temple)");
  app.add_option("--out", options.out, "Where to write the PNG")->default_str("sharper.png");
  app.add_option("--save-photo", options.save_photo, "Write the photograph as it was read, too");
  app.add_option("--amount", options.amount, "How much of the edges to add")->capture_default_str();
  lesson::add_lowering_option(&app);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.out.empty()) options.out = "sharper.png";
    for (std::string* path : {&options.photo, &options.out, &options.save_photo}) {
      *path = user_path(*path);
    }
    if (options.photo.empty()) options.photo = default_photo(argv[0]);
    run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
