#ifndef EMULSION_BACKENDS_TILE_MACHINE_REPORT_DRAW_SCRATCHPAD_H_
#define EMULSION_BACKENDS_TILE_MACHINE_REPORT_DRAW_SCRATCHPAD_H_

// A scratchpad plan as a picture, one SVG file that any browser shows. From top to bottom:
//
//   the figures     cycles, loads of each policy, how busy the units are
//   the whole run   in a few hundred columns: how busy each unit is and why the execute unit is
//                   not; which buffers take up how much of the SRAM
//   a part of it    uOp by uOp: what each unit does, and where each tile lies in SRAM from the
//                   start of its load until its place is taken, with a mark below it while an
//                   execute uses it
//
// The file stays small whatever the length of the program: a few hundred kilobytes at most.

#include <cstdint>
#include <string>

#include "backends/tile_machine/report/report_scratchpad.h"

namespace emulsion {

struct PictureOptions {
  int64_t first_cycle = 0;  // where the detailed part starts
  size_t uops = 90;         // how many uOps it shows; at most 2000
};

// Error: a first cycle that is not inside the run, or a number of uOps that is not from 1 to 2000.
std::string draw_scratchpad(const ScratchpadReport& report, const PictureOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_REPORT_DRAW_SCRATCHPAD_H_
