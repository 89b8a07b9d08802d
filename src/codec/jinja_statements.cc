// Statements: what stands between {% and %}.
// Called by codec/jinja_template. Read next: codec/jinja_scope.h.
#include <fmt/format.h>

#include <algorithm>

#include "codec/jinja_parser.h"

namespace fathom::codec::jinja {

namespace {

class StatementParser : private ExpressionParser {
 public:
  explicit StatementParser(const TokenList& tokens) : ExpressionParser(tokens) {}

  Body parse() {
    Body body = parse_until({});
    if (current().kind != TokenKind::kEnd) {
      refuse("internal parsing error");
    }
    return body;
  }

 private:
  using Words = std::vector<std::string_view>;

  [[noreturn]] void refuse_end(std::string_view name) {
    std::string message = name.empty() ? "Unexpected end of template."
                                       : fmt::format("Encountered unknown tag '{}'.", name);
    if (!ends_.empty()) {
      message += fmt::format(" Jinja was looking for the following tags: '{}'.",
                             fmt::join(ends_.back(), "' or '"));
    }
    if (!open_tags_.empty()) {
      message +=
          fmt::format(" The innermost block that needs to be closed is '{}'", open_tags_.back());
    }
    refuse(message);
  }

  static StmtPtr make(StmtKind kind, uint32_t line) {
    auto statement = std::make_unique<Stmt>();
    statement->kind = kind;
    statement->line = line;
    return statement;
  }

  // Statements up to a tag whose name is one of `ends`; that name is the current token then.
  Body parse_until(const Words& ends) {
    Body body;
    while (current().kind != TokenKind::kEnd) {
      const Token& token = take();
      if (token.kind == TokenKind::kText) {
        body.push_back(make(StmtKind::kText, token.line));
        body.back()->text = token.text;
      } else if (token.kind == TokenKind::kVariableBegin) {
        body.push_back(make(StmtKind::kOutput, token.line));
        body.back()->exprs.push_back(parse_tuple());
        expect(TokenKind::kVariableEnd);
      } else {
        if (std::any_of(ends.begin(), ends.end(), [&](auto word) { return is_word(word); })) {
          return body;
        }
        parse_statement(body);
        expect(TokenKind::kBlockEnd);
      }
    }
    if (!ends.empty()) {
      refuse_end({});
    }
    return body;
  }

  // The body of a block, after its opening tag's content.
  Body parse_body(const Words& ends) {
    const Nested nested(*this);
    take_operator(":");
    expect(TokenKind::kBlockEnd);
    ends_.push_back(ends);
    Body body = parse_until(ends);
    ends_.pop_back();
    return body;
  }

  void parse_statement(Body& out) {
    if (current().kind != TokenKind::kName) {
      refuse("tag name expected");
    }
    const Token& tag = take();
    open_tags_.push_back(tag.text);
    if (tag.text == "print") {
      parse_print(tag.line, out);
    } else {
      out.push_back(parse_tag(tag.text, tag.line));
    }
    open_tags_.pop_back();
  }

  StmtPtr parse_tag(std::string_view tag, uint32_t line) {
    if (tag == "if") {
      return parse_if(line);
    }
    if (tag == "for") {
      return parse_for(line);
    }
    if (tag == "set") {
      return parse_set(line);
    }
    if (tag == "macro") {
      return parse_macro(line);
    }
    if (tag == "call") {
      return parse_call_block(line);
    }
    if (tag == "filter") {
      return parse_filter_block(line);
    }
    if (tag == "with") {
      return parse_with(line);
    }
    if (tag == "generation") {
      StmtPtr statement = make(StmtKind::kGeneration, line);
      statement->function = std::make_unique<FunctionInfo>();
      close(*statement, "endgeneration");
      return statement;
    }
    if (tag == "break" || tag == "continue") {
      return make(tag == "break" ? StmtKind::kBreak : StmtKind::kContinue, line);
    }
    if (tag == "block") {
      return parse_block(line);
    }
    if (tag == "autoescape") {
      refuse("autoescape is not supported: chat templates render plain text", line);
    }
    if (tag == "include" || tag == "import" || tag == "extends" || tag == "from") {
      return parse_loading(tag, line);
    }
    open_tags_.pop_back();
    refuse_end(tag);
  }

  void close(Stmt& statement, std::string_view end) {
    statement.bodies.push_back(parse_body({end}));
    take();
  }

  void parse_print(uint32_t line, Body& out) {
    bool is_first = true;
    while (current().kind != TokenKind::kBlockEnd) {
      if (!is_first) {
        expect_operator(",");
      }
      is_first = false;
      out.push_back(make(StmtKind::kOutput, line));
      out.back()->exprs.push_back(parse_expression());
    }
  }

  StmtPtr parse_if(uint32_t line) {
    StmtPtr statement = make(StmtKind::kIf, line);
    while (true) {
      statement->exprs.push_back(parse_tuple(false));
      statement->bodies.push_back(parse_body({"elif", "else", "endif"}));
      const std::string_view end = take().text;
      if (end == "else") {
        close(*statement, "endif");
      }
      if (end != "elif") {
        return statement;
      }
    }
  }

  StmtPtr parse_for(uint32_t line) {
    StmtPtr statement = make(StmtKind::kFor, line);
    statement->exprs.push_back(parse_target("in", false));
    expect_word("in");
    statement->exprs.push_back(parse_tuple(false, "recursive"));
    statement->exprs.push_back(take_word("if") ? parse_expression() : nullptr);
    statement->is_recursive = take_word("recursive");
    if (statement->is_recursive) {
      statement->function = std::make_unique<FunctionInfo>();
    }
    statement->bodies.push_back(parse_body({"endfor", "else"}));
    if (take().text == "endfor") {
      statement->bodies.emplace_back();
    } else {
      close(*statement, "endfor");
    }
    return statement;
  }

  StmtPtr parse_set(uint32_t line) {
    ExprPtr target = parse_target({}, true);
    if (take_operator("=")) {
      StmtPtr statement = make(StmtKind::kSet, line);
      statement->exprs.push_back(std::move(target));
      statement->exprs.push_back(parse_tuple());
      return statement;
    }
    StmtPtr statement = make(StmtKind::kSetBlock, line);
    statement->exprs.push_back(std::move(target));
    statement->exprs.push_back(parse_filters(nullptr, false));
    close(*statement, "endset");
    return statement;
  }

  void parse_parameters(FunctionInfo& function) {
    expect_operator("(");
    while (!is_operator(")")) {
      if (!function.parameters.empty()) {
        expect_operator(",");
      }
      Parameter parameter;
      parameter.name = parse_name_target()->text;
      if (take_operator("=")) {
        parameter.default_value = parse_expression();
      } else if (!function.parameters.empty() &&
                 function.parameters.back().default_value != nullptr) {
        refuse("non-default argument follows default argument");
      }
      for (const Parameter& other : function.parameters) {
        if (other.name == parameter.name) {
          refuse(fmt::format("duplicate argument '{}' in function definition", parameter.name));
        }
      }
      function.parameters.push_back(std::move(parameter));
    }
    expect_operator(")");
  }

  StmtPtr parse_macro(uint32_t line) {
    StmtPtr statement = make(StmtKind::kMacro, line);
    statement->exprs.push_back(parse_name_target());
    statement->text = statement->exprs[0]->text;
    statement->function = std::make_unique<FunctionInfo>();
    parse_parameters(*statement->function);
    close(*statement, "endmacro");
    return statement;
  }

  StmtPtr parse_call_block(uint32_t line) {
    StmtPtr statement = make(StmtKind::kCallBlock, line);
    statement->function = std::make_unique<FunctionInfo>();
    if (is_operator("(")) {
      parse_parameters(*statement->function);
    }
    statement->exprs.push_back(parse_expression());
    if (statement->exprs[0]->kind != ExprKind::kCall) {
      refuse("expected call", line);
    }
    close(*statement, "endcall");
    return statement;
  }

  StmtPtr parse_filter_block(uint32_t line) {
    StmtPtr statement = make(StmtKind::kFilterBlock, line);
    statement->exprs.push_back(parse_filters(nullptr, true));
    close(*statement, "endfilter");
    return statement;
  }

  StmtPtr parse_with(uint32_t line) {
    StmtPtr statement = make(StmtKind::kWith, line);
    while (current().kind != TokenKind::kBlockEnd) {
      if (!statement->exprs.empty()) {
        expect_operator(",");
      }
      statement->exprs.push_back(parse_target({}, false));
      expect_operator("=");
      statement->exprs.push_back(parse_expression());
    }
    close(*statement, "endwith");
    return statement;
  }

  StmtPtr parse_block(uint32_t line) {
    StmtPtr statement = make(StmtKind::kBlock, line);
    statement->text = expect_name();
    statement->is_scoped = take_word("scoped");
    if (take_word("required")) {
      refuse("a required block needs a template that extends this one");
    }
    if (is_operator("-")) {
      refuse("Block names in Jinja have to be valid identifiers and may not contain hyphens");
    }
    statement->function = std::make_unique<FunctionInfo>();
    close(*statement, "endblock");
    take_word(statement->text);
    return statement;
  }

  // There is no loader: these are read, and refused when they run.
  StmtPtr parse_loading(std::string_view tag, uint32_t line) {
    StmtPtr statement = make(StmtKind::kNoLoader, line);
    statement->exprs.push_back(parse_expression());
    if (tag == "import") {
      expect_word("as");
      parse_name_target();
    } else if (tag == "from") {
      expect_word("import");
    }
    while (current().kind != TokenKind::kBlockEnd && current().kind != TokenKind::kEnd) {
      take();
    }
    return statement;
  }

  std::vector<std::string_view> open_tags_;
  std::vector<Words> ends_;
};

}  // namespace

Body parse_template(const TokenList& tokens) {
  return StatementParser(tokens).parse();
}

}  // namespace fathom::codec::jinja
