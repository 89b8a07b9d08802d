// The methods of str that take text apart and put it together, and the methods of list, tuple,
// dict, range and numbers. Called by codec/jinja_builtins. Read next: codec/jinja_strings.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/jinja_builtins.h"
#include "codec/jinja_markup.h"
#include "codec/jinja_operators.h"
#include "codec/jinja_strings.h"
#include "codec/jinja_unicode.h"

namespace fathom::codec::jinja {

namespace {

using Pieces = std::vector<Value>;

// Runs of characters that are no white space; after `limit` cuts the rest stays whole.
Pieces split_space(const Value& string, int64_t limit) {
  const std::string_view text = string.text();
  Pieces pieces;
  size_t at = skip_space(text, 0, text.size());
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && !is_space(char_at(text, end))) {
      end += char_size(text, end);
    }
    if (limit >= 0 && static_cast<int64_t>(pieces.size()) == limit) {
      pieces.push_back(part_of(string, at, text.size()));
      return pieces;
    }
    pieces.push_back(part_of(string, at, end));
    at = skip_space(text, end, text.size());
  }
  return pieces;
}

Pieces rsplit_space(const Value& string, int64_t limit) {
  const std::string_view text = string.text();
  Pieces pieces;
  size_t end = skip_space_back(text, 0, text.size());
  while (end > 0) {
    size_t at = end;
    while (at > 0 && !is_space(char_at(text, char_before(text, at)))) {
      at = char_before(text, at);
    }
    if (limit >= 0 && static_cast<int64_t>(pieces.size()) == limit) {
      at = 0;
    }
    pieces.push_back(part_of(string, at, end));
    end = skip_space_back(text, 0, at);
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Pieces split_at(const Value& string, std::string_view separator, int64_t limit) {
  const std::string_view text = string.text();
  Pieces pieces;
  size_t at = 0;
  while (limit != 0) {
    const size_t found = text.find(separator, at);
    if (found == std::string_view::npos) {
      break;
    }
    pieces.push_back(part_of(string, at, found));
    at = found + separator.size();
    --limit;
  }
  pieces.push_back(part_of(string, at, text.size()));
  return pieces;
}

Pieces rsplit_at(const Value& string, std::string_view separator, int64_t limit) {
  const std::string_view text = string.text();
  Pieces pieces;
  size_t end = text.size();
  while (limit != 0) {
    const size_t found = text.substr(0, end).rfind(separator);
    if (found == std::string_view::npos) {
      break;
    }
    pieces.push_back(part_of(string, found + separator.size(), end));
    end = found;
    --limit;
  }
  pieces.push_back(part_of(string, 0, end));
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Value split_by(Runtime& runtime, const Bound& args, bool from_end) {
  const int64_t limit = args.has(1) ? int_argument(runtime, args[1], "split") : -1;
  Pieces pieces;
  if (!args.has(0) || args[0].is(Kind::kNone)) {
    pieces = from_end ? rsplit_space(args.self, limit) : split_space(args.self, limit);
  } else {
    if (!args[0].is(Kind::kString)) {
      runtime.refuse(fmt::format("must be str or None, not {}", type_name(args[0])));
    }
    if (args[0].text().empty()) {
      runtime.refuse("empty separator");
    }
    pieces = from_end ? rsplit_at(args.self, args[0].text(), limit)
                      : split_at(args.self, args[0].text(), limit);
  }
  runtime.charge(4 * pieces.size());  // each one is a string of its own
  return Value::list(std::move(pieces), args.self.origin());
}

Value split(Runtime& runtime, const Bound& args) {
  return split_by(runtime, args, false);
}

Value rsplit(Runtime& runtime, const Bound& args) {
  return split_by(runtime, args, true);
}

Value splitlines(Runtime& runtime, const Bound& args) {
  return Value::list(split_lines(runtime, args.self, args.has(0) && is_true(args[0])));
}

Value partition_at(Runtime& runtime, const Bound& args, bool from_end) {
  if (!args[0].is(Kind::kString)) {
    runtime.refuse(fmt::format("must be str, not {}", type_name(args[0])));
  }
  const std::string_view text = args.self.text();
  const std::string_view separator = args[0].text();
  if (separator.empty()) {
    runtime.refuse("empty separator");
  }
  const size_t found = from_end ? text.rfind(separator) : text.find(separator);
  if (found == std::string_view::npos) {
    const Value none = Value::string({});
    return from_end ? Value::tuple({none, none, args.self}) : Value::tuple({args.self, none, none});
  }
  return Value::tuple({part_of(args.self, 0, found), args[0],
                       part_of(args.self, found + separator.size(), text.size())});
}

Value partition(Runtime& runtime, const Bound& args) {
  return partition_at(runtime, args, false);
}

Value rpartition(Runtime& runtime, const Bound& args) {
  return partition_at(runtime, args, true);
}

Value join(Runtime& runtime, const Bound& args) {
  TextBuilder out;
  Iteration items(runtime, args[0]);
  size_t i = 0;
  for (Value item; items.next(item); ++i) {
    if (!item.is(Kind::kString)) {
      runtime.refuse(
          fmt::format("sequence item {}: expected str instance, {} found", i, type_name(item)));
    }
    if (i > 0) {
      out.append(args.self);
    }
    out.append(is_markup(args.self) ? escape_html(item) : item);
  }
  return out.take();
}

constexpr std::array<Signature, 6> kSplitMethods = {{
    {"join", join, "/", 1},
    {"partition", partition, "/", 1},
    {"rpartition", rpartition, "/", 1},
    {"rsplit", rsplit, "sep,maxsplit"},
    {"split", split, "sep,maxsplit"},
    {"splitlines", splitlines, "keepends"},
}};

Value dict_get(Runtime&, const Bound& args) {
  const Value* found = args.self.as<DictObject>().find(args[0]);
  return found != nullptr ? *found : args.has(1) ? args[1] : Value::none();
}

template <ViewObject::Of kOf>
Value dict_view(Runtime&, const Bound& args) {
  auto* view = new ViewObject;
  view->dict = args.self;
  view->of = kOf;
  return {Kind::kView, view, args.self.origin()};
}

Value dict_copy(Runtime&, const Bound& args) {
  auto* dict = new DictObject;
  for (const auto& [key, value] : args.self.as<DictObject>().entries) {
    dict->set(key, value);
  }
  return {Kind::kDict, dict, args.self.origin()};
}

Value list_copy(Runtime&, const Bound& args) {
  return Value::list(args.self.as<SequenceObject>().items, args.self.origin());
}

Value item_index(Runtime& runtime, const Bound& args) {
  const std::vector<Value> items = items_of(runtime, args.self);
  const auto size = static_cast<int64_t>(items.size());
  const auto bound = [&](size_t i, int64_t absent) {
    const int64_t at = args.has(i) ? int_argument(runtime, args[i], "index") : absent;
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  for (int64_t i = bound(1, 0); i < bound(2, size); ++i) {
    if (equal(runtime, items[static_cast<size_t>(i)], args[0])) {
      return Value::integer(i);
    }
  }
  runtime.refuse(fmt::format("{} is not in {}", type_name(args[0]), type_name(args.self)));
}

Value item_count(Runtime& runtime, const Bound& args) {
  int64_t n_found = 0;
  for (const Value& item : items_of(runtime, args.self)) {
    n_found += equal(runtime, item, args[0]) ? 1 : 0;
  }
  return Value::integer(n_found);
}

Value is_integer_float(Runtime&, const Bound& args) {
  return Value::boolean(std::trunc(args.self.as_float()) == args.self.as_float());
}

Value bit_length(Runtime&, const Bound& args) {
  return Value::integer(static_cast<int64_t>(as_big(args.self).bits()));
}

Value conjugate(Runtime& runtime, const Bound& args) {
  return positive(runtime, args.self);
}

constexpr std::array<Signature, 16> kContainerMethods = {{
    {"dict.copy", dict_copy},
    {"dict.get", dict_get, "/,/", 1},
    {"dict.items", dict_view<ViewObject::Of::kItems>},
    {"dict.keys", dict_view<ViewObject::Of::kKeys>},
    {"dict.values", dict_view<ViewObject::Of::kValues>},
    {"list.copy", list_copy},
    {"list.count", item_count, "/", 1},
    {"list.index", item_index, "/,/,/", 1},
    {"tuple.count", item_count, "/", 1},
    {"tuple.index", item_index, "/,/,/", 1},
    {"range.count", item_count, "/", 1},
    {"range.index", item_index, "/", 1},
    {"int.bit_length", bit_length},
    {"int.conjugate", conjugate},
    {"float.conjugate", conjugate},
    {"float.is_integer", is_integer_float},
}};

}  // namespace

std::span<const Signature> string_split_methods() {
  return kSplitMethods;
}

std::span<const Signature> container_methods() {
  return kContainerMethods;
}

}  // namespace fathom::codec::jinja
