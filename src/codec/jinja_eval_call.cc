// Expressions that call something: their arguments, then methods, macros, filters and tests.
// Called by codec/jinja_eval, codec/jinja_runtime. Read next: codec/jinja_call.cc.
#include <fmt/format.h>

#include "base/check.h"
#include "codec/jinja_builtins.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"

namespace fathom::codec::jinja {

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
    keywords.push_back({key.text(), value, key});
  }
}

}  // namespace

Runtime::Collected Runtime::eval_arguments(const CallArguments& call, const Value* caller) {
  Collected arguments;
  for (const ExprPtr& argument : call.positional) {
    arguments.positional.push_back(eval(*argument));
  }
  if (!call.keywords.empty()) {
    arguments.keywords.reserve(call.keywords.size() + 1);
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
    const Signature* method = callee.attribute->method_of(object.kind());
    if (method != nullptr) {
      if (object.is(Kind::kString)) {
        charge(object.text().size() / 64);
      }
      const Collected arguments = eval_arguments(*expr.call, caller);
      line_ = expr.line;
      return charged(like_markup(object, call_builtin(*this, *method, object, arguments.view())));
    }
    const Value function = known_attribute(object, *callee.attribute, callee.text);
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
  Value result = call_builtin(*this, *expr.builtin, self, arguments.view());
  return charged(is_markup(self) && keeps_markup(expr.text) ? like_markup(self, result)
                                                            : std::move(result));
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
