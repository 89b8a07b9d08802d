// Finding built-ins by name, and what their files share.
#include "codec/jinja_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

using Table = std::unordered_map<std::string_view, const Signature*>;

Table make_table(std::initializer_list<std::span<const Signature>> lists) {
  Table table;
  for (const auto& list : lists) {
    for (const Signature& signature : list) {
      table.emplace(signature.name, &signature);
    }
  }
  return table;
}

const Signature* find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

// "list.index" and the like, by type.
const Signature* find_container_method(std::string_view type, std::string_view name) {
  for (const Signature& method : container_methods()) {
    if (method.name.size() == type.size() + 1 + name.size() && method.name.starts_with(type) &&
        method.name.ends_with(name) && method.name[type.size()] == '.') {
      return &method;
    }
  }
  return nullptr;
}

}  // namespace

const Signature* find_filter(std::string_view name) {
  static const Table kTable = make_table(
      {text_filters(), html_filters(), list_filters(), select_filters(), value_filters()});
  return find(kTable, name);
}

const Signature* find_test(std::string_view name) {
  static const Table kTable = make_table({tests()});
  return find(kTable, name);
}

const Signature* find_method(Kind kind, std::string_view name) {
  static const Table kStrings = make_table({string_methods(), string_split_methods()});
  switch (kind) {
    case Kind::kString:
      return find(kStrings, name);
    case Kind::kDict:
      return find_container_method("dict", name);
    case Kind::kList:
      return find_container_method("list", name);
    case Kind::kTuple:
      return find_container_method("tuple", name);
    case Kind::kRange:
      return find_container_method("range", name);
    case Kind::kInt:
    case Kind::kBool:
    case Kind::kBigInt:
      return find_container_method("int", name);
    case Kind::kFloat:
      return find_container_method("float", name);
    default:
      return nullptr;
  }
}

Value text_argument(Runtime& runtime, const Value& value) {
  Value text = value.is(Kind::kString) ? value : to_text(runtime, value);
  runtime.charge(text.text().size() / 64);
  return text;
}

int64_t int_argument(Runtime& runtime, const Value& value, std::string_view what) {
  int64_t number = 0;
  if (!find_int(value, number)) {
    if (value.is(Kind::kUndefined)) {
      runtime.refuse_undefined(value);
    }
    runtime.refuse(
        fmt::format("{}: '{}' object cannot be interpreted as an integer", what, type_name(value)));
  }
  return number;
}

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  Iteration iteration(runtime, value);
  for (Value item; iteration.next(item);) {
    items.push_back(std::move(item));
  }
  return items;
}

Value follow_path(Runtime& runtime, const Value& item, const Value& path, const Value* fallback) {
  Value value = item;
  const auto step = [&](const Value& key) {
    value = runtime.item(value, key);
    if (fallback != nullptr && value.is(Kind::kUndefined)) {
      value = *fallback;
    }
  };
  if (path.is(Kind::kNone) || path.is_missing()) {
    return value;
  }
  if (!path.is(Kind::kString)) {
    step(path);
    return value;
  }
  std::string_view rest = path.text();
  while (true) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool is_index =
        !part.empty() && part.size() < 18 &&
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    step(is_index ? Value::integer(std::stoll(std::string(part)))
                  : Value::string(std::string(part)));
    if (dot == rest.size()) {
      return value;
    }
    rest.remove_prefix(dot + 1);
  }
}

Value ignore_case(const Value& value) {
  return value.is(Kind::kString) ? map_runs(value, to_lower) : value;
}

std::vector<Value> sorted(Runtime& runtime, std::vector<Value> items, std::vector<Value> keys,
                          bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reverse ? less(runtime, keys[b], keys[a]) : less(runtime, keys[a], keys[b]);
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (const size_t i : order) {
    out.push_back(std::move(items[i]));
  }
  return out;
}

Value make_iterator(std::function<bool(Runtime&, Value&)> next) {
  auto* iterator = new IteratorObject;
  iterator->next = std::move(next);
  return {Kind::kIterator, iterator};
}

}  // namespace fathom::codec::jinja
