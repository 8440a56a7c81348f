#include "dsl/checked_arithmetic.h"

#include "dsl/error.h"

namespace emulsion {

void fail_overflow(int64_t a, char operation, int64_t b, const char* what) {
  fail("{}{}{} {} {}: does not fit 64 bits", what, *what == '\0' ? "" : " ", a, operation, b);
}

}  // namespace emulsion
