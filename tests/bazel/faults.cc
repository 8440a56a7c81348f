// Does what a sanitizer is there to see, and ends with 0 where nobody does: faults KIND.

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

// What the compiler does not know.
volatile int one = 1;
volatile int sink = 0;

void lose_memory() {
  char* lost = new char[1000];
  std::memset(lost, one, 1000);
  sink = lost[10];
  lost = nullptr;
}

void read_past_the_end() {
  const int* values = new int[4]{1, 2, 3, 4};
  sink = values[3 + one];
  delete[] values;
}

void use_what_is_gone() {
  int* value = new int(one);
  delete value;
  sink = *value;
}

void leave_the_range() {
  const int largest = 0x7fffffff;
  sink = largest + one;
}

void race() {
  int shared = 0;
  std::thread other([&] { shared = 2; });
  shared = 3;
  other.join();
  sink = shared;
}

}  // namespace

int main(int count, char** words) {
  const std::string kind = count == 2 ? words[1] : "";
  if (kind == "leak") lose_memory();
  if (kind == "past the end") read_past_the_end();
  if (kind == "gone") use_what_is_gone();
  if (kind == "range") leave_the_range();
  if (kind == "race") race();
  std::puts("went on to its end");
  return 0;
}
