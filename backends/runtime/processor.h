#ifndef EMULSION_BACKENDS_RUNTIME_PROCESSOR_H_
#define EMULSION_BACKENDS_RUNTIME_PROCESSOR_H_

/* What Halide's own test of the processor passes over. Code for avx512_zen4 and avx512_zen5 holds
 * instructions that only AMD's processors have (SSE4a among them), and outside AMD's processors
 * halide_can_use_target_features() ignores those two features: the kernel would end the process.
 * Plain C, since generated code declares and calls it. */

#ifdef __cplusplus
extern "C" {
#endif

/* 4 or 5 where the instructions of that generation of Zen that Intel's processors do not have, or
 * do not have together, are there; else 0. Says nothing of AVX-512, which Halide's test covers. */
int emulsion_zen_generation(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EMULSION_BACKENDS_RUNTIME_PROCESSOR_H_ */
