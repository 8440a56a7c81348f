#include "dsl/schedule_refusal.h"

namespace emulsion {

void refuse(const std::string& stage, const Directive& directive, const std::string& message,
            const LoopName& loop) {
  throw ScheduleRefusal(stage, directive,
                        fmt::format("{}.{}: {}", stage, to_string(directive), message), loop);
}

}  // namespace emulsion
