#include "dsl/target.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "dsl/split_text.h"

namespace emulsion {
namespace {

constexpr const char* kArch = "x86-64";
constexpr const char* kOs = "linux";
constexpr const char* kTileMachine = "tile-machine";

// Each feature with what it implies. Every processor that has the left side has the right side; a
// compiler takes it for granted too.
const std::map<std::string, std::vector<std::string>>& implications() {
  static const std::map<std::string, std::vector<std::string>> kImplied = {
      {"sse41", {}},
      {"avx", {"sse41"}},
      {"f16c", {"avx"}},
      {"fma", {"avx"}},
      {"avx2", {"avx"}},
      {"avxvnni", {"avx2"}},
      {"avx512", {"avx2", "f16c", "fma"}},
      {"avx512_skylake", {"avx512"}},
      {"avx512_cannonlake", {"avx512_skylake"}},
      {"avx512_zen4", {"avx512_cannonlake"}},
      {"avx512_zen5", {"avx512_zen4", "avxvnni"}},
      {"avx512_sapphirerapids", {"avx512_zen4", "avxvnni"}},
  };
  return kImplied;
}

// The levels of the x86-64 ABI, as far as they concern what a kernel computes with.
const std::map<std::string, std::vector<std::string>>& levels() {
  static const std::map<std::string, std::vector<std::string>> kLevels = {
      {"v2", {"sse41"}},
      {"v3", {"avx2", "f16c", "fma"}},
      {"v4", {"avx512_skylake"}},
  };
  return kLevels;
}

void add_feature(const std::string& feature, std::set<std::string>* features) {
  if (!features->insert(feature).second) return;
  for (const std::string& implied : implications().at(feature)) add_feature(implied, features);
}

template <typename Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> result;
  result.reserve(map.size());
  for (const auto& [key, value] : map) result.push_back(key);
  return result;
}

std::string in_small_letters(std::string word) {
  for (char& letter : word) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return word;
}

[[noreturn]] void refuse(const std::string& text, const std::string& what, const std::string& word,
                         const std::vector<std::string>& legal) {
  const std::string wanted = in_small_letters(shown(word)), nearest = nearest_name(wanted, legal);
  // Of two words that share less than half, neither is meant to be the other.
  const bool is_near = 2 * edit_distance(wanted, nearest) <= std::max(word.size(), nearest.size());
  fail("target \"{}\": expected {} ({}), got \"{}\"{}", shown(text), what, fmt::join(legal, ", "),
       shown(word), word.empty() || !is_near ? "" : "; the nearest is " + nearest);
}

void parse_features(const std::string& text, const std::string& name, Target* target) {
  std::vector<std::string> words = split_text(name, '-');
  size_t next = 2;
  if (words.size() < 2 || words[0] + "-" + words[1] != kArch) {
    refuse(text, "an architecture first", words.size() < 2 ? name : words[0] + "-" + words[1],
           {kArch});
  }
  bool has_level = next < words.size() && levels().count(words[next]) > 0;
  if (has_level) {
    for (const std::string& feature : levels().at(words[next])) {
      add_feature(feature, &target->features);
    }
    ++next;
  }
  if (next < words.size() && words[next] == kOs) {
    ++next;
  } else if (!has_level) {
    std::vector<std::string> legal = keys(levels());
    legal.insert(legal.begin(), kOs);
    refuse(text, "an operating system or a level after the architecture",
           next < words.size() ? words[next] : "", legal);
  }
  for (; next < words.size(); ++next) {
    if (!implications().count(words[next])) {
      refuse(text, "a feature", words[next], keys(implications()));
    }
    add_feature(words[next], &target->features);
  }
}

int64_t parse_number(const std::string& text, const std::string& key, const std::string& digits,
                     int64_t largest) {
  int64_t value = 0;
  bool legal = !digits.empty();
  for (char c : digits) {
    legal = legal && c >= '0' && c <= '9' && value <= (largest - (c - '0')) / 10;
    if (!legal) break;
    value = value * 10 + (c - '0');
  }
  if (!legal || value < 1) {
    fail("target \"{}\": {}: expected a whole number from 1 to {}, got \"{}\"", shown(text), key,
         largest, shown(digits));
  }
  return value;
}

void parse_machine(const std::string& text, const std::string& setting, Target* target) {
  const std::map<std::string, int64_t*> caches = {
      {"l1", &target->l1_bytes}, {"l2", &target->l2_bytes}, {"l3", &target->l3_bytes}};
  size_t equals = setting.find('=');
  std::string key = setting.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
  if (key == "cores") {
    target->cores = static_cast<int>(parse_number(text, key, value, 65536));
  } else if (caches.count(key)) {
    *caches.at(key) = parse_number(text, key, value, int64_t{1} << 40);
  } else {
    refuse(text, "a setting of the machine", key, {"cores", "l1", "l2", "l3"});
  }
}

// __builtin_cpu_supports() knows no f16c in every compiler that reads this file.
bool cpu_lists_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// A compiler that is told of Zen 4 writes SSE4a too, which no processor of Intel's has.
bool cpu_has_sse4a() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000001U, &a, &b, &c, &d) != 0 && (c & (1U << 6)) != 0;
}

std::set<std::string> host_features() {
  __builtin_cpu_init();
  bool base = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd");
  bool skylake = base && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq");
  bool cannonlake =
      skylake && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
  bool zen4 = cannonlake && cpu_has_sse4a() && __builtin_cpu_supports("avx512bf16") &&
              __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bitalg") &&
              __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq");
  // zen5 and sapphirerapids stay unclaimed: what they add is of no use to the types that have
  // kernels, and AMX needs the operating system's leave.
  const std::pair<const char*, bool> kFound[] = {
      {"sse41", __builtin_cpu_supports("sse4.1")},
      {"avx", __builtin_cpu_supports("avx")},
      {"f16c", __builtin_cpu_supports("avx") && cpu_lists_f16c()},
      {"fma", __builtin_cpu_supports("fma")},
      {"avx2", __builtin_cpu_supports("avx2")},
      {"avx512", base},
      {"avx512_skylake", skylake},
      {"avx512_cannonlake", cannonlake},
      {"avx512_zen4", zen4},
  };
  std::set<std::string> found;
  for (const auto& [feature, present] : kFound) {
    if (present) found.insert(feature);
  }
  // A hypervisor can hide a part: keep only what stands on everything that it implies.
  std::set<std::string> result;
  for (const std::string& feature : found) {
    std::set<std::string> closure;
    add_feature(feature, &closure);
    if (std::includes(found.begin(), found.end(), closure.begin(), closure.end())) {
      result.insert(feature);
    }
  }
  return result;
}

// Those of the processor, or of the one that it is to be taken for.
std::set<std::string> chosen_features() {
  const char* setting = std::getenv("EMULSION_HOST_TARGET");
  if (setting == nullptr || *setting == '\0') return host_features();
  const std::string text = setting;
  if (text.find(',') != std::string::npos || text == kTileMachine) {
    fail("EMULSION_HOST_TARGET: expected instruction sets alone, such as x86-64-v3, got \"{}\"",
         shown(text));
  }
  try {
    return Target::parse(text).features;
  } catch (const Error& error) {
    fail("EMULSION_HOST_TARGET: {}", error.what());
  }
}

// What the kernel lists for core 0; nothing where it lists no such cache.
std::optional<int64_t> listed_cache_bytes(int level) {
  for (int i = 0; i < 16; ++i) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    int found = 0;
    std::string type;
    int64_t size = 0;
    char unit = 0;
    if (!(std::ifstream(folder + "level") >> found)) return std::nullopt;
    std::ifstream(folder + "type") >> type;
    if (found != level || type == "Instruction") continue;
    if (!(std::ifstream(folder + "size") >> size >> unit) || size <= 0) return std::nullopt;
    return unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size;
  }
  return std::nullopt;
}

int64_t cache_bytes(int level, int sysconf_name, int64_t otherwise) {
  if (std::optional<int64_t> listed = listed_cache_bytes(level)) return *listed;
  long size = sysconf(sysconf_name);
  return size > 0 ? size : otherwise;
}

int usable_cores() {
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (!set) break;
    size_t bytes = CPU_ALLOC_SIZE(cpus);
    int failed = sched_getaffinity(0, bytes, set);
    int count = failed ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

}  // namespace

Target Target::host() {
  Target target;
  target.features = chosen_features();
  target.l1_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE, target.l1_bytes);
  target.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE, target.l2_bytes);
  target.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE, target.l3_bytes);
  target.cores = usable_cores();
  return target;
}

Target Target::tile_machine(const TileMachine& machine) {
  check_tile_machine(machine);
  Target target;
  target.arch = kTileMachine;
  target.os = "";
  target.tiles = machine;
  return target;
}

Target Target::parse(const std::string& text) {
  std::vector<std::string> parts = split_text(text, ',');
  if (parts[0] == kTileMachine) return tile_machine(parse_tile_machine(text));
  if (parts[0] == "host" || parts[0].rfind("host-", 0) == 0) {
    fail(
        "target \"{}\": expected explicit features, because host means another machine elsewhere; "
        "print Target::host().to_string() once and write its result here",
        shown(text));
  }
  Target target;
  parse_features(text, parts[0], &target);
  for (size_t i = 1; i < parts.size(); ++i) parse_machine(text, parts[i], &target);
  return target;
}

std::string Target::to_string() const {
  if (tiles) return emulsion::to_string(*tiles);
  std::string result = arch + "-" + os;
  for (const std::string& feature : features) result += "-" + feature;
  return result;
}

std::string Target::to_string_with_machine() const {
  if (tiles) return to_string();
  return fmt::format("{},cores={},l1={},l2={},l3={}", to_string(), cores, l1_bytes, l2_bytes,
                     l3_bytes);
}

int Target::vector_bits() const { return has("avx512_skylake") ? 512 : has("avx") ? 256 : 128; }

int Target::vector_lanes(DType type) const {
  bool own_width = is_computable(type) && type != DType::boolean;
  return vector_bits() / (8 * size_in_bytes(own_width ? type : DType::f32));
}

int Target::vector_registers() const { return has("avx512_skylake") ? 32 : 16; }

bool Target::operator==(const Target& other) const {
  return arch == other.arch && os == other.os && features == other.features &&
         l1_bytes == other.l1_bytes && l2_bytes == other.l2_bytes && l3_bytes == other.l3_bytes &&
         cores == other.cores && tiles == other.tiles;
}

std::vector<std::string> missing_on_this_machine(const Target& target) {
  static const std::set<std::string> kHost = host_features();
  if (target.arch != kArch) return {target.arch};
  if (target.os != kOs) return {target.os};
  std::vector<std::string> missing;
  std::set_difference(target.features.begin(), target.features.end(), kHost.begin(), kHost.end(),
                      std::back_inserter(missing));
  return missing;
}

void require_this_machine(const Target& target) {
  const std::vector<std::string> missing = missing_on_this_machine(target);
  if (missing.empty()) return;
  fail("target \"{}\": expected one that this machine is, got {}, which it has not",
       target.to_string(), fmt::join(missing, ", "));
}

bool runs_on_this_machine(const Target& target) { return missing_on_this_machine(target).empty(); }

}  // namespace emulsion
