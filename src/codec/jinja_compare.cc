// Truth, equality, order and membership.
// Called by codec/jinja_eval and the built-ins. Read next: codec/jinja_operators.h.
#include <fmt/format.h>

#include <cmath>

#include "codec/jinja_operators.h"

namespace fathom::codec::jinja {

namespace {

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::kLess:
      return "<";
    case Operator::kLessEqual:
      return "<=";
    case Operator::kGreater:
      return ">";
    default:
      return ">=";
  }
}

// By code point, as UTF-8's bytes are.
int order_of(std::string_view a, std::string_view b) {
  return a.compare(b);
}

template <class T>
bool holds(Operator op, const T& a, const T& b) {
  switch (op) {
    case Operator::kLess:
      return a < b;
    case Operator::kLessEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

bool ordered_numbers(Operator op, const Value& a, const Value& b) {
  if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
    return holds(op, as_double(a), as_double(b));
  }
  return holds(op, as_big(a), as_big(b));
}

bool ordered_items(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  const auto& x = a.as<SequenceObject>().items;
  const auto& y = b.as<SequenceObject>().items;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (!equal(runtime, x[i], y[i])) {
      return ordered(runtime, op, x[i], y[i]);
    }
  }
  return holds(op, x.size(), y.size());
}

bool equal_dicts(Runtime& runtime, const DictObject& a, const DictObject& b) {
  if (a.entries.size() != b.entries.size()) {
    return false;
  }
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key);
    if (other == nullptr || !equal(runtime, value, *other)) {
      return false;
    }
  }
  return true;
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
  return a.size == b.size && (a.size == 0 || a.start == b.start) &&
         (a.size <= 1 || a.step == b.step);
}

}  // namespace

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kNone:
    case Kind::kUndefined:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kBigInt:
    case Kind::kIterator:
    case Kind::kNamespace:
    case Kind::kObject:
      return true;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kView: {
      int64_t n = 0;
      find_length(value, n);
      return n != 0;
    }
  }
  return true;
}

bool equal(Runtime& runtime, const Value& a, const Value& b) {
  const Runtime::Deeper deeper(runtime);
  runtime.charge(1);
  if (a.is_number() && b.is_number()) {
    return same_key(a, b);
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kMissing:
    case Kind::kUndefined:
      return true;
    case Kind::kString:
      runtime.charge(std::min(a.text().size(), b.text().size()) / 64);
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple: {
      const auto& x = a.as<SequenceObject>().items;
      const auto& y = b.as<SequenceObject>().items;
      if (x.size() != y.size()) {
        return false;
      }
      for (size_t i = 0; i < x.size(); ++i) {
        if (!equal(runtime, x[i], y[i])) {
          return false;
        }
      }
      return true;
    }
    case Kind::kDict:
      return equal_dicts(runtime, a.as<DictObject>(), b.as<DictObject>());
    case Kind::kRange:
      return equal_ranges(a.as<RangeObject>(), b.as<RangeObject>());
    case Kind::kView:
      if (a.as<ViewObject>().of == ViewObject::Of::kKeys &&
          b.as<ViewObject>().of == ViewObject::Of::kKeys) {
        int64_t n = 0;
        int64_t m = 0;
        find_length(a, n);
        find_length(b, m);
        Iteration keys(runtime, a);
        bool is_same = n == m;
        for (Value key; is_same && keys.next(key);) {
          is_same = b.as<ViewObject>().dict.as<DictObject>().find(key) != nullptr;
        }
        return is_same;
      }
      return a.object() == b.object();
    default:
      return a.object() == b.object();
  }
}

bool ordered(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  const Runtime::Deeper deeper(runtime);
  runtime.charge(1);
  if (a.is_number() && b.is_number()) {
    return ordered_numbers(op, a, b);
  }
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    runtime.charge(std::min(a.text().size(), b.text().size()) / 64);
    return holds(op, order_of(a.text(), b.text()), 0);
  }
  if (a.kind() == b.kind() && (a.is(Kind::kList) || a.is(Kind::kTuple))) {
    return ordered_items(runtime, op, a, b);
  }
  for (const Value* value : {&a, &b}) {
    if (value->is(Kind::kUndefined)) {
      runtime.refuse_undefined(*value);
    }
  }
  runtime.refuse(fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol(op),
                             type_name(a), type_name(b)));
}

bool less(Runtime& runtime, const Value& a, const Value& b) {
  return ordered(runtime, Operator::kLess, a, b);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString:
      if (!item.is(Kind::kString)) {
        runtime.refuse(
            fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
      }
      runtime.charge(container.text().size() / 64);
      return container.text().find(item.text()) != std::string_view::npos;
    case Kind::kDict:
      return container.as<DictObject>().find(item) != nullptr;
    case Kind::kView:
      if (container.as<ViewObject>().of == ViewObject::Of::kKeys) {
        return container.as<ViewObject>().dict.as<DictObject>().find(item) != nullptr;
      }
      break;
    case Kind::kRange: {
      const auto& range = container.as<RangeObject>();
      if (!item.is_number() || item.is(Kind::kBigInt)) {
        return false;
      }
      const double number = as_double(item);
      if (std::trunc(number) != number || std::fabs(number) > 9e18) {
        return false;
      }
      const int64_t offset = static_cast<int64_t>(number) - range.start;
      return offset % range.step == 0 && offset / range.step >= 0 &&
             offset / range.step < range.size;
    }
    default:
      break;
  }
  if (!is_iterable(container)) {
    runtime.refuse(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  Iteration items(runtime, container);
  for (Value one; items.next(one);) {
    if ((one.is_object() && one.kind() == item.kind() && one.object() == item.object()) ||
        equal(runtime, one, item)) {
      return true;
    }
  }
  return false;
}

bool compare(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::kEqual:
      return equal(runtime, a, b);
    case Operator::kNotEqual:
      return !equal(runtime, a, b);
    case Operator::kIn:
      return contains(runtime, b, a);
    case Operator::kNotIn:
      return !contains(runtime, b, a);
    default:
      return ordered(runtime, op, a, b);
  }
}

}  // namespace fathom::codec::jinja
