#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/expr_parser.h"
#include "dsl/graph_text.h"
#include "dsl/group_kind.h"
#include "dsl/literal_parser.h"
#include "dsl/text_lexer.h"

namespace emulsion {
namespace {

constexpr int kVersion = 1;
constexpr const char* kStatements =
    "size, input, weight, constant, fused, output or name[axes] = ...";

void append_bits(uint64_t bits, DType dtype, std::vector<uint8_t>* bytes) {
  size_t size = static_cast<size_t>(size_in_bytes(dtype));
  size_t at = bytes->size();
  bytes->resize(at + size);
  std::memcpy(bytes->data() + at, &bits, size);  // little-endian, as all our targets are
}

class GraphParser {
 public:
  explicit GraphParser(const std::string& text) : lexer_(text) {}

  Graph parse() {
    lexer_.expect_header("graph", kVersion);
    for (lexer_.skip_newlines(); lexer_.peek().kind != TokenKind::end; lexer_.skip_newlines()) {
      parse_statement();
    }
    if (outputs_.empty()) {
      fail_at(lexer_.peek(), "expected at least one line 'output NAME', got end of text");
    }
    return Graph(std::move(ops_), std::move(outputs_), std::move(groups_));
  }

 private:
  void parse_statement() {
    Token first = lexer_.expect_name(kStatements);
    if (lexer_.peek().is("[")) {
      add(parse_compute(first));
      lexer_.expect_end_of_line();
      return;
    }
    if (first.text == "size") {
      parse_size();
    } else if (first.text == "input" || first.text == "weight") {
      parse_argument(first.text == "input");
    } else if (first.text == "constant") {
      parse_constant();
    } else if (first.text == "fused" || first.text.substr(0, 6) == "fused_") {
      parse_group(first);
    } else if (first.text == "output") {
      parse_output();
    } else {
      fail_expected(first, kStatements);
    }
    lexer_.expect_end_of_line();
  }

  // Names are unique across sizes, operations and members of fused operations.
  void claim(const Token& name) {
    if (!taken_.insert(name.str()).second) {
      fail_at(name, fmt::format("expected a name that is not used yet, got '{}' again", name.text));
    }
  }

  void add(OpPtr op) {
    scope_.tensors[op->name] = op;
    ops_.push_back(std::move(op));
  }

  void parse_size() {
    Token name = lexer_.expect_name("the name of a run-time size");
    claim(name);
    at_place(name, [&] { return Extent::size(name.str()); });
    scope_.sizes.insert(name.str());
  }

  DType parse_type() {
    Token token = lexer_.expect_name("a type");
    std::optional<DType> dtype = parse_dtype(token.str());
    if (!dtype) fail_expected(token, "a type (" + computable_dtypes() + ")");
    return *dtype;
  }

  Shape parse_shape() {
    Shape shape;
    lexer_.expect("[");
    if (lexer_.accept("]")) return shape;
    do {
      shape.push_back(parse_extent(&lexer_, scope_.sizes));
    } while (lexer_.accept(","));
    if (!lexer_.accept("]")) fail_expected(lexer_.peek(), "',' or ']'");
    return shape;
  }

  void parse_argument(bool is_input) {
    Token name = lexer_.expect_name("the name of an argument");
    claim(name);
    lexer_.expect(":");
    DType dtype = parse_type();
    Shape shape = parse_shape();
    add(at_place(name, [&] {
      Tensor made = is_input ? input(name.str(), dtype, shape) : weight(name.str(), dtype, shape);
      return made.op();
    }));
  }

  void parse_constant() {
    Token name = lexer_.expect_name("the name of a constant");
    claim(name);
    lexer_.expect(":");
    DType dtype = parse_type();
    Shape shape = parse_shape();
    lexer_.expect("=");
    bool hex = lexer_.peek().is("hex");
    if (hex) lexer_.next();
    if (!lexer_.accept("{")) fail_expected(lexer_.peek(), "'{' or 'hex {'");
    std::vector<uint8_t> bytes = hex ? parse_hex(dtype) : parse_values(dtype);
    add(at_place(name, [&] { return constant(name.str(), dtype, shape, std::move(bytes)).op(); }));
  }

  std::vector<uint8_t> parse_values(DType dtype) {
    std::vector<uint8_t> bytes;
    if (lexer_.accept("}")) return bytes;
    do {
      Token at = lexer_.peek();
      Literal literal = parse_literal(&lexer_);
      if (literal.dtype != dtype) {
        fail_at(at, fmt::format("expected a value of type {}, got one of type {}", to_string(dtype),
                                to_string(literal.dtype)));
      }
      append_bits(literal.bits, dtype, &bytes);
    } while (lexer_.accept(","));
    if (!lexer_.accept("}")) fail_expected(lexer_.peek(), "',' or '}'");
    return bytes;
  }

  std::vector<uint8_t> parse_hex(DType dtype) {
    std::vector<uint8_t> bytes;
    size_t digits = 2 * static_cast<size_t>(size_in_bytes(dtype));
    for (lexer_.skip_newlines(); !lexer_.accept("}"); lexer_.skip_newlines()) {
      Token token = lexer_.next();
      uint64_t bits = 0;
      const char* last = token.text.data() + token.text.size();
      auto [stop, error] = std::from_chars(token.text.data(), last, bits, 16);
      bool word = token.kind == TokenKind::name || token.kind == TokenKind::number;
      if (!word || token.text.size() != digits || error != std::errc() || stop != last) {
        fail_expected(
            token, fmt::format("a {} of {} hexadecimal digits, or '}}'", to_string(dtype), digits));
      }
      append_bits(bits, dtype, &bytes);
    }
    return bytes;
  }

  OpPtr parse_compute(const Token& name) {
    claim(name);
    lexer_.expect("[");
    scope_.axes = parse_axes(&lexer_, scope_.sizes, "]");
    std::vector<Axis> axes = scope_.axes;
    lexer_.expect("=");
    Expr body = parse_body(&lexer_, &scope_);
    scope_.axes.clear();
    return at_place(name, [&] { return compute(name.str(), std::move(axes), body).op(); });
  }

  void parse_group(const Token& word) {
    Token name = lexer_.expect_name("the name of a fused operation");
    if (lexer_.peek().is("over")) {
      parse_loop_group(word, name);
    } else {
      parse_fused(name);
    }
  }

  static void check_last(const Token& name, const std::vector<OpPtr>& members, size_t from) {
    if (members.size() > from && members.back()->name == name.text) return;
    fail_at(name,
            fmt::format("expected the name of the last member ({}), got '{}'",
                        members.size() > from ? members.back()->name : "there is none", name.text));
  }

  // The members see each other; after the closing brace only the result, the last of them, can be
  // read.
  void parse_fused(const Token& name) {
    lexer_.expect("{");
    auto op = std::make_shared<Op>();
    for (lexer_.skip_newlines(); !lexer_.accept("}"); lexer_.skip_newlines()) {
      Token member = lexer_.expect_name("a member, name[axes] = ..., or '}'");
      if (!lexer_.peek().is("[")) fail_expected(lexer_.peek(), "'[' and the axes of a member");
      OpPtr made = parse_compute(member);
      lexer_.expect_end_of_line();
      scope_.tensors[made->name] = made;
      op->members.push_back(std::move(made));
    }
    for (const OpPtr& member : op->members) scope_.tensors.erase(member->name);
    check_last(name, op->members, 0);
    op->kind = OpKind::fused;
    op->name = name.str();
    op->dtype = op->members.back()->dtype;
    op->shape = op->members.back()->shape;
    add(std::move(op));
  }

  // Its members are operations of the graph, of which the same holds, but for rows, of which others
  // may be kept.
  void parse_loop_group(const Token& word, const Token& name) {
    const std::optional<LoopGroupKind> kind = loop_kind_in(word.text);
    if (!kind) {
      fail_expected(word,
                    "fused_rows, fused_columns, fused_row_blocks, fused_windows or "
                    "fused_waiting_sums in front of what shares loops");
    }
    const Token over = lexer_.next();
    lexer_.expect("[");
    std::vector<std::string> axes;
    do {
      axes.push_back(lexer_.expect_name("an axis of the last member").str());
    } while (lexer_.accept(","));
    if (!lexer_.accept("]")) fail_expected(lexer_.peek(), "',' or ']'");
    lexer_.expect("{");
    const size_t from = ops_.size();
    for (lexer_.skip_newlines(); !lexer_.accept("}"); lexer_.skip_newlines()) {
      Token member = lexer_.expect_name("a member, name[axes] = ..., or '}'");
      if (lexer_.peek().is("[")) {
        add(parse_compute(member));
      } else if (member.text.substr(0, 5) == "fused") {
        parse_fused(lexer_.expect_name("the name of a fused operation"));
      } else {
        fail_expected(lexer_.peek(), "'[' and the axes of a member");
      }
      lexer_.expect_end_of_line();
    }
    check_last(name, ops_, from);
    LoopGroup group{*kind, {ops_.begin() + static_cast<std::ptrdiff_t>(from), ops_.end()}, {}};
    if (group.members.size() == 1) fail_at(name, "expected several members, got one");
    group.axes = shared_axes(over, axes, *kind, *group.members.back());
    const bool keeps_some = *kind == LoopGroupKind::rows;  // others may read them
    for (const OpPtr& member : group.members) {
      if (!keeps_some && member != group.members.back()) scope_.tensors.erase(member->name);
    }
    groups_.push_back(std::move(group));
  }

  // The positions of the axes of `last` that say which part of a loop group there is at a time.
  static std::vector<size_t> shared_axes(const Token& over, const std::vector<std::string>& names,
                                         LoopGroupKind kind, const Op& last) {
    const std::vector<Axis>& its = result_of(last).axes;
    const bool is_columns = kind == LoopGroupKind::columns;
    const bool any = is_columns || kind == LoopGroupKind::rows;
    std::vector<size_t> positions;
    for (const std::string& name : names) {
      const std::optional<size_t> at = axis_index(its, name);
      const bool follows =
          at && (any ? positions.empty() || *at > positions.back() : *at == positions.size());
      if (!follows) {
        fail_at(over, fmt::format("expected {} of {} in their order, got {}",
                                  any ? "axes" : "the first axes", last.name, name));
      }
      positions.push_back(*at);
    }
    if (is_columns && positions.back() + 1 != its.size()) {
      fail_at(over, fmt::format("expected the last axis of {} among those of its columns, got {}",
                                last.name, names.back()));
    }
    return positions;
  }

  void parse_output() {
    Token name = lexer_.expect_name("the name of an operation");
    auto found = scope_.tensors.find(name.str());
    if (found == scope_.tensors.end()) {
      std::vector<std::string> legal;
      for (const OpPtr& op : ops_) {
        if (scope_.tensors.count(op->name) > 0) legal.push_back(op->name);
      }
      fail_expected(name, fmt::format("an operation that stands above ({})", list_names(legal)));
    }
    if (!output_names_.insert(name.str()).second) {
      fail_at(name, fmt::format("expected distinct outputs, got '{}' twice", name.text));
    }
    outputs_.push_back(found->second);
  }

  TextLexer lexer_;
  ExprScope scope_;  // its axes: of the operation that is being read
  std::set<std::string> taken_;
  std::set<std::string> output_names_;
  std::vector<OpPtr> ops_;
  std::vector<OpPtr> outputs_;
  std::vector<LoopGroup> groups_;
};

}  // namespace

Graph parse_graph(const std::string& text) { return GraphParser(text).parse(); }

}  // namespace emulsion
