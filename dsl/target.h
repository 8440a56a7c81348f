#ifndef EMULSION_DSL_TARGET_H_
#define EMULSION_DSL_TARGET_H_

// The machine that a kernel is made for: what schedules are derived from and what a backend
// compiles for. A plain value. Instruction sets are spelled as Halide spells them, so to_string()
// is also a Halide target, but nothing here needs Halide. Two runs with equal targets give equal
// kernels: so the machine at hand is never meant silently. host() asks it once, and its to_string()
// is what a build file holds.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/tile_machine.h"
#include "dsl/types.h"

namespace emulsion {

struct Target {
  std::string arch = "x86-64";
  std::string os = "linux";
  std::set<std::string> features;        // closed: avx2 stands beside avx and sse41
  int64_t l1_bytes = int64_t{32} << 10;  // data cache of one core
  int64_t l2_bytes = int64_t{1} << 20;
  int64_t l3_bytes = int64_t{16} << 20;  // as much as one core can see
  int cores = 1;
  // A machine that computes on tiles; then arch is "tile-machine" and all of the above means
  // nothing.
  std::optional<TileMachine> tiles;

  // The machine that runs this program: its features, caches, and the cores that this process may
  // use. EMULSION_HOST_TARGET=x86-64-v3 in the environment takes it for one of these features: a
  // test run tries them so, also those that this machine has not. Error: a value that is no target.
  static Target host();
  // Error: a machine that check_tile_machine() refuses.
  static Target tile_machine(const TileMachine& machine = {});
  // "x86-64-linux-avx2-fma" or a level "x86-64-v3", "x86-64-v4-avx512_zen4" (v2 = sse41, v3 adds
  // avx2, fma and f16c, v4 adds avx512_skylake); then, where the defaults above do not fit,
  // ",cores=8,l1=32768,l2=1048576,l3=16777216". Features that others imply are added. Error: an
  // unknown architecture, system, feature or key, naming the legal ones and the nearest; "host".
  // "tile-machine,tile=32x32x32,sram=262144,..." as in tile_machine.h.
  static Target parse(const std::string& text);

  // "x86-64-linux-avx-avx2-f16c-fma-sse41": canonical, features sorted; parses back but for caches
  // and cores.
  std::string to_string() const;
  // to_string() and ",cores=..,l1=..,l2=..,l3=..": parses back to an equal target.
  std::string to_string_with_machine() const;

  bool is_tile_machine() const { return tiles.has_value(); }
  bool has(const std::string& feature) const { return features.count(feature) > 0; }
  bool has_fma() const { return has("fma"); }
  // Width of the vectors that this target computes in: 512 from avx512_skylake on, 256 from avx on,
  // else 128.
  int vector_bits() const;
  // How many elements one vector holds: 64 of u8 in 512 bits. bool, which goes with what is
  // compared, and the types without kernels count as f32.
  int vector_lanes(DType type) const;
  // How many vector registers there are: 32 from avx512_skylake on, else 16.
  int vector_registers() const;

  bool operator==(const Target& other) const;
  bool operator!=(const Target& other) const { return !(*this == other); }
};

// Whether this machine has every feature of `target`.
bool runs_on_this_machine(const Target& target);
// Which it has not; of another architecture or operating system, that.
std::vector<std::string> missing_on_this_machine(const Target& target);
// Error: there are some.
void require_this_machine(const Target& target);

}  // namespace emulsion

#endif  // EMULSION_DSL_TARGET_H_
