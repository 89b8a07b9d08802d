// Tokens to a tree of statements and expressions, by the grammar of jinja2 with the extensions that
// chat templates have: break, continue, generation.
// Called by codec/jinja_template. Read next: codec/jinja_scope.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/jinja_ast.h"
#include "codec/jinja_lexer.h"

namespace fathom::codec::jinja {

// A tree without places: resolve_names() fills those in. Errors: kInvalidArgument with the line and
// what was expected; kResourceExhausted where it is nested too deep.
Body parse_template(const TokenList& tokens);

// The parser's view of the tokens, and expressions; statements are in codec/jinja_statements.cc.
class ExpressionParser {
 public:
  explicit ExpressionParser(const TokenList& list) : tokens_(list.tokens) {}

 protected:
  // What may end a tuple without parentheses, beside the end of the tag.
  using EndWord = std::string_view;

  ExprPtr parse_expression(bool with_condition = true);
  ExprPtr parse_tuple(bool with_condition = true, EndWord end_word = {},
                      bool in_parentheses = false);
  // A name, a tuple of names, and with `with_namespace` also "ns.attribute".
  ExprPtr parse_target(EndWord end_word, bool with_namespace);
  ExprPtr parse_name_target();
  // "filter(args) | filter ..." applied to `node`; null is the text of the block.
  ExprPtr parse_filters(ExprPtr node, bool start_inline);

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }

  [[nodiscard]] const Token& following() const {
    return tokens_[at_ + (at_ + 1 < tokens_.size() ? 1 : 0)];
  }

  [[nodiscard]] bool is_operator(std::string_view text) const {
    return current().kind == TokenKind::kOperator && current().text == text;
  }

  [[nodiscard]] bool is_word(std::string_view text) const {
    return current().kind == TokenKind::kName && current().text == text;
  }

  const Token& take();
  bool take_operator(std::string_view text);
  bool take_word(std::string_view text);
  void expect_operator(std::string_view text);
  void expect_word(std::string_view text);
  std::string expect_name();
  void expect(TokenKind kind);

  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what, uint32_t line) const;

  // Counts levels of nesting while it lives.
  class Nested {
   public:
    explicit Nested(ExpressionParser& parser);
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

    ~Nested() { --parser_.nesting_; }

   private:
    ExpressionParser& parser_;
  };

 private:
  ExprPtr make(ExprKind kind, uint32_t line);
  void add_part(Expr& node, ExprPtr part);
  ExprPtr make_binary(ExprKind kind, Operator op, ExprPtr left, ExprPtr right);
  ExprPtr parse_condition();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filter);
  ExprPtr parse_primary(bool with_namespace);
  ExprPtr parse_postfix(ExprPtr node);
  ExprPtr parse_filter_expr(ExprPtr node);
  ExprPtr parse_test(ExprPtr node);
  ExprPtr parse_subscript(ExprPtr node);
  ExprPtr parse_call(ExprPtr node);
  std::unique_ptr<CallArguments> parse_arguments(Expr& node);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr make_string(std::string text, uint32_t line);
  ExprPtr make_number(const Token& token);
  [[nodiscard]] bool is_tuple_end(EndWord end_word) const;

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
  size_t nesting_ = 0;
  size_t n_nodes_ = 0;
};

// "end of print statement", "'+'" ...: a token as messages name it.
std::string describe(const Token& token);

}  // namespace fathom::codec::jinja
