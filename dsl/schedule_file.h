#ifndef EMULSION_DSL_SCHEDULE_FILE_H_
#define EMULSION_DSL_SCHEDULE_FILE_H_

// A schedule in a file, for every program and build rule that takes one: as JSON (schedule_json.h)
// when its name ends in .json, else as text (schedule_text.h).

#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// As read_file and write_file do it (files.h). What reading refuses starts with the path and the
// place in it: "schedule y.schedule: line 4, column 1: ", "schedule y.json: /directives/3: ".
Schedule read_schedule(const std::string& path, const Graph& graph);
void write_schedule(const std::string& path, const Schedule& schedule);

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_FILE_H_
