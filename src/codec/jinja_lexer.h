// A template's source to tokens, white space control applied: the rules of jinja2's lexer with
// trim_blocks and lstrip_blocks on.
// Called by codec/jinja_parser. Read next: codec/jinja_parser.h.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::codec::jinja {

enum class TokenKind : uint8_t {
  kText,  // outside of tags
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kInteger,
  kFloat,
  kString,  // unescaped
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  uint32_t line;          // from 1
  std::string_view text;  // into the TokenList
};

struct TokenList {
  // What the tokens point into: first the source with line ends made \n and one at the end dropped,
  // then the strings that do not stand in it as they are. Moving a deque moves no string.
  std::deque<std::string> texts;
  std::vector<Token> tokens;  // the last one is kEnd
};

// Errors: kInvalidArgument (invalid UTF-8, an unclosed tag, string or bracket, an unexpected
// character), with the line; kResourceExhausted (more tokens than a template needs).
TokenList tokenize(std::string_view source);

}  // namespace fathom::codec::jinja
