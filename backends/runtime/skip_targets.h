#ifndef EMULSION_BACKENDS_RUNTIME_SKIP_TARGETS_H_
#define EMULSION_BACKENDS_RUNTIME_SKIP_TARGETS_H_

// For tests: a kernel for several targets runs the first that the processor has, so on one machine
// only one of its copies would ever be tested. While a SkipTargets is there, calls from its thread
// pass over the first `count` copies that ask the processor anything.

namespace emulsion::runtime {

class SkipTargets {
 public:
  explicit SkipTargets(int count);
  ~SkipTargets();
  SkipTargets(const SkipTargets&) = delete;
  SkipTargets& operator=(const SkipTargets&) = delete;

  // To be called before each call of a kernel.
  void restart();
};

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_SKIP_TARGETS_H_
