#include "tests/fuzz/fuzz_targets.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "backends/codegen/npy.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_json.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"
#include "tests/random/schedule_programs.h"

namespace emulsion {
namespace {

void expect_same(const char* what, const std::string& first, const std::string& again) {
  if (first != again) {
    throw std::runtime_error(fmt::format(
        "{}: what was printed is read as something else:\n{}\nand then\n{}", what, first, again));
  }
}

// Nothing where `read` refuses with an Error; anything else that is thrown goes on.
template <typename Read>
auto read_or_refused(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What is wrong with a graph may be found here only. Nothing is wrong with a derived schedule.
void lower_for(const Graph& graph, const Target& target) {
  try {
    run_pipeline(graph, target);
  } catch (const ScheduleError& error) {
    throw std::runtime_error(fmt::format("the derived schedule is refused: {}", error.what()));
  } catch (const Error&) {
  }
}

bool look_at_graph(const std::string& bytes, const std::string& /*file*/) {
  const auto graph = read_or_refused([&] { return parse_graph(bytes); });
  if (!graph) return false;
  const std::string text = to_string(*graph);
  expect_same("graph", text, to_string(parse_graph(text)));
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) lower_for(*graph, Target::parse(level));
  read_or_refused([&] { return lower(*graph, Schedule(*graph)); });
  return true;
}

const ScheduleProgram& program_of(const std::string& file) {
  const std::string name = file.substr(0, file.find('.'));
  for (const ScheduleProgram& program : schedule_programs()) {
    if (program.name == name) return program;
  }
  throw std::runtime_error("no program " + name);
}

// A schedule that was read is lowered, or refused; what is lowered is verified there, and weighed.
bool look_at_schedule(const std::optional<Schedule>& schedule, const ScheduleProgram& program) {
  if (!schedule) return false;
  const Graph& graph = program.graph;
  const std::string text = to_string(*schedule);
  expect_same("schedule", text, to_string(parse_schedule(text, graph)));
  const std::string json = to_json(*schedule);
  expect_same("schedule as JSON", json, to_json(schedule_from_json(json, graph)));
  const auto nest = read_or_refused([&] { return lower(graph, *schedule); });
  if (!nest) return true;
  const SizeValues& sizes = program.runs.back();
  read_or_refused([&] { return measure_work(*nest, sizes); });
  read_or_refused([&] { return measure_traffic(*nest, sizes); });
  return true;
}

bool look_at_schedule_text(const std::string& bytes, const std::string& file) {
  const ScheduleProgram& program = program_of(file);
  return look_at_schedule(read_or_refused([&] { return parse_schedule(bytes, program.graph); }),
                          program);
}

bool look_at_schedule_json(const std::string& bytes, const std::string& file) {
  const ScheduleProgram& program = program_of(file);
  return look_at_schedule(read_or_refused([&] { return schedule_from_json(bytes, program.graph); }),
                          program);
}

// A file that is nowhere on a disk.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    EMULSION_CHECK(written == static_cast<ssize_t>(bytes.size()), "memory for {} bytes",
                   bytes.size());
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  const int file_;
};

bool look_at_npy(const std::string& bytes, const std::string& /*file*/) {
  const MemoryFile file(bytes);
  const auto array = read_or_refused([&] { return read_npy(file.path()); });
  if (!array) return false;
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      fmt::format("{}/fuzz.{}.npy", folder == nullptr ? "/tmp" : folder, getpid());
  write_npy(path, *array);
  const NpyArray again = read_npy(path);
  unlink(path.c_str());
  if (again.dtype != array->dtype || again.shape != array->shape || again.bytes != array->bytes) {
    throw std::runtime_error("npy: what was written is read as something else");
  }
  return true;
}

}  // namespace

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> kTargets = {
      {"graph", ".graph", look_at_graph},
      {"schedule", ".schedule", look_at_schedule_text},
      {"json", ".json", look_at_schedule_json},
      {"npy", ".npy", look_at_npy},
  };
  return kTargets;
}

}  // namespace emulsion
