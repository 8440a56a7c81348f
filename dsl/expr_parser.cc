#include "dsl/expr_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/stack_room.h"

namespace emulsion {
namespace {

// Everything that walks an expression does so by recursion: these keep hostile text off the stack's
// end. What is printed has no more parentheses, brackets and unary operators inside one another
// than operations.
constexpr auto kMaxHeight = static_cast<int>(ExprSize::kMostHeight);  // also a + b + c + ...
constexpr int kMaxNesting = kMaxHeight;
// So many levels of nesting take little of the smallest stack.
constexpr int kLevelsBetweenRooms = 32;

struct InfixToken {
  const char* symbol;
  ExprOp op;
  int precedence;
};

constexpr InfixToken kInfix[] = {
    {"||", ExprOp::logical_or, 1}, {"&&", ExprOp::logical_and, 2}, {"==", ExprOp::eq, 3},
    {"!=", ExprOp::ne, 3},         {"<", ExprOp::lt, 4},           {"<=", ExprOp::le, 4},
    {">", ExprOp::gt, 4},          {">=", ExprOp::ge, 4},          {"+", ExprOp::add, 5},
    {"-", ExprOp::sub, 5},         {"*", ExprOp::mul, 6},          {"/", ExprOp::div, 6},
    {"%", ExprOp::mod, 6},
};

constexpr ExprOp kUnaryFunctions[] = {ExprOp::abs,   ExprOp::exp,  ExprOp::log,   ExprOp::sqrt,
                                      ExprOp::tanh,  ExprOp::erf,  ExprOp::floor, ExprOp::ceil,
                                      ExprOp::round, ExprOp::trunc};
constexpr ExprOp kBinaryFunctions[] = {ExprOp::pow, ExprOp::min, ExprOp::max};
constexpr Combiner kCombiners[] = {Combiner::sum, Combiner::product, Combiner::min, Combiner::max};

constexpr const char* kExpression = "an expression";

std::string functions() {
  return "abs, exp, log, sqrt, tanh, erf, floor, ceil, round, trunc, pow, min, max, select, size, "
         "inf, nan or a type (" +
         computable_dtypes() + ")";
}

Extent parse_extent_name(TextLexer* lexer, const std::set<std::string>& sizes) {
  Token name = lexer->expect_name("an extent: a number or a run-time size");
  if (!sizes.count(name.str())) {
    fail_expected(name, fmt::format("a run-time size ({})", list_names(sizes)));
  }
  return Extent::size(name.str());
}

class ExprParser {
 public:
  ExprParser(TextLexer* lexer, const ExprScope& scope) : lexer_(*lexer), scope_(scope) {}

  Expr parse() { return parse_binary(0).expr; }

 private:
  struct Tree {
    Expr expr;
    int height = 1;
  };

  class Nested {
   public:
    Nested(ExprParser* parser, const Token& token) : parser_(*parser) {
      if (++parser_.nesting_ > kMaxNesting) {
        fail_at(token, fmt::format("expected at most {} levels of nesting", kMaxNesting));
      }
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    ExprParser& parser_;
  };

  template <typename Make>
  static Tree grow(const Token& token, int height, const Make& make) {
    if (height + 1 > kMaxHeight) {
      fail_at(token, fmt::format("expected an expression of at most {} levels", kMaxHeight));
    }
    return {at_place(token, make), height + 1};
  }

  // Deep text goes on upon a large stack where this one is short.
  template <typename Parse>
  Tree parse_inside(const Parse& parse) {
    if (nesting_ % kLevelsBetweenRooms != 0) return parse();
    Tree tree;
    with_stack_room([&] { tree = parse(); });
    return tree;
  }
  Tree parse_inside() {
    return parse_inside([&] { return parse_binary(0); });
  }

  Tree parse_binary(int lowest) {
    Tree left = parse_unary();
    while (lexer_.peek().kind == TokenKind::symbol) {
      const InfixToken* infix =
          std::find_if(std::begin(kInfix), std::end(kInfix),
                       [&](auto& entry) { return lexer_.peek().text == entry.symbol; });
      if (infix == std::end(kInfix) || infix->precedence < lowest) break;
      Token token = lexer_.next();
      Tree right = parse_binary(infix->precedence + 1);
      left = grow(token, std::max(left.height, right.height),
                  [&] { return binary(infix->op, left.expr, right.expr); });
    }
    return left;
  }

  Tree parse_unary() {
    if (starts_literal(lexer_)) return parse_constant();
    Token token = lexer_.peek();
    if (token.kind == TokenKind::symbol && (token.text == "-" || token.text == "!")) {
      lexer_.next();
      // "-(" is one level: "--a" prints as "-(-a)", and what can be read can be read again.
      std::optional<Nested> nested;
      if (!lexer_.peek().is("(")) nested.emplace(this, token);
      Tree operand = parse_inside([&] { return parse_unary(); });
      ExprOp op = token.text == "-" ? ExprOp::neg : ExprOp::logical_not;
      return grow(token, operand.height, [&] { return unary(op, operand.expr); });
    }
    if (lexer_.accept("(")) {
      Nested nested(this, token);
      Tree inner = parse_inside();
      lexer_.expect(")");
      return inner;
    }
    if (token.kind != TokenKind::name) fail_expected(token, kExpression);
    lexer_.next();
    if (lexer_.peek().is("[")) return parse_read(token);
    if (lexer_.peek().is("(")) return parse_call(token);
    return {parse_name(token), 1};
  }

  Tree parse_constant() {
    Token token = lexer_.peek();
    Literal literal = parse_literal(&lexer_);
    return {at_place(token, [&] { return constant(literal.dtype, value_of(literal)); }), 1};
  }

  Expr parse_name(const Token& token) {
    std::string name = token.str();
    if (axis_index(scope_.axes, name)) return axis_value(name);
    if (scope_.sizes.count(name)) return size_value(name);
    if (scope_.tensors.count(name)) {
      fail_at(lexer_.peek(), fmt::format("expected '[' and the indices of {}, got {}", name,
                                         describe(lexer_.peek())));
    }
    std::vector<std::string> legal;
    for (const Axis& axis : scope_.axes) legal.push_back(axis.name());
    legal.insert(legal.end(), scope_.sizes.begin(), scope_.sizes.end());
    fail_expected(token,
                  fmt::format("{} ({})", scope_.axes.empty() ? "a size" : "an axis or a size",
                              list_names(legal)));
  }

  Tree parse_read(const Token& token) {
    auto found = scope_.tensors.find(token.str());
    if (found == scope_.tensors.end()) {
      std::vector<std::string> legal;
      for (const auto& [name, op] : scope_.tensors) legal.push_back(name);
      fail_expected(token, fmt::format("an operation that stands above ({})", list_names(legal)));
    }
    int height = 0;
    std::vector<Expr> indices = parse_list(token, "[", "]", &height);
    return grow(token, height, [&] { return Tensor(found->second).at(std::move(indices)); });
  }

  std::vector<Expr> parse_list(const Token& token, const char* open, const char* close,
                               int* height) {
    Nested nested(this, token);
    std::vector<Expr> args;
    lexer_.expect(open);
    if (lexer_.accept(close)) return args;
    do {
      Tree arg = parse_inside();
      *height = std::max(*height, arg.height);
      args.push_back(std::move(arg.expr));
    } while (lexer_.accept(","));
    if (!lexer_.accept(close)) fail_expected(lexer_.peek(), fmt::format("',' or '{}'", close));
    return args;
  }

  Tree parse_call(const Token& token) {
    std::string name = token.str();
    if (name == "size") return {parse_size(), 1};
    std::optional<DType> to = parse_dtype(name);
    const ExprOp *function = nullptr, *of_two = nullptr;
    for (const ExprOp& op : kUnaryFunctions) {
      if (to_string(op) == name) function = &op;
    }
    for (const ExprOp& op : kBinaryFunctions) {
      if (to_string(op) == name) of_two = &op;
    }
    bool reduction = false;
    for (Combiner combiner : kCombiners) reduction = reduction || to_string(combiner) == name;
    TextLexer ahead = lexer_;
    ahead.next();
    ahead.next();
    if (reduction && (ahead.peek().is(":") || name == "sum" || name == "product")) {
      fail_at(token, fmt::format("expected {} over axes only at the start of an operation, right "
                                 "behind '='",
                                 name));
    }
    size_t arity = name == "select" ? 3 : of_two ? 2 : 1;
    if (arity == 1 && !to && !function) fail_expected(token, functions());

    int height = 0;
    std::vector<Expr> args = parse_list(token, "(", ")", &height);
    if (args.size() != arity) {
      fail_at(token, fmt::format("{}: expected {} argument{}, got {}", name, arity,
                                 arity == 1 ? "" : "s", args.size()));
    }
    return grow(token, height, [&] {
      if (to) return cast(*to, args[0]);
      if (function) return unary(*function, args[0]);
      if (of_two) return binary(*of_two, args[0], args[1]);
      return select(args[0], args[1], args[2]);
    });
  }

  Expr parse_size() {
    lexer_.expect("(");
    Token name = lexer_.expect_name("a run-time size");
    if (!scope_.sizes.count(name.str())) {
      fail_expected(name, fmt::format("a run-time size ({})", list_names(scope_.sizes)));
    }
    lexer_.expect(")");
    return size_value(name.str());
  }

  TextLexer& lexer_;
  const ExprScope& scope_;
  int nesting_ = 0;
};

}  // namespace

Expr parse_expr(TextLexer* lexer, const ExprScope& scope) {
  return ExprParser(lexer, scope).parse();
}

Extent parse_extent(TextLexer* lexer, const std::set<std::string>& sizes) {
  Extent total;
  bool negative = lexer->accept("-");
  while (true) {
    Token token = lexer->peek();
    Extent term;
    if (token.kind == TokenKind::number) {
      term = Extent(to_integer(token, negative, "an extent"));
      lexer->next();
      negative = false;
      if (lexer->accept("*")) {
        Token name = lexer->peek();
        Extent size = parse_extent_name(lexer, sizes);
        term = at_place(name, [&] { return term * size; });
      }
    } else {
      term = parse_extent_name(lexer, sizes);
    }
    total = at_place(token, [&] { return negative ? total - term : total + term; });
    if (lexer->accept("+")) {
      negative = false;
    } else if (lexer->accept("-")) {
      negative = true;
    } else {
      return total;
    }
  }
}

std::vector<Axis> parse_axes(TextLexer* lexer, const std::set<std::string>& sizes,
                             const std::string& close) {
  std::vector<Axis> axes;
  if (lexer->accept(close)) return axes;
  do {
    Token name = lexer->expect_name("an axis");
    lexer->expect(":");
    Extent extent = parse_extent(lexer, sizes);
    axes.push_back(at_place(name, [&] { return Axis(name.str(), extent); }));
  } while (lexer->accept(","));
  if (!lexer->accept(close)) fail_expected(lexer->peek(), fmt::format("',' or '{}'", close));
  return axes;
}

Expr parse_body(TextLexer* lexer, ExprScope* scope) {
  Token token = lexer->peek();
  for (Combiner combiner : kCombiners) {
    TextLexer ahead = *lexer;
    if (ahead.next().text != to_string(combiner) || !ahead.accept("(")) continue;
    Token first = ahead.next();
    bool reduction = first.kind == TokenKind::name && ahead.peek().is(":");
    bool empty = first.is(")");
    if (!reduction && !empty && combiner != Combiner::sum && combiner != Combiner::product)
      continue;
    lexer->next();
    lexer->expect("(");
    std::vector<Axis> axes = parse_axes(lexer, scope->sizes, ")");
    scope->axes.insert(scope->axes.end(), axes.begin(), axes.end());
    Expr body = parse_expr(lexer, *scope);
    return at_place(token, [&] {
      switch (combiner) {
        case Combiner::sum:
          return sum(axes, body);
        case Combiner::product:
          return product(axes, body);
        case Combiner::min:
          return reduce_min(axes, body);
        default:
          return reduce_max(axes, body);
      }
    });
  }
  return parse_expr(lexer, *scope);
}

}  // namespace emulsion
