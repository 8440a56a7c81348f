#include "benchmarks/lesson_lowering.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "benchmarks/child_program.h"
#include "dsl/error.h"
#include "dsl/files.h"

namespace emulsion::benchmarks {

namespace fs = std::filesystem;

Row parse_lowering(const std::string& source, const std::string& line) {
  Row row;
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    row.name = fmt::format("{}, {} ({} loops)", source, json.at("step").get<std::string>(),
                           json.at("loops").get<int64_t>());
    row.seconds = json.at("seconds").get<Samples>();
  } catch (const nlohmann::json::exception& error) {
    fail("{}: expected a step, its loops and its seconds, got '{}' ({})", source, line,
         error.what());
  }
  row.unit = "ms";
  row.limit = kLoweringLimit;
  return row;
}

std::vector<std::string> lessons_in(
    const std::string& file, const std::function<std::string(const std::string& line)>& located) {
  std::vector<std::string> programs;
  std::istringstream lines(read_file("list of lessons", file));
  for (std::string line; std::getline(lines, line);) programs.push_back(located(line));
  if (programs.empty()) fail("{}: expected a lesson in each line, got none", file);
  return programs;
}

std::vector<Row> lowerings_of_lesson(const std::string& program) {
  const std::string lesson = fs::path(program).filename();
  const ScratchDirectory scratch;
  const std::string file = scratch.path() + "/lowering";
  run_program_lines(program,
                    // Without that variable it leaves no files with the user.
                    "unset BUILD_WORKING_DIRECTORY; cd " + quoted(scratch.path()) + " && " +
                        quoted(fs::absolute(program)) + " --lowering=" + quoted(file),
                    [](const std::string&) {});
  std::vector<Row> rows;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) rows.push_back(parse_lowering(lesson, line));
  if (rows.empty()) fail("{}: expected at least one step, got none", program);
  return rows;
}

}  // namespace emulsion::benchmarks
