// Prints what Target::host() needs that this processor has not, for cases.sh; nothing when it runs.

#include <cstdio>
#include <exception>

#include "bazel/testing/needs.h"

int main() {
  try {
    std::puts(emulsion::test_run::WhyItDoesNotRun(emulsion::Target::host()).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
