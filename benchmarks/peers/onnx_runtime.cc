#include "benchmarks/peers/onnx_runtime.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "dsl/error.h"
#include "dsl/files.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace emulsion::benchmarks {
namespace {

using nlohmann::json;

json ask(AnsweringProgram* process, const json& request) {
  json answer = json::parse(process->ask(request.dump()));
  if (answer.contains("error")) fail("ONNX Runtime: {}", answer["error"].get<std::string>());
  return answer;
}

}  // namespace

OnnxRuntime::OnnxRuntime(const std::string& script, const std::string& site)
    : process_("ONNX Runtime", {"/usr/bin/python3", "-I", script, site}) {}

Contender OnnxRuntime::peer(const OnnxModel& model, const Values& values) {
  auto described = [&](const std::string& name, const TensorValue& value) {
    const std::string file = fmt::format("{}/{}_{}.f32", files_.path(), name, file_count_++);
    write_file("values", file, std::string(value.bytes.begin(), value.bytes.end()));
    return json{{"shape", value.shape}, {"file", file}, {"weight", model.weights.count(name) > 0}};
  };
  json inputs = json::object();
  for (const auto& [name, value] : values->by_name) {
    if (name != values->outputs.at(0)) inputs[name] = described(name, value);
  }
  const json output = described(values->outputs.at(0), values->by_name.at(values->outputs.at(0)));
  const json request = {{"make", model.name},
                        {"inputs", inputs},
                        {"output", output},
                        {"run_time", model.at_run_time}};
  const int id = ask(&process_, request)["id"].get<int>();
  Contender peer;
  peer.name = "ONNX Runtime";
  peer.call = [this, id, values, file = output["file"].get<std::string>()] {
    ask(&process_, {{"save", id}});
    const std::string bytes = read_file("values", file);
    TensorValue& value = values->by_name.at(values->outputs.at(0));
    if (bytes.size() != value.bytes.size())
      fail("ONNX Runtime: expected {} bytes, got {}", value.bytes.size(), bytes.size());
    std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
  };
  peer.seconds = [this, id] { return ask(&process_, {{"seconds", id}})["seconds"].get<double>(); };
  peer.mark = 1;
  return peer;
}

OnnxRuntime start_onnx_runtime(const char* program) {
  using bazel::tools::cpp::runfiles::Runfiles;
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(program, &error));
  if (!runfiles) fail("{}", error);
  const std::string why_not =
      read_file("reason", runfiles->Rlocation("emulsion_peer_onnx_runtime/why_not.txt"));
  if (!why_not.empty()) fail("no ONNX Runtime: {}", why_not);
  return OnnxRuntime(runfiles->Rlocation("emulsion/benchmarks/peers/onnx_runtime.py"),
                     runfiles->Rlocation("emulsion_peer_onnx_runtime/site"));
}

}  // namespace emulsion::benchmarks
