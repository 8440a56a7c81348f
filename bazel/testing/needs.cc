#include "bazel/testing/needs.h"

#include "dsl/error.h"

namespace emulsion::test_run {
namespace {

constexpr const char* kNeeds = "needs ";
constexpr const char* kThisCpu = "; this CPU has no ";

}  // namespace

std::string WhyItDoesNotRun(const Target& target) {
  if (runs_on_this_machine(target)) return "";
  std::string missing;
  for (const std::string& feature : target.features) {
    Target one;
    one.features = {feature};
    if (!runs_on_this_machine(one)) missing += (missing.empty() ? "" : ", ") + feature;
  }
  return kNeeds + target.to_string() + kThisCpu + (missing.empty() ? target.arch : missing);
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
