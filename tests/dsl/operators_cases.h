#ifndef EMULSION_TESTS_DSL_OPERATORS_CASES_H_
#define EMULSION_TESTS_DSL_OPERATORS_CASES_H_

// The two questions that every operator's test asks in tables: what shape and type comes out, and
// what is refused in which words. A suite instantiates Shapes and Refusals with its cases and
// states beside them what the comprehensions look like. Values are the interpreter's and NumPy's
// business.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/tensor.h"

namespace emulsion {

// A result of this type and shape: "f32[B, 4]".
struct ShapeCase {
  const char* name;
  std::function<Tensor()> make;
  const char* expected;
};

// An Error whose text holds every one of these.
struct RefusalCase {
  const char* name;
  std::function<Tensor()> make;
  std::vector<const char*> causes;
};

inline void PrintTo(const ShapeCase& c, std::ostream* out) { *out << c.name; }
inline void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.name; }

inline std::string type_and_shape(const Tensor& x) {
  return to_string(x.dtype()) + to_string(x.shape());
}

template <typename Case>
std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class Shapes : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(Shapes, Are) { EXPECT_EQ(type_and_shape(GetParam().make()), GetParam().expected); }

// The text of the Error that `make` throws; empty when it throws none.
inline std::string refusal_of(const std::function<Tensor()>& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Refusals : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, NameTheCause) {
  try {
    Tensor made = GetParam().make();
    FAIL() << "expected an Error, got " << type_and_shape(made);
  } catch (const Error& error) {
    std::string message = error.what();
    for (const char* cause : GetParam().causes) {
      EXPECT_NE(message.find(cause), std::string::npos)
          << "expected '" << cause << "' in: " << message;
    }
  }
}

// An input that no test looks at for its name.
inline Tensor in(const Shape& shape, DType dtype = f32, const std::string& name = "x") {
  return input(name, dtype, shape);
}

// A tensor of a type that has no kernels: no public function makes one.
inline Tensor without_kernels(const Shape& shape, DType dtype) {
  auto op = std::make_shared<Op>();
  op->kind = OpKind::input;
  op->name = "q";
  op->dtype = dtype;
  op->shape = shape;
  return Tensor(op);
}

inline std::string body_of(const Tensor& x) { return to_string(x.op()->body); }

}  // namespace emulsion

#endif  // EMULSION_TESTS_DSL_OPERATORS_CASES_H_
