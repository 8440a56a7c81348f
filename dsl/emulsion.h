#ifndef EMULSION_DSL_EMULSION_H_
#define EMULSION_DSL_EMULSION_H_

// One include for a program that describes kernels and compiles them itself: the DSL and the steps
// from a graph to a library. The only header in this folder that reaches beyond it, and so not part
// of any of its targets: it belongs to //:emulsion, above all the layers. Nothing of ours may
// include it.

#include "backends/halide/compile_aot.h"
#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/schedule_file.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "dsl/tensor.h"
#include "dsl/types.h"
#include "dsl/version.h"
#include "passes/derive/derive_schedule.h"
#include "passes/differentiate/differentiate.h"
#include "passes/lower/lower.h"
#include "passes/nest/loop_nest.h"

#endif  // EMULSION_DSL_EMULSION_H_
