// Expressions, weakest operator first; each function is one line of the grammar.
#include "codec/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "codec/jinja_text.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kMaxNesting = 120;      // brackets, blocks and unary operators within each other
constexpr uint16_t kMaxTreeDepth = 250;  // a long sum is a deep tree
constexpr size_t kMaxNodes = 1'000'000;

struct NamedOperator {
  std::string_view text;
  Operator op;
};

constexpr std::array<NamedOperator, 6> kCompares = {{{"==", Operator::kEqual},
                                                     {"!=", Operator::kNotEqual},
                                                     {"<", Operator::kLess},
                                                     {"<=", Operator::kLessEqual},
                                                     {">", Operator::kGreater},
                                                     {">=", Operator::kGreaterEqual}}};
constexpr std::array<NamedOperator, 4> kProducts = {{{"*", Operator::kMultiply},
                                                     {"/", Operator::kDivide},
                                                     {"//", Operator::kFloorDivide},
                                                     {"%", Operator::kModulo}}};

bool is_constant_word(std::string_view word) {
  return word == "true" || word == "false" || word == "none" || word == "True" || word == "False" ||
         word == "None";
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "template data / text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kString:
      return "string";
    case TokenKind::kEnd:
      return "end of template";
    case TokenKind::kName:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kOperator:
      break;
  }
  return std::string(token.text);
}

ExpressionParser::Nested::Nested(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ > kMaxNesting) {
    --parser_.nesting_;
    fail(ErrorCode::kResourceExhausted,
         fmt::format(
             "chat template, line {}: nested more than {} levels deep; simplify the template",
             parser_.current().line, kMaxNesting));
  }
}

void ExpressionParser::refuse(const std::string& what, uint32_t line) const {
  fail(ErrorCode::kInvalidArgument,
       fmt::format("chat template, line {}: {}; correct the template", line, what));
}

void ExpressionParser::refuse(const std::string& what) const {
  refuse(what, current().line);
}

const Token& ExpressionParser::take() {
  const Token& token = tokens_[at_];
  at_ += at_ + 1 < tokens_.size() ? 1 : 0;
  return token;
}

bool ExpressionParser::take_operator(std::string_view text) {
  const bool is_here = is_operator(text);
  if (is_here) {
    take();
  }
  return is_here;
}

bool ExpressionParser::take_word(std::string_view text) {
  const bool is_here = is_word(text);
  if (is_here) {
    take();
  }
  return is_here;
}

void ExpressionParser::expect_operator(std::string_view text) {
  if (!take_operator(text)) {
    refuse(fmt::format("expected token '{}', got '{}'", text, describe(current())));
  }
}

void ExpressionParser::expect_word(std::string_view text) {
  if (!take_word(text)) {
    refuse(fmt::format("expected token '{}', got '{}'", text, describe(current())));
  }
}

std::string ExpressionParser::expect_name() {
  if (current().kind != TokenKind::kName) {
    refuse(fmt::format("expected token 'name', got '{}'", describe(current())));
  }
  return std::string(take().text);
}

void ExpressionParser::expect(TokenKind kind) {
  if (current().kind != kind) {
    refuse(fmt::format("expected token '{}', got '{}'", describe(Token{kind, 0, {}}),
                       describe(current())));
  }
  take();
}

ExprPtr ExpressionParser::make(ExprKind kind, uint32_t line) {
  if (++n_nodes_ > kMaxNodes) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("chat template, line {}: more than {} parts of expressions", line, kMaxNodes));
  }
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

void ExpressionParser::add_part(Expr& node, ExprPtr part) {
  if (part != nullptr) {
    if (part->depth >= kMaxTreeDepth) {
      fail(ErrorCode::kResourceExhausted,
           fmt::format("chat template, line {}: an expression of more than {} levels; split it",
                       node.line, kMaxTreeDepth));
    }
    node.depth = std::max<uint16_t>(node.depth, static_cast<uint16_t>(part->depth + 1));
  }
  node.parts.push_back(std::move(part));
}

ExprPtr ExpressionParser::make_binary(ExprKind kind, Operator op, ExprPtr left, ExprPtr right) {
  ExprPtr node = make(kind, left->line);
  node->op = op;
  add_part(*node, std::move(left));
  add_part(*node, std::move(right));
  return node;
}

ExprPtr ExpressionParser::parse_expression(bool with_condition) {
  const Nested nested(*this);
  return with_condition ? parse_condition() : parse_or();
}

ExprPtr ExpressionParser::parse_condition() {
  const Nested nested(*this);
  ExprPtr value = parse_or();
  while (take_word("if")) {
    ExprPtr node = make(ExprKind::kCondition, value->line);
    add_part(*node, std::move(value));
    add_part(*node, parse_or());
    add_part(*node, take_word("else") ? parse_condition() : nullptr);
    value = std::move(node);
  }
  return value;
}

ExprPtr ExpressionParser::parse_or() {
  ExprPtr left = parse_and();
  while (take_word("or")) {
    left = make_binary(ExprKind::kOr, Operator::kAdd, std::move(left), parse_and());
  }
  return left;
}

ExprPtr ExpressionParser::parse_and() {
  ExprPtr left = parse_not();
  while (take_word("and")) {
    left = make_binary(ExprKind::kAnd, Operator::kAdd, std::move(left), parse_not());
  }
  return left;
}

ExprPtr ExpressionParser::parse_not() {
  if (!is_word("not")) {
    return parse_compare();
  }
  const Nested nested(*this);
  ExprPtr node = make(ExprKind::kNot, take().line);
  add_part(*node, parse_not());
  return node;
}

ExprPtr ExpressionParser::parse_compare() {
  ExprPtr first = parse_sum();
  ExprPtr node;
  const auto add = [&](Operator op) {
    if (node == nullptr) {
      node = make(ExprKind::kCompare, first->line);
      add_part(*node, std::move(first));
    }
    node->compares.push_back(op);
    add_part(*node, parse_sum());
  };
  while (true) {
    const auto* found = std::find_if(kCompares.begin(), kCompares.end(), [&](const auto& compare) {
      return is_operator(compare.text);
    });
    if (found != kCompares.end()) {
      take();
      add(found->op);
    } else if (take_word("in")) {
      add(Operator::kIn);
    } else if (is_word("not") && following().kind == TokenKind::kName && following().text == "in") {
      take();
      take();
      add(Operator::kNotIn);
    } else {
      return node != nullptr ? std::move(node) : std::move(first);
    }
  }
}

ExprPtr ExpressionParser::parse_sum() {
  ExprPtr left = parse_concat();
  while (is_operator("+") || is_operator("-")) {
    const Operator op = take().text == "+" ? Operator::kAdd : Operator::kSubtract;
    left = make_binary(ExprKind::kBinary, op, std::move(left), parse_concat());
  }
  return left;
}

ExprPtr ExpressionParser::parse_concat() {
  ExprPtr first = parse_product();
  if (!is_operator("~")) {
    return first;
  }
  ExprPtr node = make(ExprKind::kConcat, first->line);
  add_part(*node, std::move(first));
  while (take_operator("~")) {
    add_part(*node, parse_product());
  }
  return node;
}

ExprPtr ExpressionParser::parse_product() {
  ExprPtr left = parse_power();
  while (true) {
    const auto* found = std::find_if(kProducts.begin(), kProducts.end(), [&](const auto& product) {
      return is_operator(product.text);
    });
    if (found == kProducts.end()) {
      return left;
    }
    take();
    left = make_binary(ExprKind::kBinary, found->op, std::move(left), parse_power());
  }
}

ExprPtr ExpressionParser::parse_power() {
  ExprPtr left = parse_unary(true);
  while (take_operator("**")) {
    left = make_binary(ExprKind::kBinary, Operator::kPower, std::move(left), parse_unary(true));
  }
  return left;
}

ExprPtr ExpressionParser::parse_unary(bool with_filter) {
  ExprPtr node;
  if (is_operator("-") || is_operator("+")) {
    const Nested nested(*this);
    const Token& sign = take();
    node = make(sign.text == "-" ? ExprKind::kNegative : ExprKind::kPositive, sign.line);
    add_part(*node, parse_unary(false));
  } else {
    node = parse_primary(false);
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_expr(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::make_string(std::string text, uint32_t line) {
  ExprPtr node = make(ExprKind::kConst, line);
  auto object = std::make_unique<StringObject>();
  object->n_chars = count_chars(text);
  object->bytes = std::move(text);
  object->make_immortal();
  node->constant = Value(Kind::kString, object.get());
  node->owned = std::move(object);
  return node;
}

ExprPtr ExpressionParser::make_number(const Token& token) {
  ExprPtr node = make(ExprKind::kConst, token.line);
  const std::string digits = without_underscores(token.text);
  if (token.kind == TokenKind::kFloat) {
    node->constant = Value::real(std::strtod(digits.c_str(), nullptr));
    return node;
  }
  uint32_t base = 10;
  std::string_view rest = digits;
  if (rest.size() > 2 && rest[0] == '0' && rest[1] > '9') {
    const char letter = static_cast<char>(rest[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
    rest.remove_prefix(2);
  }
  if (rest.size() > 4300) {
    refuse("an integer of more than 4300 digits");
  }
  node->constant = Value::integer(BigInt::parse(rest, base).value_or(BigInt()));
  if (node->constant.is_object()) {
    node->constant.object()->make_immortal();
    node->owned.reset(node->constant.object());
  }
  return node;
}

ExprPtr ExpressionParser::parse_primary(bool with_namespace) {
  const Token& token = current();
  if (token.kind == TokenKind::kName) {
    take();
    ExprPtr node = make(ExprKind::kConst, token.line);
    if (token.text == "true" || token.text == "True") {
      node->constant = Value::boolean(true);
    } else if (token.text == "false" || token.text == "False") {
      node->constant = Value::boolean(false);
    } else if (token.text == "none" || token.text == "None") {
      node->constant = Value::none();
    } else {
      node->kind = ExprKind::kName;
      node->text = token.text;
      if (with_namespace && take_operator(".")) {
        ExprPtr outer = make(ExprKind::kNamespaceAttribute, token.line);
        outer->text = expect_name();
        add_part(*outer, std::move(node));
        return outer;
      }
    }
    return node;
  }
  if (token.kind == TokenKind::kString) {
    std::string text;
    while (current().kind == TokenKind::kString) {
      text += take().text;
    }
    return make_string(std::move(text), token.line);
  }
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
    return make_number(take());
  }
  if (take_operator("(")) {
    ExprPtr node = parse_tuple(true, {}, true);
    expect_operator(")");
    return node;
  }
  if (is_operator("[")) {
    return parse_list();
  }
  if (is_operator("{")) {
    return parse_dict();
  }
  refuse(fmt::format("unexpected '{}'", describe(token)));
}

ExprPtr ExpressionParser::parse_list() {
  const Nested nested(*this);
  ExprPtr node = make(ExprKind::kList, take().line);
  while (!is_operator("]")) {
    if (!node->parts.empty()) {
      expect_operator(",");
      if (is_operator("]")) {
        break;
      }
    }
    add_part(*node, parse_expression());
  }
  expect_operator("]");
  return node;
}

ExprPtr ExpressionParser::parse_dict() {
  const Nested nested(*this);
  ExprPtr node = make(ExprKind::kDict, take().line);
  while (!is_operator("}")) {
    if (!node->parts.empty()) {
      expect_operator(",");
      if (is_operator("}")) {
        break;
      }
    }
    add_part(*node, parse_expression());
    expect_operator(":");
    add_part(*node, parse_expression());
  }
  expect_operator("}");
  return node;
}

bool ExpressionParser::is_tuple_end(EndWord end_word) const {
  return current().kind == TokenKind::kVariableEnd || current().kind == TokenKind::kBlockEnd ||
         is_operator(")") || (!end_word.empty() && is_word(end_word));
}

ExprPtr ExpressionParser::parse_tuple(bool with_condition, EndWord end_word, bool in_parentheses) {
  ExprPtr tuple = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (!is_tuple_end(end_word)) {
    add_part(*tuple, parse_expression(with_condition));
    if (!is_operator(",")) {
      break;
    }
    take();
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!tuple->parts.empty()) {
      return std::move(tuple->parts[0]);
    }
    if (!in_parentheses) {
      refuse(fmt::format("Expected an expression, got '{}'", describe(current())));
    }
  }
  return tuple;
}

ExprPtr ExpressionParser::parse_target(EndWord end_word, bool with_namespace) {
  const Nested nested(*this);
  ExprPtr tuple = make(ExprKind::kTuple, current().line);
  bool is_tuple = false;
  while (!is_tuple_end(end_word)) {
    ExprPtr target;
    if (take_operator("(")) {
      target = parse_target({}, false);
      expect_operator(")");
    } else {
      target = parse_primary(with_namespace);
    }
    if (target->kind != ExprKind::kName && target->kind != ExprKind::kNamespaceAttribute &&
        target->kind != ExprKind::kTuple) {
      refuse("can't assign to this expression", target->line);
    }
    add_part(*tuple, std::move(target));
    if (!take_operator(",")) {
      break;
    }
    is_tuple = true;
  }
  if (tuple->parts.empty()) {
    refuse(fmt::format("Expected an expression, got '{}'", describe(current())));
  }
  return is_tuple ? std::move(tuple) : std::move(tuple->parts[0]);
}

ExprPtr ExpressionParser::parse_name_target() {
  ExprPtr node = make(ExprKind::kName, current().line);
  node->text = expect_name();
  if (is_constant_word(node->text)) {
    refuse("can't assign to 'name'", node->line);
  }
  return node;
}

}  // namespace fathom::codec::jinja
