// Counting, hashing and dicts.
#include "codec/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "codec/jinja_object.h"

namespace fathom::codec::jinja {

namespace {

constexpr size_t kSmallDict = 8;  // up to here a look through all keys is faster than hashing
constexpr int kMaxKeyDepth = 200;

uint64_t hash_double(double value) {
  if (std::trunc(value) == value && std::fabs(value) < 9.2e18) {
    return std::hash<int64_t>()(static_cast<int64_t>(value));
  }
  return std::hash<double>()(value);
}

uint64_t hash_of_text(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

// Where the search for a key of a dict begins.
size_t first_place(uint64_t hash, size_t mask) {
  return (hash * 0x9E3779B97F4A7C15ull >> 20) & mask;
}

bool same_number(const Value& a, const Value& b) {
  if (a.is(Kind::kBigInt) || b.is(Kind::kBigInt)) {
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      const Value& big = a.is(Kind::kBigInt) ? a : b;
      const double real = a.is(Kind::kFloat) ? a.as_float() : b.as_float();
      return std::isfinite(real) && BigInt::from_double(real) == big.as<BigIntObject>().value &&
             std::trunc(real) == real;
    }
    return a.kind() == b.kind() && a.as<BigIntObject>().value == b.as<BigIntObject>().value;
  }
  if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
    const double x = a.is(Kind::kFloat) ? a.as_float() : static_cast<double>(a.as_int());
    const double y = b.is(Kind::kFloat) ? b.as_float() : static_cast<double>(b.as_int());
    return x == y;
  }
  return a.as_int() == b.as_int();
}

}  // namespace

void dispose(Object* object) noexcept {
  // What waits while another object is being deleted on this thread.
  struct Waiting {
    std::vector<Object*>* objects = nullptr;
  };

  thread_local constinit Waiting waiting;
  if (waiting.objects != nullptr) {
    waiting.objects->push_back(object);
    return;
  }
  std::vector<Object*> objects;
  waiting.objects = &objects;
  delete object;
  while (!objects.empty()) {
    Object* next = objects.back();
    objects.pop_back();
    delete next;
  }
  waiting.objects = nullptr;
}

Value Value::integer(const BigInt& number) {
  if (const auto small = number.as_int64()) {
    return integer(*small);
  }
  auto* object = new BigIntObject;
  object->value = number;
  return {Kind::kBigInt, object};
}

Value Value::string(std::string text, OriginId origin) {
  auto* object = new StringObject;
  object->bytes = std::move(text);
  return {Kind::kString, object, origin};
}

Value Value::list(std::vector<Value> items, OriginId origin) {
  auto* object = new SequenceObject;
  object->items = std::move(items);
  return {Kind::kList, object, origin};
}

Value Value::tuple(std::vector<Value> items) {
  auto* object = new SequenceObject;
  object->items = std::move(items);
  return {Kind::kTuple, object};
}

Value Value::undefined(std::string message) {
  auto* object = new UndefinedObject;
  object->text = std::move(message);
  return {Kind::kUndefined, object};
}

Value Value::undefined_name(std::string_view name) {
  auto* object = new UndefinedObject;
  object->what = UndefinedObject::What::kName;
  object->text = name;
  return {Kind::kUndefined, object};
}

Value Value::undefined_attribute(std::string_view owner, std::string_view name) {
  auto* object = new UndefinedObject;
  object->what = UndefinedObject::What::kAttribute;
  object->owner = owner;
  object->text = name;
  return {Kind::kUndefined, object};
}

std::string UndefinedObject::message() const {
  switch (what) {
    case What::kMessage:
      break;
    case What::kName:
      return fmt::format("'{}' is undefined", text);
    case What::kAttribute:
      return owner == "NoneType" ? fmt::format("'None' has no attribute '{}'", text)
                                 : fmt::format("'{} object' has no attribute '{}'", owner, text);
  }
  return text;
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.as<StringObject>().is_markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      switch (value.as<ViewObject>().of) {
        case ViewObject::Of::kKeys:
          return "dict_keys";
        case ViewObject::Of::kValues:
          return "dict_values";
        case ViewObject::Of::kItems:
          return "dict_items";
      }
      break;
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "TemplateNamespace";
    case Kind::kObject:
      return value.as<SpecialObject>().type();
  }
  return "object";
}

uint64_t hash_of(const Value& value, int depth) {
  if (depth > kMaxKeyDepth) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("chat template: a key nested deeper than {} tuples", kMaxKeyDepth));
  }
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kNone:
    case Kind::kUndefined:
      return static_cast<uint64_t>(value.kind());
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<int64_t>()(value.as_int());
    case Kind::kBigInt:
      return hash_double(value.as<BigIntObject>().value.as_double());
    case Kind::kFloat:
      return hash_double(value.as_float());
    case Kind::kString:
      return hash_of_text(value.text());
    case Kind::kTuple: {
      uint64_t hash = 17;
      for (const Value& item : value.as<SequenceObject>().items) {
        hash = hash * 1000003 + hash_of(item, depth + 1);
      }
      return hash;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      fail(ErrorCode::kInvalidArgument,
           fmt::format("chat template: unhashable type: '{}'", type_name(value)));
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kNamespace:
    case Kind::kObject:
      return std::hash<const void*>()(value.object());
  }
  return 0;
}

namespace {

bool same_items(const SequenceObject& a, const SequenceObject& b, int depth) {
  return a.items.size() == b.items.size() && depth <= kMaxKeyDepth &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                    [depth](const Value& x, const Value& y) { return same_key(x, y, depth + 1); });
}

}  // namespace

bool same_key(const Value& a, const Value& b, int depth) {
  if (a.is_number() && b.is_number()) {
    return same_number(a, b);
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Kind::kString:
      return a.text() == b.text();
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    case Kind::kTuple:
      return same_items(a.as<SequenceObject>(), b.as<SequenceObject>(), depth);
    default:
      return a.object() == b.object();
  }
}

size_t DictObject::entry_of(const Value& key) const {
  if (key.is(Kind::kString)) {
    return entry_of(key.text());
  }
  const uint64_t hash = hash_of(key);
  if (index_.empty()) {
    size_t i = 0;
    while (i < entries.size() && !same_key(entries[i].first, key)) {
      ++i;
    }
    return i;
  }
  const uint32_t place = index_[place_of(key, hash)];
  return place == 0 ? entries.size() : place - 1;
}

// The same for a string, which few dicts need a hash for.
size_t DictObject::entry_of(std::string_view key) const {
  const auto is_key = [&](const Value& name) {
    return name.is(Kind::kString) && name.text() == key;
  };
  if (index_.empty()) {
    size_t i = 0;
    while (i < entries.size() && !is_key(entries[i].first)) {
      ++i;
    }
    return i;
  }
  const size_t mask = index_.size() - 1;
  size_t place = first_place(hash_of_text(key), mask);
  while (index_[place] != 0 && !is_key(entries[index_[place] - 1].first)) {
    place = (place + 1) & mask;
  }
  return index_[place] == 0 ? entries.size() : index_[place] - 1;
}

const Value* DictObject::find(const Value& key) const {
  const size_t found = entry_of(key);
  return found < entries.size() ? &entries[found].second : nullptr;
}

const Value* DictObject::find(std::string_view key) const {
  const size_t found = entry_of(key);
  return found < entries.size() ? &entries[found].second : nullptr;
}

Value* DictObject::find(std::string_view key) {
  const size_t found = entry_of(key);
  return found < entries.size() ? &entries[found].second : nullptr;
}

void DictObject::set(Value key, Value value) {
  if (const size_t found = entry_of(key); found < entries.size()) {
    entries[found].second = std::move(value);
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  if (entries.size() <= kSmallDict) {
    return;
  }
  if (entries.size() * 2 > index_.size()) {
    rebuild();
  } else {
    const Value& name = entries.back().first;
    index_[place_of(name, hash_of(name))] = static_cast<uint32_t>(entries.size());
  }
}

// Where the key is in the index, or the empty place where it belongs.
size_t DictObject::place_of(const Value& key, uint64_t hash) const {
  const size_t mask = index_.size() - 1;
  size_t place = first_place(hash, mask);
  while (index_[place] != 0 && !same_key(entries[index_[place] - 1].first, key)) {
    place = (place + 1) & mask;
  }
  return place;
}

void DictObject::rebuild() {
  size_t size = 32;
  while (size < entries.size() * 4) {
    size *= 2;
  }
  index_.assign(size, 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    index_[place_of(entries[i].first, hash_of(entries[i].first))] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace fathom::codec::jinja
