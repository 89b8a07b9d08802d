// Lengths, indices, slices and iteration.
// Called by codec/jinja_eval and the built-ins. Read next: codec/jinja_operators.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/jinja_operators.h"

namespace fathom::codec::jinja {

namespace {

// A slice's bounds on a sequence of `size` items.
struct Bounds {
  int64_t start, stop, step, count;
};

int64_t bound_argument(Runtime& runtime, const Value& value, int64_t absent) {
  if (value.is_missing() || value.is(Kind::kNone)) {
    return absent;
  }
  if (value.is(Kind::kBigInt)) {
    return value.as<BigIntObject>().value.is_negative() ? INT64_MIN / 4 : INT64_MAX / 4;
  }
  int64_t number = 0;
  if (!find_int(value, number)) {
    if (value.is(Kind::kUndefined)) {
      runtime.refuse_undefined(value);
    }
    runtime.refuse("slice indices must be integers or None or have an __index__ method");
  }
  return std::clamp(number, INT64_MIN / 4, INT64_MAX / 4);
}

Bounds bounds_of(Runtime& runtime, int64_t size, const Value& start, const Value& stop,
                 const Value& step) {
  Bounds bounds{};
  bounds.step = bound_argument(runtime, step, 1);
  if (bounds.step == 0) {
    runtime.refuse("slice step cannot be zero");
  }
  const bool is_back = bounds.step < 0;
  const auto clip = [&](int64_t at) {
    at += at < 0 ? size : 0;
    return is_back ? std::clamp<int64_t>(at, -1, size - 1) : std::clamp<int64_t>(at, 0, size);
  };
  constexpr int64_t kAbsent = INT64_MIN;
  const int64_t first = bound_argument(runtime, start, kAbsent);
  const int64_t last = bound_argument(runtime, stop, kAbsent);
  bounds.start = first == kAbsent ? (is_back ? size - 1 : 0) : clip(first);
  bounds.stop = last == kAbsent ? (is_back ? -1 : size) : clip(last);
  const int64_t distance = is_back ? bounds.start - bounds.stop : bounds.stop - bounds.start;
  const int64_t stride = is_back ? -bounds.step : bounds.step;
  bounds.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return bounds;
}

Value slice_string(Runtime& runtime, const Value& string, const Bounds& bounds) {
  runtime.charge(string.text().size() / 64);
  if (bounds.count == 0) {
    return Value::string({}, string.origin());
  }
  if (bounds.step == 1) {
    return part_of(string, byte_of(string, bounds.start), byte_of(string, bounds.stop));
  }
  runtime.charge(static_cast<size_t>(bounds.count));
  const std::string_view text = string.text();
  TextBuilder out;
  size_t byte = byte_of(string, bounds.start);
  for (int64_t i = 0; i < bounds.count; ++i) {
    out.append_part(string, byte, byte + char_size(text, byte));
    if (i + 1 == bounds.count) {
      break;
    }
    for (int64_t step = bounds.step; step > 0; --step) {
      byte += char_size(text, byte);
    }
    for (int64_t step = bounds.step; step < 0; ++step) {
      byte = char_before(text, byte);
    }
  }
  return out.take();
}

// One-byte strings are made once: a loop over a text gives one for each of its characters.
struct Characters {
  std::array<StringObject, 128> objects;

  Characters() {
    for (size_t i = 0; i < objects.size(); ++i) {
      objects[i].bytes.assign(1, static_cast<char>(i));
      objects[i].n_chars = 1;
      objects[i].make_immortal();
    }
  }
};

// The character at a byte of a kString, and the byte behind it.
bool next_character(const Value& string, size_t& at, Value& item) {
  static Characters characters;
  const std::string_view text = string.text();
  if (at >= text.size()) {
    return false;
  }
  const OriginId origin = origin_at(string, at);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < characters.objects.size()) {
    item = Value(Kind::kString, &characters.objects[byte], origin);
    ++at;
    return true;
  }
  const size_t size = char_size(text, at);
  item = Value::string(std::string(text.substr(at, size)), origin);
  at += size;
  return true;
}

}  // namespace

bool find_length(const Value& value, int64_t& n) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kMissing:
      n = 0;
      return true;
    case Kind::kString:
      n = length_of(value);
      return true;
    case Kind::kList:
    case Kind::kTuple:
      n = static_cast<int64_t>(value.as<SequenceObject>().items.size());
      return true;
    case Kind::kDict:
      n = static_cast<int64_t>(value.as<DictObject>().entries.size());
      return true;
    case Kind::kRange:
      n = value.as<RangeObject>().size;
      return true;
    case Kind::kView:
      return find_length(value.as<ViewObject>().dict, n);
    default:
      return false;
  }
}

int64_t length(Runtime& runtime, const Value& value) {
  int64_t n = 0;
  if (!find_length(value, n)) {
    if (value.is(Kind::kObject)) {
      const Value attribute = value.as<SpecialObject>().attribute(runtime, "__len__");
      if (find_int(attribute, n)) {
        return n;
      }
    }
    runtime.refuse(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
  return n;
}

Value at_index(const Value& object, int64_t index) {
  int64_t n = 0;
  find_length(object, n);
  index += index < 0 ? n : 0;
  if (index < 0 || index >= n) {
    return {};
  }
  if (object.is(Kind::kString)) {
    const size_t begin = byte_of(object, index);
    return part_of(object, begin, begin + char_size(object.text(), begin));
  }
  if (object.is(Kind::kRange)) {
    const auto& range = object.as<RangeObject>();
    return Value::integer(range.start + index * range.step);
  }
  return object.as<SequenceObject>().items[static_cast<size_t>(index)];
}

Value slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
            const Value& step) {
  if (object.is(Kind::kUndefined)) {
    runtime.refuse_undefined(object);
  }
  const bool has_slices = object.is(Kind::kString) || object.is(Kind::kList) ||
                          object.is(Kind::kTuple) || object.is(Kind::kRange);
  if (!has_slices) {
    runtime.refuse(object.is(Kind::kDict)
                       ? "unhashable type: 'slice'"
                       : fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
  int64_t size = 0;
  find_length(object, size);
  const Bounds bounds = bounds_of(runtime, size, start, stop, step);
  if (object.is(Kind::kString)) {
    return slice_string(runtime, object, bounds);
  }
  if (object.is(Kind::kRange)) {
    const auto& range = object.as<RangeObject>();
    auto* part = new RangeObject;
    part->start = range.start + bounds.start * range.step;
    part->stop = range.start + bounds.stop * range.step;
    part->step = range.step * bounds.step;
    part->size = bounds.count;
    return {Kind::kRange, part};
  }
  const auto& items = object.as<SequenceObject>().items;
  std::vector<Value> out;
  out.reserve(static_cast<size_t>(bounds.count));
  for (int64_t i = 0; i < bounds.count; ++i) {
    out.push_back(items[static_cast<size_t>(bounds.start + i * bounds.step)]);
  }
  runtime.charge(out.size());
  return object.is(Kind::kList) ? Value::list(std::move(out), object.origin())
                                : Value::tuple(std::move(out));
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kView:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

Iteration::Iteration(Runtime& runtime, const Value& iterable)
    : runtime_(runtime), iterable_(iterable) {
  if (!is_iterable(iterable)) {
    runtime.refuse(fmt::format("'{}' object is not iterable", type_name(iterable)));
  }
}

bool Iteration::next_of_dict(const DictObject& dict, ViewObject::Of of, Value& item) {
  if (at_ >= dict.entries.size()) {
    return false;
  }
  const auto& [key, value] = dict.entries[at_++];
  switch (of) {
    case ViewObject::Of::kKeys:
      item = key;
      break;
    case ViewObject::Of::kValues:
      item = value;
      break;
    case ViewObject::Of::kItems:
      item = Value::tuple({key, value});
      break;
  }
  return true;
}

bool Iteration::next(Value& item) {
  runtime_.charge(1);
  switch (iterable_.kind()) {
    case Kind::kString:
      return next_character(iterable_, at_, item);
    case Kind::kList:
    case Kind::kTuple: {
      const auto& items = iterable_.as<SequenceObject>().items;
      if (at_ >= items.size()) {
        return false;
      }
      item = items[at_++];
      return true;
    }
    case Kind::kDict:
      return next_of_dict(iterable_.as<DictObject>(), ViewObject::Of::kKeys, item);
    case Kind::kView:
      return next_of_dict(iterable_.as<ViewObject>().dict.as<DictObject>(),
                          iterable_.as<ViewObject>().of, item);
    case Kind::kRange: {
      const auto& range = iterable_.as<RangeObject>();
      if (static_cast<int64_t>(at_) >= range.size) {
        return false;
      }
      item = Value::integer(range.start + static_cast<int64_t>(at_++) * range.step);
      return true;
    }
    case Kind::kIterator:
      return iterable_.as<IteratorObject>().next(runtime_, item);
    default:
      return false;
  }
}

}  // namespace fathom::codec::jinja
