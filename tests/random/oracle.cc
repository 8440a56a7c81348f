#include "tests/random/oracle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "dsl/error.h"

namespace emulsion {
namespace {

using nlohmann::json;

constexpr const char* kPython = "/usr/bin/python3";
// From the root of the runfiles.
constexpr const char* kNumpyScript = "tests/random/numpy_oracle.py";
constexpr const char* kJaxScript = "tests/random/jax_oracle.py";

std::string make_folder() {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string path = std::string(base ? base : "/tmp") + "/oracle.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder: " + path);
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_questions(const std::string& folder, const std::vector<Recipe>& recipes) {
  std::ofstream data(folder + "/inputs.bin", std::ios::binary);
  int64_t offset = 0;
  json graphs = json::array();
  for (const Recipe& recipe : recipes) {
    json graph = to_json(recipe);
    for (const SizeValues& sizes : recipe.runs) {
      json leaves = json::object();
      for (size_t i = 0; i < recipe.nodes.size(); ++i) {
        if (!recipe.nodes[i].is_leaf()) continue;
        TensorValue value = leaf_data(recipe, recipe.nodes[i], sizes);
        leaves[std::to_string(i)] = {{"offset", offset}, {"shape", value.shape}};
        data.write(reinterpret_cast<const char*>(value.bytes.data()),
                   static_cast<std::streamsize>(value.bytes.size()));
        offset += static_cast<int64_t>(value.bytes.size());
      }
      graph["runs"].push_back({{"sizes", sizes}, {"leaves", leaves}});
    }
    graphs.push_back(std::move(graph));
  }
  std::ofstream(folder + "/recipes.json") << json{{"graphs", graphs}};
}

// The script is given the folder, and then the other arguments.
void run_python(const std::string& script, const std::string& folder,
                const std::vector<std::string>& others) {
  std::string log = folder + "/log";
  std::vector<std::string> words = {kPython, "-I", script, folder};
  words.insert(words.end(), others.begin(), others.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  }
  pid_t child = 0;
  int error = posix_spawn(&child, kPython, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("{}: {}", kPython, std::strerror(error)));
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(fmt::format("{} failed: {}", script, read_file(log)));
  }
}

Expected read_expected(const json& entry, const std::string& data) {
  Expected expected;
  expected.dtype = entry.at("dtype");
  expected.shape = entry.at("shape").get<std::vector<int64_t>>();
  expected.signs = entry.at("signs");
  size_t count = 1;
  for (int64_t extent : expected.shape) count *= static_cast<size_t>(extent);
  size_t offset = entry.at("offset");
  for (std::vector<double>* part : {&expected.values, &expected.bounds}) {
    part->resize(count);
    EMULSION_CHECK(offset + count * 8 <= data.size(), "expected.bin is too short");
    if (count > 0) std::memcpy(part->data(), data.data() + offset, count * 8);
    offset += count * 8;
  }
  return expected;
}

std::vector<Answer> ask(const std::string& script, const std::vector<Recipe>& recipes,
                        const std::vector<std::string>& others) {
  std::string folder = make_folder();
  write_questions(folder, recipes);
  run_python(script, folder, others);
  std::string data = read_file(folder + "/expected.bin");
  json answers = json::parse(read_file(folder + "/expected.json")).at("graphs");
  for (const char* file : {"inputs.bin", "recipes.json", "expected.bin", "expected.json", "log"}) {
    unlink((folder + "/" + file).c_str());
  }
  rmdir(folder.c_str());
  std::vector<Answer> result;
  for (const json& answer : answers) {
    Answer& mine = result.emplace_back();
    mine.error = answer.value("error", std::string());
    if (!mine.error.empty()) continue;
    for (const json& run : answer.at("runs")) {
      std::vector<Expected>& outputs = mine.runs.emplace_back();
      for (const json& output : run) outputs.push_back(read_expected(output, data));
    }
  }
  return result;
}

}  // namespace

std::vector<Answer> ask_numpy(const std::vector<Recipe>& recipes) {
  return ask(kNumpyScript, recipes, {});
}

std::vector<Answer> ask_jax(const std::vector<Recipe>& recipes, const std::string& site) {
  return ask(kJaxScript, recipes, {site});
}

std::optional<std::string> first_difference(const Expected& expected, const TensorValue& actual) {
  if (to_string(actual.dtype) != expected.dtype || actual.shape != expected.shape) {
    return fmt::format("expected {} [{}], got {} [{}]", expected.dtype,
                       fmt::join(expected.shape, ", "), to_string(actual.dtype),
                       fmt::join(actual.shape, ", "));
  }
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double wanted = expected.values[i], bound = expected.bounds[i];
    double found = actual.value(static_cast<int64_t>(i));
    if (std::isinf(bound)) continue;
    bool agree = std::isnan(wanted)   ? std::isnan(found)
                 : std::isinf(wanted) ? found == wanted
                                      : std::abs(found - wanted) <= bound;
    const bool sign_counts = expected.signs && wanted == 0 && bound == 0;
    if (agree && !(sign_counts && std::signbit(found) != std::signbit(wanted))) continue;
    std::vector<int64_t> index(expected.shape.size());
    int64_t rest = static_cast<int64_t>(i);
    for (size_t d = index.size(); d-- > 0; rest /= expected.shape[d])
      index[d] = rest % expected.shape[d];
    return fmt::format("[{}]: expected {:.9g} +- {:.3g}, got {:.9g}", fmt::join(index, ", "),
                       wanted, bound, found);
  }
  return std::nullopt;
}

}  // namespace emulsion
