#include "dsl/tile_machine.h"

#include <map>
#include <set>
#include <vector>

#include "dsl/error.h"
#include "dsl/split_text.h"

namespace emulsion {
namespace {

constexpr const char* kName = "tile-machine";
constexpr int64_t kMostTile = 4096;
constexpr int64_t kMostSram = int64_t{1} << 40;
constexpr int64_t kMostRate = int64_t{1} << 30;

int64_t parse_number(const std::string& key, const std::string& digits) {
  int64_t value = 0;
  bool legal = !digits.empty() && digits.size() <= 18;
  for (char c : digits) {
    legal = legal && c >= '0' && c <= '9';
    if (legal) value = value * 10 + (c - '0');
  }
  if (!legal) fail("tile machine, {}: expected a whole number, got \"{}\"", key, shown(digits));
  return value;
}

void require_range(const std::string& what, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return;
  fail("tile machine, {}: expected a whole number from 1 to {}, got {}", what, most, value);
}

void parse_tile(const std::string& value, TileMachine* machine) {
  std::vector<std::string> parts = split_text(value, 'x');
  if (parts.size() != 3) {
    fail("tile machine, tile: expected three numbers as in 32x32x32 (m, n, k), got \"{}\"",
         shown(value));
  }
  machine->tile_m = parse_number("tile", parts[0]);
  machine->tile_n = parse_number("tile", parts[1]);
  machine->tile_k = parse_number("tile", parts[2]);
}

void parse_setting(const std::string& setting, std::set<std::string>* seen, TileMachine* machine) {
  const std::map<std::string, int64_t*> numbers = {
      {"sram", &machine->sram_bytes},           {"align", &machine->alignment},
      {"load", &machine->load_bytes_per_cycle}, {"store", &machine->store_bytes_per_cycle},
      {"execute", &machine->execute_cycles},    {"elements", &machine->elements_per_cycle},
  };
  size_t equals = setting.find('=');
  std::string key = setting.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
  if (!seen->insert(key).second) fail("tile machine, {}: expected once, got twice", shown(key));
  if (key == "tile") {
    parse_tile(value, machine);
  } else if (key == "buffers") {
    int64_t buffers = parse_number(key, value);
    if (buffers != 1 && buffers != 2) {
      fail("tile machine, buffers: expected 1 or 2 (double buffering), got {}", buffers);
    }
    machine->double_buffer = buffers == 2;
  } else if (numbers.count(key)) {
    *numbers.at(key) = parse_number(key, value);
  } else {
    fail(
        "tile machine: expected a setting (tile, sram, align, load, store, execute, elements, "
        "buffers), got \"{}\"",
        shown(key));
  }
}

}  // namespace

bool TileMachine::operator==(const TileMachine& other) const {
  return to_string(*this) == to_string(other);
}

void check_tile_machine(const TileMachine& m) {
  require_range("tile_m", m.tile_m, kMostTile);
  require_range("tile_n", m.tile_n, kMostTile);
  require_range("tile_k", m.tile_k, kMostTile);
  require_range("sram_bytes", m.sram_bytes, kMostSram);
  require_range("alignment", m.alignment, kMostTile);
  require_range("load_bytes_per_cycle", m.load_bytes_per_cycle, kMostRate);
  require_range("store_bytes_per_cycle", m.store_bytes_per_cycle, kMostRate);
  require_range("execute_cycles", m.execute_cycles, kMostRate);
  require_range("elements_per_cycle", m.elements_per_cycle, kMostRate);
  if ((m.alignment & (m.alignment - 1)) != 0) {
    fail("tile machine, alignment: expected a power of two, got {}", m.alignment);
  }
  if (m.sram_bytes % m.alignment != 0) {
    fail("tile machine, sram_bytes: expected a multiple of the alignment {}, got {}", m.alignment,
         m.sram_bytes);
  }
}

std::string to_string(const TileMachine& m) {
  return fmt::format(
      "{},tile={}x{}x{},sram={},align={},load={},store={},execute={},elements={},buffers={}", kName,
      m.tile_m, m.tile_n, m.tile_k, m.sram_bytes, m.alignment, m.load_bytes_per_cycle,
      m.store_bytes_per_cycle, m.execute_cycles, m.elements_per_cycle, m.double_buffer ? 2 : 1);
}

TileMachine parse_tile_machine(const std::string& text) {
  std::vector<std::string> parts = split_text(text, ',');
  if (parts[0] != kName) {
    fail("tile machine: expected \"{}\" first, got \"{}\"", kName, shown(parts[0]));
  }
  TileMachine machine;
  std::set<std::string> seen;
  for (size_t i = 1; i < parts.size(); ++i) parse_setting(parts[i], &seen, &machine);
  check_tile_machine(machine);
  return machine;
}

}  // namespace emulsion
