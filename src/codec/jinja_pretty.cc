// The printed form is built from the inside out; a container that fits its line stays on it.
#include "codec/jinja_pretty.h"

#include "codec/jinja_builtins.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_print.h"

namespace fathom::codec::jinja {

namespace {

constexpr int64_t kWidth = 80;

// The entries by key. Keys that cannot be compared keep their order, by type name.
std::vector<std::pair<Value, Value>> sorted_entries(Runtime& runtime, const DictObject& dict) {
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : dict.entries) {
    pairs.push_back(Value::tuple({key, value}));
    keys.push_back(key.is_number() ? Value::tuple({Value::string("int"), key})
                                   : Value::tuple({Value::string(std::string(type_name(key))),
                                                   to_text(runtime, key)}));
  }
  std::vector<std::pair<Value, Value>> out;
  for (const Value& pair : sorted(runtime, std::move(pairs), std::move(keys), false)) {
    const auto& both = pair.as<SequenceObject>().items;
    out.emplace_back(both[0], both[1]);
  }
  return out;
}

// The value with the keys of every dict sorted, on one line.
void print_line(Runtime& runtime, TextBuilder& out, const Value& value) {
  const Runtime::Deeper deeper(runtime);
  if (value.is(Kind::kDict)) {
    out.append("{");
    bool is_first = true;
    for (const auto& [key, item] : sorted_entries(runtime, value.as<DictObject>())) {
      out.append(is_first ? "" : ", ");
      is_first = false;
      print_line(runtime, out, key);
      out.append(": ");
      print_line(runtime, out, item);
    }
    out.append("}");
  } else if (value.is(Kind::kList) || value.is(Kind::kTuple)) {
    const auto& items = value.as<SequenceObject>().items;
    out.append(value.is(Kind::kList) ? "[" : "(");
    for (size_t i = 0; i < items.size(); ++i) {
      out.append(i > 0 ? ", " : "");
      print_line(runtime, out, items[i]);
    }
    out.append(value.is(Kind::kList) ? "]" : items.size() == 1 ? ",)" : ")");
  } else {
    print_repr(runtime, out, value);
  }
}

// `indent`: the column at which the value begins; `after`: characters that follow on its last line.
void print_pretty(Runtime& runtime, TextBuilder& out, const Value& value, int64_t indent,
                  int64_t after) {
  const Runtime::Deeper deeper(runtime);
  TextBuilder line;
  print_line(runtime, line, value);
  const Value text = line.take();
  const bool is_sequence = value.is(Kind::kList) || value.is(Kind::kTuple);
  if (length_of(text) <= kWidth - indent - after || (!is_sequence && !value.is(Kind::kDict))) {
    out.append(text);
    return;
  }
  const std::string separator = ",\n" + std::string(static_cast<size_t>(indent + 1), ' ');
  if (is_sequence) {
    const auto& items = value.as<SequenceObject>().items;
    const bool is_single = value.is(Kind::kTuple) && items.size() == 1;
    out.append(value.is(Kind::kList) ? "[" : "(");
    for (size_t i = 0; i < items.size(); ++i) {
      out.append(i > 0 ? separator : "");
      print_pretty(runtime, out, items[i], indent + 1,
                   i + 1 < items.size() ? 1 : after + 1 + (is_single ? 1 : 0));
    }
    out.append(value.is(Kind::kList) ? "]" : is_single ? ",)" : ")");
    return;
  }
  const auto entries = sorted_entries(runtime, value.as<DictObject>());
  out.append("{");
  for (size_t i = 0; i < entries.size(); ++i) {
    TextBuilder key_builder;
    print_line(runtime, key_builder, entries[i].first);
    const Value key = key_builder.take();
    out.append(i > 0 ? separator : "");
    out.append(key);
    out.append(": ");
    print_pretty(runtime, out, entries[i].second, indent + length_of(key) + 3,
                 i + 1 < entries.size() ? 1 : after + 1);
  }
  out.append("}");
}

}  // namespace

Value pretty(Runtime& runtime, const Value& value) {
  TextBuilder out;
  print_pretty(runtime, out, value, 0, 0);
  return out.take();
}

}  // namespace fathom::codec::jinja
