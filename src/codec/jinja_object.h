// Callable values and values with attributes of their own; how built-ins declare their parameters.
// Called by codec/jinja_runtime and the files of built-ins. Read next: codec/jinja_runtime.h.
#pragma once

#include <array>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/jinja_value.h"

namespace fathom::codec::jinja {

class Runtime;

struct Keyword {
  std::string_view name;
  Value value;
  Value owner = {};  // holds the name where it is none of the template's
};

// What a call passes; valid during the call.
struct Arguments {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;
};

// A list of values that needs no memory of its own while it is short.
class ShortList {
 public:
  void push_back(Value value) {
    if (n_ < kShort) {
      short_[n_++] = std::move(value);
      return;
    }
    if (long_.empty()) {
      long_.assign(std::make_move_iterator(short_.begin()), std::make_move_iterator(short_.end()));
    }
    long_.push_back(std::move(value));
  }

  [[nodiscard]] std::span<const Value> view() const {
    return long_.empty() ? std::span<const Value>(short_.data(), n_) : std::span(long_);
  }

 private:
  static constexpr size_t kShort = 3;
  std::array<Value, kShort> short_;
  size_t n_ = 0;
  std::vector<Value> long_;
};

// Arguments sorted to the parameters of a built-in.
struct Bound {
  const Value& self;             // what a filter, test or method is applied to
  std::array<Value, 5> values;   // kMissing where not given
  std::span<const Value> extra;  // positional arguments beyond the parameters, with kTakesMore
  std::span<const Keyword> extra_keywords;

  const Value& operator[](size_t i) const { return values[i]; }

  [[nodiscard]] bool has(size_t i) const { return !values[i].is_missing(); }
};

using BuiltinFunction = Value (*)(Runtime& runtime, const Bound& args);

// A built-in filter, test, method or function. `parameters` are separated by commas; one that ends
// in '/' cannot be given by name.
struct Signature {
  std::string_view name;
  BuiltinFunction function;
  std::string_view parameters = {};
  size_t n_required = 0;
  bool takes_more = false;      // *args
  bool takes_keywords = false;  // **kwargs
  size_t n_parameters = count_parameters(parameters);

  static constexpr size_t count_parameters(std::string_view list) {
    size_t n = list.empty() ? 0 : 1;
    for (const char c : list) {
      n += c == ',' ? 1 : 0;
    }
    return n;
  }
};

// Binds arguments; errors as Python words them.
Value call_builtin(Runtime& runtime, const Signature& signature, const Value& self,
                   const Arguments& arguments);

// A value of Kind::kObject.
class SpecialObject : public Object {
 public:
  [[nodiscard]] virtual std::string_view type() const = 0;

  // kMissing where there is no such attribute.
  virtual Value attribute(Runtime& runtime, std::string_view name);

  [[nodiscard]] virtual bool is_callable() const { return false; }

  virtual Value call(Runtime& runtime, const Arguments& arguments);

  // Python's repr.
  [[nodiscard]] virtual std::string print() const;
};

// A built-in function, or a method bound to a value.
class FunctionObject : public SpecialObject {
 public:
  FunctionObject(const Signature& signature, Value self)
      : signature_(signature), self_(std::move(self)) {}

  [[nodiscard]] std::string_view type() const override;

  [[nodiscard]] bool is_callable() const override { return true; }

  Value call(Runtime& runtime, const Arguments& arguments) override;
  [[nodiscard]] std::string print() const override;

 private:
  const Signature& signature_;
  Value self_;
};

// A FunctionObject as a value. `signature` must be static; `self` is kMissing for a plain function.
Value make_function(const Signature& signature, Value self = {});

// Gives values one by one: next() is false at the end.
struct IteratorObject : Object {
  std::function<bool(Runtime&, Value&)> next;
};

}  // namespace fathom::codec::jinja
