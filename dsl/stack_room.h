#ifndef EMULSION_DSL_STACK_ROOM_H_
#define EMULSION_DSL_STACK_ROOM_H_

// A nest's tree is as deep as its storage is nested: ten thousand stored stages are ten thousand
// levels; and the text of an expression as deep as its parentheses. A thread's stack may have 1
// MiB. So whatever goes down these by recursion does each step, or one in a few, through
// with_stack_room: where little is left of the stack, the step runs on another thread, which has a
// large one, while this thread waits.

#include <functional>

namespace emulsion {

// Whether less is left of the stack than a step may take, which walks an expression too. Never on a
// stack that is not this thread's own: whoever made that has chosen its size.
bool stack_is_short();

// Runs `work` on a thread of its own whose stack is large, and waits. What it throws, this throws.
// Where the system refuses a thread, runs it here.
void run_on_large_stack(const std::function<void()>& work);

template <typename Work>
void with_stack_room(const Work& work) {
  if (stack_is_short()) {
    run_on_large_stack(work);
  } else {
    work();
  }
}

}  // namespace emulsion

#endif  // EMULSION_DSL_STACK_ROOM_H_
