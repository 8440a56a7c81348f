#ifndef EMULSION_TESTS_SMALL_STACK_H_
#define EMULSION_TESTS_SMALL_STACK_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <functional>

namespace emulsion {

// Runs `work` on a thread whose stack has so many bytes, and waits for it.
inline void run_on_stack(size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  // Large: one array can lie beyond the page that is the guard otherwise.
  ASSERT_EQ(pthread_attr_setguardsize(&attributes, size_t{1} << 20), 0);
  const auto call = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&work)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_SMALL_STACK_H_
