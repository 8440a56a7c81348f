#ifndef EMULSION_TESTS_ILLEGAL_ILLEGAL_CASE_H_
#define EMULSION_TESTS_ILLEGAL_ILLEGAL_CASE_H_

// Illegal schedules as a table: one line a case, each refused for its own cause. A schedule is
// written as its text, one directive a line, and the line that is illegal starts with "! ". That
// line is the only reason: without it the schedule lowers.

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "dsl/graph.h"

namespace emulsion {

struct IllegalCase {
  const char* name;
  const char* graph;     // by its name in illegal_graph()
  const char* schedule;  // "y.vectorize(n)\n! y.split(n, no, ni, 5)"
  const char* cause;     // what the first line of the error has to say
};

inline std::string name_of_case(const testing::TestParamInfo<IllegalCase>& info) {
  return info.param.name;
}
inline std::ostream& operator<<(std::ostream& out, const IllegalCase& c) { return out << c.name; }

// The graphs that the cases are about: small ones, each with something that others lack.
Graph illegal_graph(const std::string& name);

// That the schedule without the marked line lowers; that with it there is an Error (never an
// InternalError; a ScheduleError when it is about a directive) whose first line names the line or
// starts with the directive, says the cause and the nearest legal choice; and, unless the text
// alone was enough to see it, that the nest before the directive is shown with a loop marked.
testing::AssertionResult refuses(const IllegalCase& c);

class Illegal : public testing::TestWithParam<IllegalCase> {};

}  // namespace emulsion

#endif  // EMULSION_TESTS_ILLEGAL_ILLEGAL_CASE_H_
