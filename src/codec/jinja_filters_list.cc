// Filters on lists and dicts.
// Called by codec/jinja_builtins. Read next: codec/jinja_filters_select.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

Value length_filter(Runtime& runtime, const Bound& args) {
  return Value::integer(length(runtime, args.self));
}

Value list(Runtime& runtime, const Bound& args) {
  return Value::list(items_of(runtime, args.self), args.self.origin());
}

Value first(Runtime& runtime, const Bound& args) {
  Value item;
  Iteration items(runtime, args.self);
  return items.next(item) ? item : Value::undefined("No first item, sequence was empty.");
}

bool is_reversible(const Value& value) {
  return is_iterable(value) && !value.is(Kind::kIterator);
}

Value last(Runtime& runtime, const Bound& args) {
  if (!is_reversible(args.self)) {
    runtime.refuse(fmt::format("'{}' object is not reversible", type_name(args.self)));
  }
  if (args.self.is(Kind::kString) || args.self.is(Kind::kList) || args.self.is(Kind::kTuple) ||
      args.self.is(Kind::kRange)) {
    const Value item = at_index(args.self, -1);
    return item.is_missing() ? Value::undefined("No last item, sequence was empty.") : item;
  }
  const std::vector<Value> items = items_of(runtime, args.self);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value reverse(Runtime& runtime, const Bound& args) {
  if (args.self.is(Kind::kString)) {
    return slice(runtime, args.self, {}, {}, Value::integer(int64_t{-1}));
  }
  if (!is_iterable(args.self)) {
    runtime.refuse("argument must be iterable");
  }
  std::vector<Value> items = items_of(runtime, args.self);
  if (args.self.is(Kind::kIterator)) {
    std::reverse(items.begin(), items.end());
    return Value::list(std::move(items));
  }
  return make_iterator([items = std::move(items)](Runtime&, Value& item) mutable {
    if (items.empty()) {
      return false;
    }
    item = std::move(items.back());
    items.pop_back();
    return true;
  });
}

Value join(Runtime& runtime, const Bound& args) {
  const Value separator = args.has(0) ? text_argument(runtime, args[0]) : Value::string({});
  TextBuilder out;
  Iteration items(runtime, args.self);
  bool is_first = true;
  for (Value item; items.next(item);) {
    if (!is_first) {
      out.append(separator);
    }
    is_first = false;
    const bool has_path = args.has(1) && !args[1].is(Kind::kNone);
    print(runtime, out, has_path ? follow_path(runtime, item, args[1], nullptr) : item);
  }
  return out.take();
}

// The key that sort compares: a list of the attributes "a,b".
Value sort_key(Runtime& runtime, const Value& item, const Value& attribute, bool case_sensitive) {
  std::vector<Value> parts;
  const auto add = [&](const Value& path) {
    const Value part = follow_path(runtime, item, path, nullptr);
    parts.push_back(case_sensitive ? part : ignore_case(part));
  };
  if (!attribute.is(Kind::kString)) {
    add(attribute);
    return Value::list(std::move(parts));
  }
  std::string_view rest = attribute.text();
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    add(Value::string(std::string(rest.substr(0, comma))));
    if (comma == rest.size()) {
      return Value::list(std::move(parts));
    }
    rest.remove_prefix(comma + 1);
  }
}

Value sort(Runtime& runtime, const Bound& args) {
  std::vector<Value> items = items_of(runtime, args.self);
  std::vector<Value> keys;
  for (const Value& item : items) {
    keys.push_back(sort_key(runtime, item, args[2], is_true(args[1])));
  }
  return Value::list(sorted(runtime, std::move(items), std::move(keys), is_true(args[0])));
}

// The key of filters that compare one attribute.
Value plain_key(Runtime& runtime, const Value& item, const Value& attribute, bool case_sensitive,
                const Value* fallback = nullptr) {
  const Value key = follow_path(runtime, item, attribute, fallback);
  return case_sensitive ? key : ignore_case(key);
}

Value unique(Runtime& runtime, const Bound& args) {
  const bool case_sensitive = is_true(args[0]);
  auto items = std::make_shared<Iteration>(runtime, args.self);
  auto seen = std::make_shared<DictObject>();
  return make_iterator(
      [items, seen, case_sensitive, attribute = args[1]](Runtime& run, Value& item) {
        while (items->next(item)) {
          const Value key = plain_key(run, item, attribute, case_sensitive);
          if (seen->find(key) == nullptr) {
            seen->set(key, Value::none());
            return true;
          }
        }
        return false;
      });
}

Value extreme(Runtime& runtime, const Bound& args, bool want_less) {
  const bool case_sensitive = is_true(args[0]);
  Iteration items(runtime, args.self);
  Value best;
  if (!items.next(best)) {
    return Value::undefined("No aggregated item, sequence was empty.");
  }
  Value best_key = plain_key(runtime, best, args[1], case_sensitive);
  for (Value item; items.next(item);) {
    const Value key = plain_key(runtime, item, args[1], case_sensitive);
    if (want_less ? less(runtime, key, best_key)
                  : ordered(runtime, Operator::kGreater, key, best_key)) {
      best = item;
      best_key = key;
    }
  }
  return best;
}

Value min(Runtime& runtime, const Bound& args) {
  return extreme(runtime, args, true);
}

Value max(Runtime& runtime, const Bound& args) {
  return extreme(runtime, args, false);
}

Value sum(Runtime& runtime, const Bound& args) {
  Value total = args.has(1) ? args[1] : Value::integer(int64_t{0});
  if (total.is(Kind::kString)) {
    runtime.refuse("sum() can't sum strings [use ''.join(seq) instead]");
  }
  Iteration items(runtime, args.self);
  for (Value item; items.next(item);) {
    const bool has_path = args.has(0) && !args[0].is(Kind::kNone);
    total = binary(runtime, Operator::kAdd, total,
                   has_path ? follow_path(runtime, item, args[0], nullptr) : item);
  }
  return total;
}

Value items(Runtime& runtime, const Bound& args) {
  if (args.self.is(Kind::kUndefined)) {
    return make_iterator([](Runtime&, Value&) { return false; });
  }
  if (!args.self.is(Kind::kDict)) {
    runtime.refuse("Can only get item pairs from a mapping.");
  }
  return make_iterator([dict = args.self, at = size_t{0}](Runtime&, Value& item) mutable {
    const auto& entries = dict.as<DictObject>().entries;
    if (at >= entries.size()) {
      return false;
    }
    item = Value::tuple({entries[at].first, entries[at].second});
    ++at;
    return true;
  });
}

Value dictsort(Runtime& runtime, const Bound& args) {
  const bool case_sensitive = is_true(args[0]);
  const std::string_view by = args.has(1) && args[1].is(Kind::kString) ? args[1].text() : "key";
  if (by != "key" && by != "value") {
    runtime.refuse("You can only sort by either \"key\" or \"value\"");
  }
  if (args.self.is(Kind::kUndefined)) {
    runtime.refuse_undefined(args.self);
  }
  if (!args.self.is(Kind::kDict)) {
    runtime.refuse(fmt::format("'{}' object has no attribute 'items'", type_name(args.self)));
  }
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : args.self.as<DictObject>().entries) {
    pairs.push_back(Value::tuple({key, value}));
    const Value& sorted_by = by == "key" ? key : value;
    keys.push_back(case_sensitive ? sorted_by : ignore_case(sorted_by));
  }
  return Value::list(sorted(runtime, std::move(pairs), std::move(keys), is_true(args[2])));
}

Value groupby(Runtime& runtime, const Bound& args) {
  const bool case_sensitive = is_true(args[2]);
  const Value* fallback = args.has(1) && !args[1].is(Kind::kNone) ? &args[1] : nullptr;
  std::vector<Value> all = items_of(runtime, args.self);
  std::vector<Value> keys;
  for (const Value& item : all) {
    keys.push_back(plain_key(runtime, item, args[0], case_sensitive, fallback));
  }
  std::vector<Value> groups;
  Value group_key;
  for (Value& item : sorted(runtime, std::move(all), std::move(keys), false)) {
    const Value key = plain_key(runtime, item, args[0], case_sensitive, fallback);
    if (groups.empty() || !equal(runtime, key, group_key)) {
      const Value name = follow_path(runtime, item, args[0], fallback);
      groups.push_back(Value::tuple({name, Value::list({})}));
      groups.back().as<SequenceObject>().is_group = true;
      group_key = key;
    }
    groups.back().as<SequenceObject>().items[1].as<SequenceObject>().items.push_back(
        std::move(item));
  }
  return Value::list(std::move(groups));
}

Value iterator_over(std::vector<Value> values) {
  return make_iterator([values = std::move(values), at = size_t{0}](Runtime&, Value& item) mutable {
    if (at >= values.size()) {
      return false;
    }
    item = values[at++];
    return true;
  });
}

bool has_filling(const Bound& args) {
  return args.has(1) && !args[1].is(Kind::kNone);
}

Value batch(Runtime& runtime, const Bound& args) {
  const int64_t size = int_argument(runtime, args[0], "batch");
  std::vector<Value> rows;
  std::vector<Value> row;
  Iteration items(runtime, args.self);
  for (Value item; items.next(item);) {
    if (static_cast<int64_t>(row.size()) == size) {
      rows.push_back(Value::list(std::exchange(row, {})));
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (size > 100'000) {
      runtime.refuse("batch: rows of more than 100000 items");
    }
    while (has_filling(args) && static_cast<int64_t>(row.size()) < size) {
      row.push_back(args[1]);
    }
    rows.push_back(Value::list(std::move(row)));
  }
  return iterator_over(std::move(rows));
}

Value slice_filter(Runtime& runtime, const Bound& args) {
  const int64_t n_slices = int_argument(runtime, args[0], "slice");
  const std::vector<Value> all = items_of(runtime, args.self);
  if (n_slices == 0) {
    runtime.refuse("integer division or modulo by zero");
  }
  if (n_slices > 100'000) {
    runtime.refuse("slice: more than 100000 slices");
  }
  const auto size = static_cast<int64_t>(all.size());
  std::vector<Value> slices;
  auto next = all.begin();
  for (int64_t i = 0; i < n_slices; ++i) {
    const bool has_extra = i < size % n_slices;
    const auto end = next + size / n_slices + (has_extra ? 1 : 0);
    std::vector<Value> part(next, end);
    next = end;
    if (has_filling(args) && !has_extra) {
      part.push_back(args[1]);
    }
    slices.push_back(Value::list(std::move(part)));
  }
  return iterator_over(std::move(slices));
}

// A template that chooses by chance would render differently each time: always the first one here.
Value random(Runtime& runtime, const Bound& args) {
  if (length(runtime, args.self) == 0) {
    return Value::undefined("No random item, sequence was empty.");
  }
  return runtime.item(args.self, Value::integer(int64_t{0}));
}

constexpr std::array<Signature, 18> kFilters = {{
    {"batch", batch, "linecount,fill_with", 1},
    {"count", length_filter},
    {"dictsort", dictsort, "case_sensitive,by,reverse"},
    {"first", first},
    {"groupby", groupby, "attribute,default,case_sensitive", 1},
    {"items", items},
    {"join", join, "d,attribute"},
    {"last", last},
    {"length", length_filter},
    {"list", list},
    {"max", max, "case_sensitive,attribute"},
    {"min", min, "case_sensitive,attribute"},
    {"random", random},
    {"reverse", reverse},
    {"slice", slice_filter, "slices,fill_with", 1},
    {"sort", sort, "reverse,case_sensitive,attribute"},
    {"sum", sum, "attribute,start"},
    {"unique", unique, "case_sensitive,attribute"},
}};

}  // namespace

std::span<const Signature> list_filters() {
  return kFilters;
}

}  // namespace fathom::codec::jinja
