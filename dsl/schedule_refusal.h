#ifndef EMULSION_DSL_SCHEDULE_REFUSAL_H_
#define EMULSION_DSL_SCHEDULE_REFUSAL_H_

// How a directive is refused, by the check of a schedule's names as by lower(): one line that names
// the operation and the directive as it was written.
//
//   y.split(n, no, ni, 5): expected a serial loop, got n, which is vectorized already; legal: ...

#include <string>
#include <utility>

#include "dsl/error.h"
#include "dsl/schedule.h"

namespace emulsion {

// One loop of a stage; without an axis, the storage and the uOps of the stage.
struct LoopName {
  std::string stage, axis;
};

class ScheduleRefusal : public ScheduleError {
 public:
  // `message`: the whole first line.
  ScheduleRefusal(std::string stage, Directive directive, const std::string& message,
                  LoopName loop = {})
      : ScheduleError(message),
        stage_(std::move(stage)),
        directive_(std::move(directive)),
        loop_(std::move(loop)) {}

  const std::string& stage() const { return stage_; }
  const Directive& directive() const { return directive_; }
  const LoopName& loop() const { return loop_; }  // no stage: the one that the directive names

 private:
  std::string stage_;
  Directive directive_;
  LoopName loop_;
};

// Throws ScheduleRefusal "mm.compute_at(y, q): <message>". `directive` is the one of the schedule,
// as it was written. `loop` only where the trouble is with another loop than the directive names
// first.
[[noreturn]] void refuse(const std::string& stage, const Directive& directive,
                         const std::string& message, const LoopName& loop = {});

}  // namespace emulsion

#endif  // EMULSION_DSL_SCHEDULE_REFUSAL_H_
