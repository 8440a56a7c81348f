#include "backends/codegen/generate_kernel.h"

#include <fmt/format.h>

#include <cctype>

#include "backends/codegen/exception_text.h"
#include "backends/codegen/write_kernel_header.h"
#include "backends/codegen/write_manifest.h"
#include "backends/entry/check_library.h"
#include "backends/halide/compile_aot.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/output_files.h"
#include "dsl/schedule.h"
#include "dsl/schedule_file.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/count_flops.h"
#include "passes/derive/derive_schedule.h"
#include "passes/fuse/fusion_config.h"
#include "passes/nest/loop_nest.h"
#include "passes/pipeline.h"
#include "passes/pipeline_with_fallback.h"

namespace emulsion {
namespace {

void check_label(const std::string& label) {
  for (char c : label) {
    if (std::iscntrl(static_cast<unsigned char>(c))) {
      fail("label: expected one line of text, got a control character");
    }
  }
}

// What the user's function makes. Whatever it throws is the user's to mend, with the function's
// name and the type of what was thrown; an InternalError is ours.
Graph graph_of(const KernelFunction& kernel, const KernelContext& context) {
  try {
    return kernel(context);
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (...) {
    fail("emulsion_kernel(): expected a graph, got an exception: {}", current_exception_text());
  }
}

void check_request(const KernelRequest& request) {
  check_kernel_name(request.name);
  check_label(request.label);
  if (request.targets.empty()) {
    fail("kernel {}: expected at least one target, got none", request.name);
  }
  if (request.fail_on_unfused.empty()) return;
  if (!request.schedule.empty()) {
    fail("kernel {}, fail_on_unfused: expected a derived schedule, got {}, which decides itself",
         request.name, request.schedule);
  }
  if (!request.derive.fuse) {
    fail("kernel {}, fail_on_unfused: expected a kernel that is fused, got one that is not",
         request.name);
  }
}

// As the environment says, and what the request asks for, for every target.
FusionConfig fusion_of(const KernelRequest& request) {
  FusionConfig fusion = fusion_config_from_environment();
  const auto add = [&](FusionRules* rules) {
    rules->fail_on_unfused.insert(rules->fail_on_unfused.end(), request.fail_on_unfused.begin(),
                                  request.fail_on_unfused.end());
  };
  add(&fusion);
  for (TargetFusionRules& one : fusion.targets) add(&one.rules);
  return fusion;
}

struct ScheduledNest {
  Schedule schedule;
  LoopNest nest;
};

struct ScheduledNests {
  std::vector<ScheduledNest> targets;
  std::vector<std::string> warnings;
};

ScheduledNests nests_for(const KernelRequest& request, const Graph& graph,
                         std::string* dump = nullptr) {
  if (!request.schedule.empty()) {
    const Schedule schedule = read_schedule(request.schedule, graph);
    return {{request.targets.size(), {schedule, run_pipeline(graph, schedule, dump)}}, {}};
  }
  LoweredForTargets made =
      run_pipeline_with_fallback(graph, request.targets, request.derive, dump, fusion_of(request));
  ScheduledNests nests{{}, std::move(made.warnings)};
  for (Lowered& lowered : made.targets) {
    nests.targets.push_back({lowered.schedule, std::move(lowered.nest)});
  }
  return nests;
}

std::string file_name(const std::string& name, size_t target, const char* suffix) {
  return target == 0 ? name + suffix : fmt::format("{}.{}{}", name, target, suffix);
}

// The macro around a C header, which has the hash of the code in it: its first line is #ifndef.
std::string guard_of(const std::string& path) {
  const std::string header = read_file("C header", path), first = "#ifndef ";
  EMULSION_CHECK(header.rfind(first, 0) == 0, "{} has no guard", path);
  return header.substr(first.size(), header.find('\n') - first.size());
}

void write(OutputFiles* files, const std::string& name, const std::string& text) {
  files->write_scratch(name, text.data(), text.size());
}

}  // namespace

std::vector<std::string> kernel_files(const std::string& name, size_t target_count) {
  std::vector<std::string> files = {name + ".a", name + ".h", name + "_kernel.h"};
  for (size_t i = 0; i < target_count; ++i) {
    files.push_back(file_name(name, i, ".schedule.txt"));
    files.push_back(file_name(name, i, ".nest.txt"));
  }
  files.push_back(name + ".json");
  return files;
}

std::vector<std::string> generate_kernel(const KernelRequest& request,
                                         const KernelFunction& kernel) {
  check_request(request);
  OutputFiles files(request.directory);
  const Graph graph = graph_of(kernel, KernelContext(request.targets, request.data));
  std::vector<LoopNest> nests;
  std::vector<TargetSchedule> texts;
  KernelDescription description;
  description.name = request.name;
  description.label = request.label.empty() ? request.name : request.label;
  ScheduledNests scheduled = nests_for(request, graph);
  for (ScheduledNest& made : scheduled.targets) {
    const size_t i = nests.size();
    nests.push_back(std::move(made.nest));
    texts.push_back({to_string(made.schedule), request.schedule.empty()});
    const std::string head =
        "# " + description.label + " for " + request.targets[i].to_string_with_machine() + "\n";
    write(&files, file_name(request.name, i, ".schedule.txt"), head + texts.back().text);
    write(&files, file_name(request.name, i, ".nest.txt"), head + to_string(nests.back()));
  }
  description.nest = &nests.front();
  description.targets = request.targets;
  description.flops = count_flops(graph);
  write(&files, request.name + ".json", kernel_manifest(description, texts, scheduled.warnings));
  compile_aot(nests, request.name, request.targets, files.scratch_path(""), request.compile);
  description.c_header_guard = guard_of(files.scratch_path(request.name + ".h"));
  write(&files, request.name + "_kernel.h", kernel_header(description));
  files.commit(kernel_files(request.name, request.targets.size()));
  return std::move(scheduled.warnings);
}

std::string dump_kernel(const KernelRequest& request, const KernelFunction& kernel) {
  check_request(request);
  std::string dump;
  nests_for(request, graph_of(kernel, KernelContext(request.targets, request.data)), &dump);
  return dump;
}

void generate_code(const KernelRequest& request, const KernelFunction& kernel) {
  check_request(request);
  const Graph graph = graph_of(kernel, KernelContext(request.targets, request.data));
  std::vector<LoopNest> nests;
  for (ScheduledNest& made : nests_for(request, graph).targets) {
    nests.push_back(std::move(made.nest));
  }
  write_code(nests, request.name, request.targets, request.directory, request.compile);
}

}  // namespace emulsion
