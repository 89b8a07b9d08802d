// Expressions: one function for each kind that needs more than a line.
// Called by codec/jinja_runtime. Read next: codec/jinja_eval_call.cc, codec/jinja_operators.h.
#include <algorithm>
#include <array>

#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

// A member that lies somewhere, as most do; null where it has to be made or refused.
const Value* find_member(const Value& object, const Expr& expr) {
  const AttributeInfo& info = *expr.attribute;
  if (object.is(Kind::kDict) && (info.is_plain || expr.kind == ExprKind::kItem)) {
    const Value* found = object.as<DictObject>().find(expr.text);
    return found != nullptr ? found : info.is_plain ? &info.on_dict : nullptr;
  }
  if (object.is(Kind::kString) && info.is_plain) {
    return object.as<StringObject>().is_markup ? nullptr : &info.on_string;
  }
  return object.is(Kind::kNamespace) && info.is_plain
             ? object.as<NamespaceObject>().attributes.find(expr.text)
             : nullptr;
}

}  // namespace

// Large results cost steps, so that no template makes gigabytes out of few evaluations.
Value Runtime::charged(Value value) {
  if (value.is(Kind::kString)) {
    charge(value.text().size() / 16);
  } else if (value.is(Kind::kList) || value.is(Kind::kTuple)) {
    charge(value.as<SequenceObject>().items.size() / 4);
  }
  return value;
}

// The value where it lies, without a copy: in a variable, in a dict, in the program; or in `keep`,
// when it has to be made. It is valid until something else is evaluated.
const Value& Runtime::borrow(const Expr& expr, Value& keep) {
  if (expr.kind == ExprKind::kConst) {
    return expr.constant;
  }
  if (expr.kind == ExprKind::kName) {
    return name_value(expr);
  }
  if (expr.attribute != nullptr) {
    return borrow_member(expr, keep);
  }
  keep = eval(expr);
  return keep;
}

// object.name, and object["name"].
const Value& Runtime::borrow_member(const Expr& expr, Value& keep) {
  const Expr& owner = *expr.parts[0];
  const bool is_nested = owner.kind != ExprKind::kName;
  const Value& object = is_nested ? borrow_owner(owner, keep) : name_value(owner);
  line_ = expr.line;
  if (const Value* found = find_member(object, expr)) {
    return *found;
  }
  const Deeper deeper(*this);
  charge(is_nested ? 0 : 1);
  const Value held = object;  // what follows may assign the variable that it is in
  keep = expr.kind == ExprKind::kItem ? item(held, expr.parts[1]->constant)
                                      : known_attribute(held, *expr.attribute, expr.text);
  return keep;
}

const Value& Runtime::borrow_owner(const Expr& expr, Value& keep) {
  const Deeper deeper(*this);
  charge(1);
  return borrow(expr, keep);
}

Value Runtime::eval(const Expr& expr) {
  if (expr.kind == ExprKind::kConst) {
    return expr.constant;
  }
  if (expr.kind == ExprKind::kName) {
    return name_value(expr);
  }
  if (expr.attribute != nullptr) {
    Value keep;
    const Value& value = borrow_member(expr, keep);
    if (&value == &keep) {
      return keep;
    }
    return value;
  }
  const Deeper deeper(*this);
  charge(1);
  switch (expr.kind) {
    case ExprKind::kConst:
    case ExprKind::kName:
    case ExprKind::kAttribute:
    case ExprKind::kNamespaceAttribute:
      break;
    case ExprKind::kTuple:
      return Value::tuple(eval_parts(expr));
    case ExprKind::kList:
      return Value::list(eval_parts(expr));
    case ExprKind::kDict:
      return eval_dict(expr);
    case ExprKind::kNot:
      return Value::boolean(!holds(*expr.parts[0]));
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
    case ExprKind::kBinary:
      return eval_binary(expr);
    case ExprKind::kConcat:
      return eval_concat(expr);
    case ExprKind::kCompare:
      return Value::boolean(compares(expr));
    case ExprKind::kCondition:
      return eval_condition(expr);
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
  if (holds(*expr.parts[1])) {
    return eval(*expr.parts[0]);
  }
  if (expr.parts[2] != nullptr) {
    return eval(*expr.parts[2]);
  }
  return Value::undefined(
      "the inline if-expression evaluated to false and no else section was defined");
}

bool Runtime::holds_any(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kNot:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kCompare:
      break;
    default: {
      Value keep;
      return is_true(borrow(expr, keep));
    }
  }
  const Deeper deeper(*this);
  charge(1);
  switch (expr.kind) {
    case ExprKind::kNot:
      return !holds(*expr.parts[0]);
    case ExprKind::kAnd:
      return holds(*expr.parts[0]) && holds(*expr.parts[1]);
    case ExprKind::kOr:
      return holds(*expr.parts[0]) || holds(*expr.parts[1]);
    default:
      return compares(expr);
  }
}

// message.role == 'user': no value is copied, and none is made for a role that is not there.
bool Runtime::passes_text_test(const Expr& expr) {
  const Expr& member = *expr.parts[0];
  const Value* value = find_member(name_value(*member.parts[0]), member);
  charge(2);
  if (value == nullptr) {
    return compares_two(expr);
  }
  line_ = expr.line;
  const bool is_equal = value->is(Kind::kString) && value->text() == expr.parts[1]->constant.text();
  return is_equal == (expr.compares[0] == Operator::kEqual);
}

bool Runtime::compares(const Expr& expr) {
  if (expr.compares.size() == 1) {
    return compares_two(expr);
  }
  Value left = eval(*expr.parts[0]);
  for (size_t i = 0; i < expr.compares.size(); ++i) {
    Value right = eval(*expr.parts[i + 1]);
    line_ = expr.line;
    if (!compare(*this, expr.compares[i], left, right)) {
      return false;
    }
    left = std::move(right);
  }
  return true;
}

bool Runtime::compares_two(const Expr& expr) {
  const Operator op = expr.compares[0];
  const Expr& other = *expr.parts[1];
  Value keep_left;
  Value keep_right;
  if (other.kind == ExprKind::kConst || other.kind == ExprKind::kName) {
    const Value& left = borrow(*expr.parts[0], keep_left);
    const Value& right = borrow(other, keep_right);
    line_ = expr.line;
    if (right.is(Kind::kIterator)) {  // may run anything while it is looked through
      const Value held = left;
      return compare(*this, op, held, right);
    }
    return compare(*this, op, left, right);
  }
  if (other.is_constant && (op == Operator::kIn || op == Operator::kNotIn)) {
    const Value& left = borrow(*expr.parts[0], keep_left);
    line_ = expr.line;
    return is_among(other.parts, left) == (op == Operator::kIn);
  }
  const Value left = eval(*expr.parts[0]);
  const Value& right = borrow(other, keep_right);
  line_ = expr.line;
  return compare(*this, op, left, right);
}

// `in` a list of constants, which is not made for it.
bool Runtime::is_among(const std::vector<ExprPtr>& constants, const Value& value) {
  charge(1 + constants.size() / 4);
  return std::any_of(constants.begin(), constants.end(), [&](const ExprPtr& constant) {
    charge(1);
    return equal(*this, constant->constant, value);
  });
}

Value Runtime::eval_binary(const Expr& expr) {
  Value left = eval(*expr.parts[0]);
  Value keep;
  const Value& right = borrow(*expr.parts[1], keep);
  line_ = expr.line;
  return charged(expr.op == Operator::kAdd ? add(*this, std::move(left), right)
                                           : binary(*this, expr.op, left, right));
}

Value Runtime::eval_concat(const Expr& expr) {
  TextBuilder out;
  Value keep;
  for (const ExprPtr& part : expr.parts) {
    print(*this, out, borrow(*part, keep));
  }
  return charged(out.take());
}

// "set x = x + ..." and "set x = x ~ ...": what the target holds is let go of before the operation,
// so that a list or text that grows from turn to turn is not copied at each.
Value Runtime::eval_growth(const Expr& target, const Expr& expr) {
  const Deeper deeper(*this);
  charge(1);
  Value first = eval(*expr.parts[0]);
  ShortList others;
  for (size_t i = 1; i < expr.parts.size(); ++i) {
    others.push_back(eval(*expr.parts[i]));
  }
  line_ = expr.line;
  release(target, first);
  if (expr.kind == ExprKind::kBinary) {
    return charged(add(*this, std::move(first), others.view()[0]));
  }
  TextBuilder out;
  if (first.is(Kind::kString) && first.object()->is_unique()) {
    out.start_with(std::move(first));
  } else {
    print(*this, out, first);
  }
  for (const Value& other : others.view()) {
    print(*this, out, other);
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

}  // namespace fathom::codec::jinja
