// Expressions: one function for each kind that needs more than a line.
// Called by codec/jinja_runtime. Read next: codec/jinja_operators.h, codec/jinja_attribute.cc.
#include <fmt/format.h>

#include "base/check.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

// Large results cost steps, so that no template makes gigabytes out of few evaluations.
Value Runtime::charged(Value value) {
  if (value.is(Kind::kString)) {
    charge(value.text().size() / 16);
  } else if (value.is(Kind::kList) || value.is(Kind::kTuple)) {
    charge(value.as<SequenceObject>().items.size() / 4);
  }
  return value;
}

// The value where it lies, or null: names, constants and keys of dicts need no copy. It is valid
// until something else is evaluated.
const Value* Runtime::find_value(const Expr& expr) {
  if (expr.kind == ExprKind::kConst) {
    return &expr.constant;
  }
  if (expr.kind == ExprKind::kName) {
    const Value& value = slot(expr.place);
    return value.is_missing() ? nullptr : &value;
  }
  if (expr.kind != ExprKind::kAttribute || !expr.is_plain ||
      expr.parts[0]->kind != ExprKind::kName) {
    return nullptr;
  }
  const Value& object = slot(expr.parts[0]->place);
  if (object.is(Kind::kDict)) {
    return object.as<DictObject>().find(expr.text);
  }
  const bool is_str = object.is(Kind::kString) && !object.as<StringObject>().is_markup;
  return is_str ? &expr.constant : nullptr;
}

Value Runtime::eval(const Expr& expr) {
  if (expr.kind == ExprKind::kConst) {
    return expr.constant;
  }
  if (expr.kind == ExprKind::kName) {
    return eval_name(expr);
  }
  const Deeper deeper(*this);
  charge(1);
  switch (expr.kind) {
    case ExprKind::kConst:
    case ExprKind::kName:
    case ExprKind::kNamespaceAttribute:
      break;
    case ExprKind::kTuple:
      return Value::tuple(eval_parts(expr));
    case ExprKind::kList:
      return Value::list(eval_parts(expr));
    case ExprKind::kDict:
      return eval_dict(expr);
    case ExprKind::kNot:
      return Value::boolean(!is_true_expr(*expr.parts[0]));
    case ExprKind::kNegative:
      return negative(*this, eval(*expr.parts[0]));
    case ExprKind::kPositive:
      return positive(*this, eval(*expr.parts[0]));
    case ExprKind::kAnd: {
      Value left = eval(*expr.parts[0]);
      return is_true(left) ? eval(*expr.parts[1]) : left;
    }
    case ExprKind::kOr: {
      Value left = eval(*expr.parts[0]);
      return is_true(left) ? left : eval(*expr.parts[1]);
    }
    case ExprKind::kBinary: {
      const Value left = eval(*expr.parts[0]);
      const Value right = eval(*expr.parts[1]);
      line_ = expr.line;
      return charged(binary(*this, expr.op, left, right));
    }
    case ExprKind::kConcat:
      return eval_concat(expr);
    case ExprKind::kCompare:
      return eval_compare(expr);
    case ExprKind::kCondition:
      return eval_condition(expr);
    case ExprKind::kAttribute: {
      if (const Value* value = find_value(expr)) {
        return *value;
      }
      const Value object = eval(*expr.parts[0]);
      line_ = expr.line;
      return expr.is_plain ? plain_attribute(object, expr.text) : attribute(object, expr.text);
    }
    case ExprKind::kItem: {
      const Value object = eval(*expr.parts[0]);
      const Value key = eval(*expr.parts[1]);
      line_ = expr.line;
      return item(object, key);
    }
    case ExprKind::kSlice:
      return eval_slice(expr);
    case ExprKind::kCall:
      return eval_call(expr, nullptr);
    case ExprKind::kFilter:
      return eval_filter(expr, nullptr);
    case ExprKind::kTest:
      return eval_test(expr);
  }
  return {};
}

Value Runtime::eval_name(const Expr& expr) {
  const Value& value = slot(expr.place);
  return value.is_missing() ? Value::undefined_name(expr.text) : value;
}

// The usual case, role of a message: a key of a dict and no name of Python's.
Value Runtime::plain_attribute(const Value& object, const std::string& name) {
  if (object.is(Kind::kDict)) {
    const Value* value = object.as<DictObject>().find(name);
    return value != nullptr ? *value : Value::undefined_attribute("dict", name);
  }
  return object.is(Kind::kString) ? Value::undefined_attribute(type_name(object), name)
                                  : attribute(object, name);
}

std::vector<Value> Runtime::eval_parts(const Expr& expr) {
  std::vector<Value> values;
  values.reserve(expr.parts.size());
  for (const ExprPtr& part : expr.parts) {
    values.push_back(eval(*part));
  }
  return values;
}

Value Runtime::eval_dict(const Expr& expr) {
  auto* dict = new DictObject;
  Value value(Kind::kDict, dict);
  for (size_t i = 0; i < expr.parts.size(); i += 2) {
    Value key = eval(*expr.parts[i]);
    Value item = eval(*expr.parts[i + 1]);
    dict->set(std::move(key), std::move(item));
  }
  return value;
}

Value Runtime::eval_condition(const Expr& expr) {
  if (is_true_expr(*expr.parts[1])) {
    return eval(*expr.parts[0]);
  }
  if (expr.parts[2] != nullptr) {
    return eval(*expr.parts[2]);
  }
  return Value::undefined(
      "the inline if-expression evaluated to false and no else section was defined");
}

// For if, elif and the operators that only ask whether something holds.
bool Runtime::is_true_expr(const Expr& expr) {
  const Value* value = find_value(expr);
  return value != nullptr ? is_true(*value) : is_true(eval(expr));
}

Value Runtime::eval_compare(const Expr& expr) {
  if (expr.compares.size() == 1 && expr.parts[1]->kind == ExprKind::kConst) {
    // The usual case, a role: what lies somewhere beside a constant.
    if (const Value* left = find_value(*expr.parts[0])) {
      line_ = expr.line;
      return Value::boolean(compare(*this, expr.compares[0], *left, expr.parts[1]->constant));
    }
  }
  Value left = eval(*expr.parts[0]);
  for (size_t i = 0; i < expr.compares.size(); ++i) {
    Value right = eval(*expr.parts[i + 1]);
    line_ = expr.line;
    if (!compare(*this, expr.compares[i], left, right)) {
      return Value::boolean(false);
    }
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Runtime::eval_concat(const Expr& expr) {
  TextBuilder out;
  for (const ExprPtr& part : expr.parts) {
    print(*this, out, eval(*part));
  }
  return charged(out.take());
}

Value Runtime::eval_slice(const Expr& expr) {
  const Value object = eval(*expr.parts[0]);
  std::array<Value, 3> bounds;
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (expr.parts[i + 1] != nullptr) {
      bounds[i] = eval(*expr.parts[i + 1]);
    }
  }
  line_ = expr.line;
  return charged(like_markup(object, slice(*this, object, bounds[0], bounds[1], bounds[2])));
}

namespace {

// The members of a mapping given after **.
void add_keywords(Runtime& runtime, const Value& more, std::vector<Keyword>& keywords) {
  if (!more.is(Kind::kDict)) {
    runtime.refuse(fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
  }
  for (const auto& [key, value] : more.as<DictObject>().entries) {
    if (!key.is(Kind::kString)) {
      runtime.refuse("keywords must be strings");
    }
    for (const Keyword& other : keywords) {
      if (other.name == key.text()) {
        runtime.refuse(fmt::format("got multiple values for keyword argument '{}'", other.name));
      }
    }
    keywords.push_back({std::string(key.text()), value});
  }
}

}  // namespace

Runtime::Collected Runtime::eval_arguments(const CallArguments& call, const Value* caller) {
  Collected arguments;
  arguments.positional.reserve(call.positional.size());
  for (const ExprPtr& argument : call.positional) {
    arguments.positional.push_back(eval(*argument));
  }
  for (const auto& [name, argument] : call.keywords) {
    arguments.keywords.push_back({name, eval(*argument)});
  }
  if (caller != nullptr) {
    arguments.keywords.push_back({"caller", *caller});
  }
  if (call.star != nullptr) {
    const Value more = eval(*call.star);
    Iteration items(*this, more);
    for (Value item; items.next(item);) {
      arguments.positional.push_back(item);
    }
  }
  if (call.double_star != nullptr) {
    add_keywords(*this, eval(*call.double_star), arguments.keywords);
  }
  return arguments;
}

Value Runtime::eval_call(const Expr& expr, const Value* caller) {
  const Expr& callee = *expr.parts[0];
  if (callee.kind == ExprKind::kAttribute) {
    // A method: called at once, without a value for the bound method.
    const Value object = eval(*callee.parts[0]);
    line_ = expr.line;
    const Signature* method = callee.is_plain ? nullptr : find_method(object.kind(), callee.text);
    if (method != nullptr) {
      if (object.is(Kind::kString)) {
        charge(object.text().size() / 64);
      }
      const Collected arguments = eval_arguments(*expr.call, caller);
      line_ = expr.line;
      return charged(like_markup(object, call_builtin(*this, *method, object, arguments.view())));
    }
    const Value function = attribute(object, callee.text);
    const Collected arguments = eval_arguments(*expr.call, caller);
    line_ = expr.line;
    return charged(call(function, arguments.view()));
  }
  const Value function = eval(callee);
  const Collected arguments = eval_arguments(*expr.call, caller);
  line_ = expr.line;
  return charged(call(function, arguments.view()));
}

Value Runtime::eval_filter(const Expr& expr, const Value* block_text) {
  const Deeper deeper(*this);
  // In a filter block the innermost filter has no value of its own.
  Value self;
  if (expr.parts[0] == nullptr) {
    FATHOM_CHECK(block_text != nullptr);
    self = *block_text;
  } else if (block_text != nullptr && expr.parts[0]->kind == ExprKind::kFilter) {
    self = eval_filter(*expr.parts[0], block_text);
  } else {
    self = eval(*expr.parts[0]);
  }
  if (expr.builtin == nullptr) {
    line_ = expr.line;
    refuse(fmt::format("No filter named '{}' found.", expr.text));
  }
  const Collected arguments = eval_arguments(*expr.call, nullptr);
  line_ = expr.line;
  if (self.is(Kind::kString)) {
    charge(self.text().size() / 64);
  }
  const Value result = call_builtin(*this, *expr.builtin, self, arguments.view());
  return charged(keeps_markup(expr.text) ? like_markup(self, result) : result);
}

Value Runtime::eval_test(const Expr& expr) {
  const Value self = eval(*expr.parts[0]);
  if (expr.builtin == nullptr) {
    line_ = expr.line;
    refuse(fmt::format("No test named '{}' found.", expr.text));
  }
  const Collected arguments = eval_arguments(*expr.call, nullptr);
  line_ = expr.line;
  return call_builtin(*this, *expr.builtin, self, arguments.view());
}

}  // namespace fathom::codec::jinja
