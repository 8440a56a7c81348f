#ifndef EMULSION_BENCHMARKS_PEERS_BEST_INSTRUCTIONS_H_
#define EMULSION_BENCHMARKS_PEERS_BEST_INSTRUCTIONS_H_

// Before the definition of a function: it is compiled for each level of x86-64, and the best that
// the machine has is called. So it is what -march would make of it there, in a library that is
// built anywhere.
#define EMULSION_BEST_INSTRUCTIONS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

#endif  // EMULSION_BENCHMARKS_PEERS_BEST_INSTRUCTIONS_H_
