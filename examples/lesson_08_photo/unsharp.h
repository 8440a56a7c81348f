#ifndef EMULSION_EXAMPLES_LESSON_08_PHOTO_UNSHARP_H_
#define EMULSION_EXAMPLES_LESSON_08_PHOTO_UNSHARP_H_

// The unsharp mask of darkrooms: a picture minus its own blur is its edges, and some of them added
// back make it look sharper.
//
//   grey     u16, in 256ths      77 red + 150 green + 29 blue  (BT.601's luma, rounded to 256ths)
//   blur     f32                 7x7 Gaussian of grey, sigma 1.5, down the columns, then along the
//                                rows; beyond the picture, its edge pixels are repeated
//   sharper  u8                  photo + amount (grey - blur), to the nearest, within 0..255

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// photo: u8[H, W, 3], amount: f32[] -> sharper: u8[H, W, 3]; H and W are run-time sizes.
Graph unsharp_mask();

// Tiles of 32 rows by 128 columns, shared by the threads; grey and the blur down the columns for a
// tile and its halo, the blur along the rows a row at a time.
Schedule tiled_unsharp_mask(const Graph& graph, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_EXAMPLES_LESSON_08_PHOTO_UNSHARP_H_
