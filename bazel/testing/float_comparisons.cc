// What code with -fsanitize-coverage=trace-cmp (bazel/sanitized.bzl) calls when it compares real
// numbers. g++'s libraries of the sanitizers have all such functions but these two. Whoever wants
// to know defines them anew, as tests/fuzz/comparisons.cc does.

extern "C" {

__attribute__((weak)) void __sanitizer_cov_trace_cmpf(float /*a*/, float /*b*/) {}
__attribute__((weak)) void __sanitizer_cov_trace_cmpd(double /*a*/, double /*b*/) {}

}  // extern "C"
