#include "backends/runtime/descriptor.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace emulsion::runtime {
namespace {

struct NamedType {
  std::string_view name;
  halide_type_t type;
};

// Halide stores a bool in a byte and calls it a one-bit unsigned integer, in its buffers and in its
// kernels.
const NamedType kTypes[] = {
    {"bool", halide_type_t(halide_type_uint, 1)},  {"i8", halide_type_t(halide_type_int, 8)},
    {"u8", halide_type_t(halide_type_uint, 8)},    {"i16", halide_type_t(halide_type_int, 16)},
    {"u16", halide_type_t(halide_type_uint, 16)},  {"i32", halide_type_t(halide_type_int, 32)},
    {"f32", halide_type_t(halide_type_float, 32)}, {"bf16", halide_type_t(halide_type_bfloat, 16)},
    {"f64", halide_type_t(halide_type_float, 64)},
};

// Larger numbers cannot be extents, and this keeps a product with an extent inside 64 bits.
constexpr int64_t kMaxNumber = INT32_MAX;

// The text up to `separator`, which is consumed with it; everything when there is none.
std::string_view take_until(char separator, std::string_view* text) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return taken;
}

// A number of digits only, at the front of `text`.
std::optional<int64_t> take_number(std::string_view* text) {
  if (text->empty() || text->front() < '0' || text->front() > '9') return std::nullopt;
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const std::from_chars_result result = std::from_chars(text->data(), end, number);
  if (result.ec != std::errc() || number > kMaxNumber) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(result.ptr - text->data()));
  return number;
}

std::optional<int64_t> parse_number(std::string_view text) {
  const std::optional<int64_t> number = take_number(&text);
  return text.empty() ? number : std::nullopt;
}

bool is_name(std::string_view text) {
  const auto is_legal = [](char c) {
    return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), is_legal);
}

int find_size(const Descriptor& descriptor, std::string_view name) {
  const auto found = std::find(descriptor.sizes.begin(), descriptor.sizes.end(), name);
  return found == descriptor.sizes.end() ? -1 : static_cast<int>(found - descriptor.sizes.begin());
}

void add_term(int size, int64_t coefficient, ArgumentExtent* extent) {
  for (SizeTerm& term : extent->terms) {
    if (term.size == size) {
      term.coefficient += coefficient;
      return;
    }
  }
  extent->terms.push_back({size, coefficient});
}

bool parse_term(std::string_view term, int64_t sign, const Descriptor& descriptor,
                ArgumentExtent* extent) {
  int64_t coefficient = 1;
  if (const std::optional<int64_t> number = take_number(&term)) {
    if (term.empty()) {
      extent->constant += sign * *number;
      return true;
    }
    if (term.front() != '*') return false;
    term.remove_prefix(1);
    coefficient = *number;
  }
  const int size = find_size(descriptor, term);
  if (size < 0) return false;
  add_term(size, sign * coefficient, extent);
  return true;
}

bool parse_extent(std::string_view text, const Descriptor& descriptor, ArgumentExtent* extent) {
  extent->text = std::string(text);
  int64_t sign = 1;
  if (!text.empty() && text.front() == '-') {
    sign = -1;
    text.remove_prefix(1);
  }
  while (true) {
    const size_t end = std::min(text.find_first_of("+-"), text.size());
    if (!parse_term(text.substr(0, end), sign, descriptor, extent)) return false;
    if (end == text.size()) break;
    sign = text[end] == '-' ? -1 : 1;
    text.remove_prefix(end + 1);
  }
  const auto is_zero = [](const SizeTerm& term) { return term.coefficient == 0; };
  extent->terms.erase(std::remove_if(extent->terms.begin(), extent->terms.end(), is_zero),
                      extent->terms.end());
  const auto is_too_large = [](int64_t number) {
    return number > kMaxNumber || number < -kMaxNumber;
  };
  return !is_too_large(extent->constant) &&
         std::none_of(extent->terms.begin(), extent->terms.end(),
                      [&](const SizeTerm& term) { return is_too_large(term.coefficient); });
}

bool parse_sizes(std::string_view line, Descriptor* descriptor, ErrorMessage* reason) {
  while (!line.empty()) {
    const bool ends_in_comma = line.back() == ',';
    const std::string_view name = take_until(',', &line);
    if (!is_name(name) || (ends_in_comma && line.empty())) {
      *reason << "line 2: expected the names of run-time sizes";
      return false;
    }
    if (find_size(*descriptor, name) >= 0) {
      *reason << "line 2: size " << name << " occurs twice";
      return false;
    }
    descriptor->sizes.emplace_back(name);
  }
  if (descriptor->sizes.size() > Descriptor::kMaxSizes) {
    *reason << "line 2: expected at most " << int64_t{Descriptor::kMaxSizes}
            << " run-time sizes, got " << static_cast<int64_t>(descriptor->sizes.size());
    return false;
  }
  return true;
}

// Null on success, else what is wrong with the line.
const char* parse_argument(std::string_view line, const Descriptor& descriptor,
                           ArgumentSpec* argument) {
  const std::string_view direction = take_until(' ', &line);
  if (direction != "i" && direction != "o" && direction != "p") return "expected i, o or p";
  argument->is_output = direction == "o";
  if (direction == "p") {
    const std::string_view weight = take_until(' ', &line);
    if (!is_name(weight)) return "expected the weight's name";
    argument->packed_from = std::string(weight);
  }

  const std::string_view name = take_until(' ', &line);
  if (!is_name(name)) return "expected the argument's name";
  argument->name = std::string(name);

  const std::string_view dtype = take_until(' ', &line);
  const NamedType* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                       [&](const NamedType& t) { return t.name == dtype; });
  if (type == std::end(kTypes))
    return "expected a type: bool, i8, u8, i16, u16, i32, bf16, f32 or f64";
  argument->dtype = std::string(dtype);
  argument->type = type->type;

  const std::optional<int64_t> alignment = parse_number(take_until(' ', &line));
  if (!alignment || (*alignment & (*alignment - 1)) != 0)
    return "expected a power of two as alignment";
  argument->alignment = std::max(static_cast<int>(*alignment), type->type.bytes());

  const std::optional<int64_t> rank = parse_number(take_until(' ', &line));
  if (!rank || *rank > Descriptor::kMaxRank) return "expected a rank of at most 64";
  for (int64_t axis = 0; axis < *rank; ++axis) {
    ArgumentExtent extent;
    if (!parse_extent(take_until(' ', &line), descriptor, &extent)) {
      return "expected one extent for each axis, affine in the run-time sizes";
    }
    argument->extents.push_back(std::move(extent));
  }
  return line.empty() ? nullptr : "expected as many extents as the rank";
}

// The only size of the extent that no binding names yet; -1 when there is none or more than one.
int only_unbound_size(const ArgumentExtent& extent, const std::vector<bool>& bound) {
  int found = -1;
  for (const SizeTerm& term : extent.terms) {
    if (bound[static_cast<size_t>(term.size)]) continue;
    if (found >= 0) return -1;
    found = term.size;
  }
  return found;
}

bool bind_next_size(Descriptor* descriptor, std::vector<bool>* bound) {
  for (size_t argument = 0; argument < descriptor->arguments.size(); ++argument) {
    const std::vector<ArgumentExtent>& extents = descriptor->arguments[argument].extents;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const int size = only_unbound_size(extents[axis], *bound);
      if (size < 0) continue;
      descriptor->bindings.push_back({size, static_cast<int>(argument), static_cast<int>(axis)});
      (*bound)[static_cast<size_t>(size)] = true;
      return true;
    }
  }
  return false;
}

bool bind_sizes(Descriptor* descriptor, ErrorMessage* reason) {
  std::vector<bool> bound(descriptor->sizes.size(), false);
  while (bind_next_size(descriptor, &bound)) {
  }
  for (size_t size = 0; size < bound.size(); ++size) {
    if (bound[size]) continue;
    *reason << "no argument's extent says what size " << descriptor->sizes[size] << " is";
    return false;
  }
  return true;
}

}  // namespace

void append_type(const halide_type_t& type, ErrorMessage* message) {
  for (const NamedType& entry : kTypes) {
    if (entry.type == type) {
      *message << entry.name;
      return;
    }
  }
  static constexpr const char* kCodes[] = {"int", "uint", "float", "handle", "bfloat"};
  *message << (type.code < std::size(kCodes) ? kCodes[type.code] : "unknown type ")
           << int64_t{type.bits};
  if (type.lanes != 1) *message << " with " << int64_t{type.lanes} << " lanes";
}

bool parse_descriptor(const char* text, Descriptor* descriptor, ErrorMessage* reason) {
  std::string_view rest = text;
  if (rest.empty() || rest.back() != '\n') {
    *reason << "expected lines that each end";
    return false;
  }
  descriptor->kernel = std::string(take_until('\n', &rest));
  if (descriptor->kernel.empty()) {
    *reason << "line 1: expected the kernel's name";
    return false;
  }
  if (rest.empty()) {
    *reason << "line 2: expected the names of run-time sizes";
    return false;
  }
  if (!parse_sizes(take_until('\n', &rest), descriptor, reason)) return false;
  for (int64_t line = 3; !rest.empty(); ++line) {
    ArgumentSpec argument;
    if (const char* mistake = parse_argument(take_until('\n', &rest), *descriptor, &argument)) {
      *reason << "line " << line << ": " << mistake;
      return false;
    }
    descriptor->arguments.push_back(std::move(argument));
  }
  return bind_sizes(descriptor, reason);
}

}  // namespace emulsion::runtime
