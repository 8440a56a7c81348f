#ifndef EMULSION_DSL_EXPR_PARSER_H_
#define EMULSION_DSL_EXPR_PARSER_H_

// Reads back what expr_text.h writes. Everything is made by the checked constructors of dsl/expr.h
// and dsl/tensor.h, so text can say nothing that the C++ interface refuses; their Error gets the
// place in front.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/literal_parser.h"
#include "dsl/tensor.h"
#include "dsl/text_lexer.h"

namespace emulsion {

// The names that an expression may use. An axis hides a run-time size of the same name.
struct ExprScope {
  std::map<std::string, OpPtr> tensors;
  std::set<std::string> sizes;
  std::vector<Axis> axes;
};

// Runs `make`; an Error without a place gets the place of `token`, a ScheduleError stays one.
template <typename Make>
auto at_place(const Token& token, const Make& make) {
  try {
    return make();
  } catch (const TextError&) {
    throw;
  } catch (const ScheduleError& error) {
    throw ScheduleError(fmt::format("{}: {}", place_of(token), error.what()));
  } catch (const Error& error) {
    fail_at(token, error.what());
  }
}

Expr parse_expr(TextLexer* lexer, const ExprScope& scope);
// "2*B + 1", over the sizes that are known.
Extent parse_extent(TextLexer* lexer, const std::set<std::string>& sizes);
// "m: B, n: 512" up to `close`, which is taken too.
std::vector<Axis> parse_axes(TextLexer* lexer, const std::set<std::string>& sizes,
                             const std::string& close);
// The right-hand side of an operation: an expression, or a combiner over reduction axes in front of
// one. Those axes are added to the scope.
Expr parse_body(TextLexer* lexer, ExprScope* scope);

}  // namespace emulsion

#endif  // EMULSION_DSL_EXPR_PARSER_H_
