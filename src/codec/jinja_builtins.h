// The names that templates may use without defining them: filters, tests, functions, methods.
// Filled by the jinja_filters_, jinja_methods_ files. Read next: codec/jinja_object.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/jinja_object.h"

namespace fathom::codec::jinja {

// Null for a name that is not there.
const Signature* find_filter(std::string_view name);
const Signature* find_test(std::string_view name);
// A method of a value of this kind that the sandbox allows.
const Signature* find_method(Kind kind, std::string_view name);
// A method that changes the value, which the sandbox refuses; or one of Python's inner names.
bool is_unsafe_attribute(Kind kind, std::string_view name);

// range, dict, namespace, joiner, cycler, raise_exception, strftime_now; kMissing for others.
Value make_global(std::string_view name);

// The tables, one per file of built-ins.
std::span<const Signature> text_filters();
std::span<const Signature> html_filters();
std::span<const Signature> list_filters();
std::span<const Signature> select_filters();
std::span<const Signature> value_filters();
std::span<const Signature> tests();
std::span<const Signature> string_methods();
std::span<const Signature> string_split_methods();
std::span<const Signature> container_methods();  // name is "dict.get", "list.index" ...

// Parts that several files of built-ins share.

// The self of a text filter: any value becomes its str().
Value text_argument(Runtime& runtime, const Value& value);
// An argument that must be an int. Error as Python's.
int64_t int_argument(Runtime& runtime, const Value& value, std::string_view what);
// All items of an iterable.
std::vector<Value> items_of(Runtime& runtime, const Value& value);
// An attribute path of the filters: "a.b.0"; ints are indices.
Value follow_path(Runtime& runtime, const Value& item, const Value& path, const Value* fallback);
// Lower case for strings, other values as they are.
Value ignore_case(const Value& value);
// Stable, as Python's sorted(); `keys` are moved from.
std::vector<Value> sorted(Runtime& runtime, std::vector<Value> items, std::vector<Value> keys,
                          bool reverse);
Value make_iterator(std::function<bool(Runtime&, Value&)> next);

}  // namespace fathom::codec::jinja
