#ifndef EMULSION_DSL_LITERAL_PARSER_H_
#define EMULSION_DSL_LITERAL_PARSER_H_

// Numbers as the text forms write them (expr_text.h), read to the bit: a NaN keeps its payload and
// zero its sign, so that constants survive any number of trips through text.

#include <cstdint>

#include "dsl/text_lexer.h"
#include "dsl/types.h"

namespace emulsion {

struct Literal {
  DType dtype = DType::f32;
  uint64_t bits = 0;
};

// Whether what follows can only be a literal. "-2f" is one, "-(2f)" is a negation.
bool starts_literal(const TextLexer& lexer);
Literal parse_literal(TextLexer* lexer);
// A signalling NaN comes out quiet.
double value_of(const Literal& literal);

}  // namespace emulsion

#endif  // EMULSION_DSL_LITERAL_PARSER_H_
