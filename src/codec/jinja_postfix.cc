// What follows a primary: attributes, subscripts, calls, filters and tests.
// Called by codec/jinja_parser. Read next: codec/jinja_statements.cc.
#include <fmt/format.h>

#include "codec/jinja_parser.h"

namespace fathom::codec::jinja {

ExprPtr ExpressionParser::parse_postfix(ExprPtr node) {
  while (true) {
    if (is_operator(".") || is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::parse_filter_expr(ExprPtr node) {
  while (true) {
    if (is_operator("|")) {
      node = parse_filters(std::move(node), false);
    } else if (is_word("is")) {
      node = parse_test(std::move(node));
    } else if (is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr node) {
  const Token& token = take();
  if (token.text == ".") {
    const Token& name = take();
    if (name.kind == TokenKind::kName) {
      ExprPtr attribute = make(ExprKind::kAttribute, token.line);
      attribute->text = name.text;
      add_part(*attribute, std::move(node));
      return attribute;
    }
    if (name.kind != TokenKind::kInteger) {
      refuse("expected name or number", name.line);
    }
    ExprPtr item = make(ExprKind::kItem, token.line);
    add_part(*item, std::move(node));
    add_part(*item, make_number(name));
    return item;
  }
  ExprPtr item = make(ExprKind::kItem, token.line);
  add_part(*item, std::move(node));
  // "start:stop:step" with any of them left out, or one expression.
  const Nested nested(*this);
  const auto at_end = [&] { return is_operator("]") || is_operator(",") || is_operator(":"); };
  ExprPtr first = is_operator(":") ? nullptr : parse_expression();
  if (!take_operator(":")) {
    if (is_operator(",")) {  // a tuple as the key
      ExprPtr tuple = make(ExprKind::kTuple, token.line);
      add_part(*tuple, std::move(first));
      while (take_operator(",") && !is_operator("]")) {
        add_part(*tuple, parse_expression());
      }
      first = std::move(tuple);
    }
    add_part(*item, std::move(first));
  } else {
    item->kind = ExprKind::kSlice;
    add_part(*item, std::move(first));
    add_part(*item, at_end() ? nullptr : parse_expression());
    add_part(*item, take_operator(":") && !at_end() ? parse_expression() : nullptr);
  }
  expect_operator("]");
  return item;
}

ExprPtr ExpressionParser::parse_call(ExprPtr node) {
  ExprPtr call = make(ExprKind::kCall, current().line);
  add_part(*call, std::move(node));
  call->call = parse_arguments(*call);
  return call;
}

std::unique_ptr<CallArguments> ExpressionParser::parse_arguments(Expr& node) {
  const Nested nested(*this);
  const uint32_t line = current().line;
  expect_operator("(");
  auto arguments = std::make_unique<CallArguments>();
  const auto ensure = [&](bool is_right) {
    if (!is_right) {
      refuse("invalid syntax for function call expression", line);
    }
  };
  const auto parse_one = [&] {
    ExprPtr value = parse_expression();
    add_part(node, std::move(value));  // for the depth; taken out again
    value = std::move(node.parts.back());
    node.parts.pop_back();
    return value;
  };
  bool is_first = true;
  while (!is_operator(")")) {
    if (!is_first) {
      expect_operator(",");
      if (is_operator(")")) {
        break;
      }
    }
    is_first = false;
    if (take_operator("*")) {
      ensure(arguments->star == nullptr && arguments->double_star == nullptr);
      arguments->star = parse_one();
    } else if (take_operator("**")) {
      ensure(arguments->double_star == nullptr);
      arguments->double_star = parse_one();
    } else if (current().kind == TokenKind::kName && following().kind == TokenKind::kOperator &&
               following().text == "=") {
      ensure(arguments->double_star == nullptr);
      std::string name(take().text);
      take();
      for (const auto& [other, value] : arguments->keywords) {
        if (other == name) {
          refuse(fmt::format("keyword argument repeated: {}", name));
        }
      }
      arguments->keywords.emplace_back(std::move(name), parse_one());
    } else {
      ensure(arguments->star == nullptr && arguments->double_star == nullptr &&
             arguments->keywords.empty());
      arguments->positional.push_back(parse_one());
    }
  }
  expect_operator(")");
  return arguments;
}

ExprPtr ExpressionParser::parse_filters(ExprPtr node, bool start_inline) {
  while (is_operator("|") || start_inline) {
    if (!start_inline) {
      take();
    }
    start_inline = false;
    ExprPtr filter = make(ExprKind::kFilter, current().line);
    filter->text = expect_name();
    while (take_operator(".")) {
      filter->text += '.' + expect_name();
    }
    add_part(*filter, std::move(node));
    filter->call = is_operator("(") ? parse_arguments(*filter) : std::make_unique<CallArguments>();
    node = std::move(filter);
  }
  return node;
}

ExprPtr ExpressionParser::parse_test(ExprPtr node) {
  ExprPtr test = make(ExprKind::kTest, take().line);
  const bool is_negated = take_word("not");
  test->text = expect_name();
  while (take_operator(".")) {
    test->text += '.' + expect_name();
  }
  add_part(*test, std::move(node));
  const TokenKind kind = current().kind;
  const bool has_argument = kind == TokenKind::kName || kind == TokenKind::kString ||
                            kind == TokenKind::kInteger || kind == TokenKind::kFloat ||
                            is_operator("[") || is_operator("{");
  if (is_operator("(")) {
    test->call = parse_arguments(*test);
  } else {
    test->call = std::make_unique<CallArguments>();
    if (has_argument && !is_word("else") && !is_word("or") && !is_word("and")) {
      if (is_word("is")) {
        refuse("You cannot chain multiple tests with is");
      }
      ExprPtr value = parse_postfix(parse_primary(false));
      add_part(*test, std::move(value));
      test->call->positional.push_back(std::move(test->parts.back()));
      test->parts.pop_back();
    }
  }
  if (!is_negated) {
    return test;
  }
  ExprPtr negation = make(ExprKind::kNot, test->line);
  add_part(*negation, std::move(test));
  return negation;
}

}  // namespace fathom::codec::jinja
