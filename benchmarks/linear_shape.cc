#include "benchmarks/linear_shape.h"

#include <charconv>

#include "dsl/error.h"

namespace emulsion::benchmarks {

std::string LinearShape::to_string() const {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

LinearShape LinearShape::parse(const std::string& text) {
  LinearShape shape;
  const char* at = text.data();
  const char* end = at + text.size();
  bool good = true;
  for (int64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    if (extent != &shape.m) good = good && at != end && *at++ == 'x';
    auto [next, error] = std::from_chars(at, end, *extent);
    good = good && error == std::errc() && *extent > 0;
    at = next;
  }
  if (!good || at != end) fail("shape '{}': expected MxNxK, for example 512x512x512", text);
  return shape;
}

}  // namespace emulsion::benchmarks
