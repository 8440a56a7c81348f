#include "bazel/testing/needs.h"

#include <fmt/format.h>

#include "dsl/error.h"

namespace emulsion::test_run {
namespace {

constexpr const char* kNeeds = "needs ";
constexpr const char* kThisCpu = "; this CPU has no ";

}  // namespace

std::string WhyItDoesNotRun(const Target& target) {
  const std::vector<std::string> missing = missing_on_this_machine(target);
  if (missing.empty()) return "";
  return fmt::format("{}{}{}{}", kNeeds, target.to_string(), kThisCpu, fmt::join(missing, ", "));
}

Need JudgeNeed(const std::string& reason) {
  const size_t end = reason.find(kThisCpu);
  if (reason.rfind(kNeeds, 0) != 0 || end == std::string::npos) return Need::kNone;
  const size_t begin = std::string(kNeeds).size();
  try {
    const Target target = Target::parse(reason.substr(begin, end - begin));
    return runs_on_this_machine(target) ? Need::kMet : Need::kMissing;
  } catch (const Error&) {
    return Need::kNone;  // no target, so no need of the processor
  }
}

}  // namespace emulsion::test_run
