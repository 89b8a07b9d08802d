// Attributes and items, by the rules of jinja2's immutable sandbox: the attribute of the type
// first, then the item, else an undefined value. Called by codec/jinja_eval and the built-ins. Read
// next: codec/jinja_builtins.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/jinja_builtins.h"
#include "codec/jinja_loop.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

// Names that every Python object has. The sandbox hides them.
constexpr std::array<std::string_view, 24> kInnerNames = {"__class__",
                                                          "__doc__",
                                                          "__init__",
                                                          "__new__",
                                                          "__repr__",
                                                          "__str__",
                                                          "__hash__",
                                                          "__eq__",
                                                          "__ne__",
                                                          "__lt__",
                                                          "__le__",
                                                          "__gt__",
                                                          "__ge__",
                                                          "__dir__",
                                                          "__format__",
                                                          "__getattribute__",
                                                          "__setattr__",
                                                          "__delattr__",
                                                          "__reduce__",
                                                          "__sizeof__",
                                                          "__reduce_ex__",
                                                          "__subclasshook__",
                                                          "__init_subclass__",
                                                          "__getstate__"};

constexpr std::array<std::string_view, 8> kChangeList = {"append", "clear", "pop",    "reverse",
                                                         "insert", "sort",  "extend", "remove"};
constexpr std::array<std::string_view, 5> kChangeDict = {"clear", "pop", "popitem", "setdefault",
                                                         "update"};

bool is_hashable(const Value& value) {
  switch (value.kind()) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      return false;
    case Kind::kTuple: {
      const auto& items = value.as<SequenceObject>().items;
      return std::all_of(items.begin(), items.end(), [](const Value& item) {
        return item.is(Kind::kTuple) ? true : is_hashable(item);
      });
    }
    default:
      return true;
  }
}

Value number_attribute(const Value& number, std::string_view name) {
  if (name == "real") {
    return number.is(Kind::kBool) ? Value::integer(number.as_int()) : number;
  }
  if (name == "imag") {
    return number.is(Kind::kFloat) ? Value::real(0) : Value::integer(int64_t{0});
  }
  if (name == "numerator" && !number.is(Kind::kFloat)) {
    return number.is(Kind::kBool) ? Value::integer(number.as_int()) : number;
  }
  if (name == "denominator" && !number.is(Kind::kFloat)) {
    return Value::integer(int64_t{1});
  }
  return {};
}

// What is no method: kMissing where there is none of this name.
Value plain_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
    case Kind::kFloat:
      return number_attribute(object, name);
    case Kind::kTuple:
      if (object.as<SequenceObject>().is_group && (name == "grouper" || name == "list")) {
        return object.as<SequenceObject>().items[name == "list" ? 1 : 0];
      }
      return {};
    case Kind::kRange: {
      const auto& range = object.as<RangeObject>();
      return name == "start"  ? Value::integer(range.start)
             : name == "stop" ? Value::integer(range.stop)
             : name == "step" ? Value::integer(range.step)
                              : Value();
    }
    case Kind::kNamespace: {
      const Value* value = object.as<NamespaceObject>().attributes.find(name);
      return value != nullptr ? *value : Value();
    }
    case Kind::kObject:
      return object.as<SpecialObject>().attribute(runtime, name);
    default:
      return {};
  }
}

// A method of the type, bound; an undefined value where the sandbox refuses it; kMissing.
Value type_attribute(const Value& object, std::string_view name) {
  if (const Signature* method = find_method(object.kind(), name)) {
    return make_function(*method, object);
  }
  if (is_unsafe_attribute(object.kind(), name)) {
    return Value::undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  }
  return {};
}

// object[key]; kMissing where Python raises a TypeError or a LookupError.
Value plain_item(const Value& object, const Value& key) {
  switch (object.kind()) {
    case Kind::kDict: {
      if (!is_hashable(key)) {
        return {};
      }
      const Value* value = object.as<DictObject>().find(key);
      return value != nullptr ? *value : Value();
    }
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return key.is(Kind::kInt) || key.is(Kind::kBool)
                 ? like_markup(object, at_index(object, key.as_int()))
                 : Value();
    default:
      return {};
  }
}

}  // namespace

bool is_unsafe_attribute(Kind kind, std::string_view name) {
  const auto is_in = [name](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (name.starts_with("__") && is_in(kInnerNames)) ||
         (kind == Kind::kList && is_in(kChangeList)) || (kind == Kind::kDict && is_in(kChangeDict));
}

AttributeInfo::AttributeInfo(std::string_view name) {
  std::array<const Signature*, kKinds> found{};
  is_plain = true;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    found[kind] = find_method(static_cast<Kind>(kind), name);
    may_be_unsafe = may_be_unsafe || is_unsafe_attribute(static_cast<Kind>(kind), name);
    is_plain = is_plain && found[kind] == nullptr && !may_be_unsafe;
  }
  if (!is_plain) {
    methods = std::make_unique<std::array<const Signature*, kKinds>>(found);
    return;
  }
  const auto prepare = [name](UndefinedObject& object, std::string_view owner) {
    object.what = UndefinedObject::What::kAttribute;
    object.owner = owner;
    object.text = name;
    object.make_immortal();
    return Value(Kind::kUndefined, &object);
  };
  on_string = prepare(of_string, "str");
  on_dict = prepare(of_dict, "dict");
}

// object.name of an expression, whose name is known already. `object` is held by the caller.
Value Runtime::known_attribute(const Value& object, const AttributeInfo& info,
                               std::string_view name) {
  if (info.may_be_unsafe || object.is(Kind::kUndefined)) {
    return attribute(object, name);
  }
  if (const Signature* method = info.method_of(object.kind())) {
    return make_function(*method, object);
  }
  return own_attribute(object, name);
}

Value Runtime::attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined) && !is_unsafe_attribute(Kind::kUndefined, name)) {
    refuse_undefined(object);
  }
  if (Value value = type_attribute(object, name); !value.is_missing()) {
    return value;
  }
  return own_attribute(object, name);
}

// What is neither a method nor an inner name.
Value Runtime::own_attribute(const Value& object, std::string_view name) {
  if (Value value = plain_attribute(*this, object, name); !value.is_missing()) {
    return value;
  }
  if (object.is(Kind::kDict)) {
    if (const Value* item = object.as<DictObject>().find(name)) {
      return *item;
    }
  }
  return Value::undefined_attribute(type_name(object), name);
}

Value Runtime::item(const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) {
    refuse_undefined(object);
  }
  if (object.is(Kind::kString)) {
    charge(object.text().size() / 256);
  }
  Value value = plain_item(object, key);
  if (value.is_missing() && object.is(Kind::kObject)) {
    value = object.as<SpecialObject>().attribute(*this, "__getitem__");
  }
  if (!value.is_missing()) {
    return value;
  }
  if (!key.is(Kind::kString)) {
    return Value::undefined(
        fmt::format("{} object has no element {}", type_name(object), to_text(*this, key).text()));
  }
  if (Value bound = type_attribute(object, key.text()); !bound.is_missing()) {
    return bound;
  }
  if (Value own = plain_attribute(*this, object, key.text()); !own.is_missing()) {
    return own;
  }
  return Value::undefined_attribute(type_name(object), key.text());
}

namespace {

const Signature kCycle{"cycle",
                       [](Runtime& runtime, const Bound& args) {
                         return args.self.as<LoopObject>().cycle(runtime, {args.extra, {}});
                       },
                       "", 0, true};
const Signature kChanged{"changed",
                         [](Runtime& runtime, const Bound& args) {
                           return args.self.as<LoopObject>().changed(runtime, {args.extra, {}});
                         },
                         "", 0, true};

}  // namespace

Value LoopObject::attribute(Runtime& runtime, std::string_view name) {
  static_cast<void>(runtime);
  if (name == "index") {
    return Value::integer(index_ + 1);
  }
  if (name == "index0") {
    return Value::integer(index_);
  }
  if (name == "first") {
    return Value::boolean(index_ == 0);
  }
  if (name == "last") {
    return Value::boolean(peek().is_missing());
  }
  if (name == "length" || name == "__len__") {
    return Value::integer(length());
  }
  if (name == "revindex") {
    return Value::integer(length() - index_);
  }
  if (name == "revindex0") {
    return Value::integer(length() - index_ - 1);
  }
  if (name == "previtem") {
    return index_ == 0 ? Value::undefined("there is no previous item") : before_;
  }
  if (name == "nextitem") {
    return peek().is_missing() ? Value::undefined("there is no next item") : peek();
  }
  if (name == "depth") {
    return Value::integer(depth_ + 1);
  }
  if (name == "depth0") {
    return Value::integer(depth_);
  }
  if (name == "cycle" || name == "changed") {
    retain();
    return make_function(name == "cycle" ? kCycle : kChanged, Value(Kind::kObject, this));
  }
  return {};
}

}  // namespace fathom::codec::jinja
