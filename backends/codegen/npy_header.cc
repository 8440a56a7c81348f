#include "backends/codegen/npy_header.h"

#include <array>
#include <optional>
#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

struct DescrRow {
  DType dtype;
  std::string_view descr;
};
constexpr std::array<DescrRow, 8> kDescrs = {{
    {DType::boolean, "|b1"},
    {DType::i8, "|i1"},
    {DType::u8, "|u1"},
    {DType::i16, "<i2"},
    {DType::u16, "<u2"},
    {DType::i32, "<i4"},
    {DType::f32, "<f4"},
    {DType::f64, "<f8"},
}};
constexpr std::string_view kDescrList = "'|b1', '|i1', '|u1', '<i2', '<u2', '<i4', '<f4' or '<f8'";

// Reads the header, which is the Python literal of a dict with the keys descr, fortran_order and
// shape. Only that grammar is accepted, never Python's expressions.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  NpyHeader parse() {
    expect('{', "an opening brace");
    while (!accept('}')) {
      parse_entry();
      if (accept(',')) continue;
      expect('}', "a comma or the closing brace");
      break;
    }
    skip_space();
    if (at_ != text_.size()) fail_here("only spaces after the closing brace");
    if (!dtype_) fail("{}: npy header: expected the key 'descr', got none", path_);
    if (!fortran_order_) fail("{}: npy header: expected the key 'fortran_order', got none", path_);
    if (!shape_) fail("{}: npy header: expected the key 'shape', got none", path_);
    return NpyHeader{*dtype_, std::move(*shape_)};
  }

 private:
  [[noreturn]] void fail_here(std::string_view expected) const {
    const std::string_view rest = text_.substr(at_);
    fail("{}: npy header, byte {}: expected {}, got {}", path_, at_, expected,
         rest.empty() ? std::string("the end of the header") : npy_quoted(rest));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c, std::string_view what) {
    if (!accept(c)) fail_here(what);
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string_view parse_string(std::string_view what) {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail_here(what);
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail_here("a string with its closing quote");
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }

  template <typename T>
  void require_first(const std::optional<T>& value, std::string_view key) const {
    if (value) fail("{}: npy header: expected the key '{}' once, got it twice", path_, key);
  }

  void parse_entry() {
    const std::string_view key = parse_string("a quoted key or the closing brace");
    expect(':', "a colon");
    if (key == "descr") {
      require_first(dtype_, key);
      dtype_ = parse_descr();
    } else if (key == "fortran_order") {
      require_first(fortran_order_, key);
      fortran_order_ = parse_order();
    } else if (key == "shape") {
      require_first(shape_, key);
      shape_ = parse_shape();
    } else {
      fail("{}: npy header: expected the keys 'descr', 'fortran_order' and 'shape', got {}", path_,
           npy_quoted(key));
    }
  }

  DType parse_descr() {
    const std::string_view descr = parse_string("a quoted dtype, not a structured one");
    for (const DescrRow& row : kDescrs) {
      if (row.descr == descr) return row.dtype;
    }
    const bool big_endian = !descr.empty() && descr[0] == '>';
    fail("{}: npy dtype: expected {}, got {}{}", path_, kDescrList, npy_quoted(descr),
         big_endian ? ", which is big-endian" : "");
  }

  bool parse_order() {
    if (accept_word("False")) return false;
    if (accept_word("True")) {
      fail("{}: npy order: expected C order ('fortran_order': False), got Fortran order", path_);
    }
    fail_here("False or True");
  }

  std::vector<int64_t> parse_shape() {
    expect('(', "a shape in parentheses");
    std::vector<int64_t> shape;
    while (!accept(')')) {
      shape.push_back(parse_extent());
      if (shape.size() > kNpyMaxRank) {
        fail("{}: npy shape: expected a rank of at most {}, got more", path_, kNpyMaxRank);
      }
      if (accept(',')) continue;
      if (shape.size() == 1) fail_here("a comma after the only extent of a shape");
      expect(')', "a comma or the closing parenthesis");
      break;
    }
    return shape;
  }

  int64_t parse_extent() {
    const bool negative = accept('-');
    skip_space();
    const size_t start = at_;
    int64_t value = 0;
    bool overflow = false;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      overflow = overflow || __builtin_mul_overflow(value, int64_t{10}, &value) ||
                 __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value);
    }
    if (at_ == start) fail_here("an extent in decimal digits or the closing parenthesis");
    const std::string_view digits = text_.substr(start, at_ - start);
    if (negative) {
      fail("{}: npy shape: expected extents of at least 0, got a negative one: -{}", path_,
           digits.substr(0, 20));
    }
    if (overflow) {
      fail("{}: npy shape: expected extents below 2^63, got an overflow: {}", path_,
           npy_quoted(digits));
    }
    return value;
  }

  const std::string& path_;
  const std::string_view text_;
  size_t at_ = 0;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<int64_t>> shape_;
};

std::string_view descr_of(const std::string& path, DType dtype) {
  for (const DescrRow& row : kDescrs) {
    if (row.dtype == dtype) return row.descr;
  }
  fail("{}: npy dtype: expected {}, got {}", path, computable_dtypes(), to_string(dtype));
}

}  // namespace

std::string npy_shape_text(const std::vector<int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  }
  return text + ")";
}

NpyHeader parse_npy_header(const std::string& path, std::string_view text) {
  return HeaderParser(path, text).parse();
}

std::string format_npy_header(const std::string& path, const NpyHeader& header) {
  if (header.shape.size() > kNpyMaxRank) {
    fail("{}: npy shape: expected a rank of at most {}, got {}", path, kNpyMaxRank,
         header.shape.size());
  }
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                     descr_of(path, header.dtype), npy_shape_text(header.shape));
}

std::string npy_quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  out += '"';
  if (text.size() > kShown) out += "...";
  return out;
}

}  // namespace emulsion
