// Operators on values, as Python's are: arithmetic, comparison, membership, truth, slices.
// Called by codec/jinja_eval and the built-ins. Read next: codec/jinja_print.h.
#pragma once

#include "codec/jinja_ast.h"
#include "codec/jinja_runtime.h"

namespace fathom::codec::jinja {

// All of these refuse what Python refuses (kInvalidArgument, with the line).

Value binary(Runtime& runtime, Operator op, const Value& a, const Value& b);
// a + b. A text or list that nobody else holds grows in place.
Value add(Runtime& runtime, Value a, const Value& b);
Value negative(Runtime& runtime, const Value& value);
Value positive(Runtime& runtime, const Value& value);

bool is_true(const Value& value);
bool equal(Runtime& runtime, const Value& a, const Value& b);
// op: kLess, kLessEqual, kGreater, kGreaterEqual
bool ordered(Runtime& runtime, Operator op, const Value& a, const Value& b);
bool less(Runtime& runtime, const Value& a, const Value& b);
bool contains(Runtime& runtime, const Value& container, const Value& item);
bool compare(Runtime& runtime, Operator op, const Value& a, const Value& b);

// len(); false where the type has none.
bool find_length(const Value& value, int64_t& length);
int64_t length(Runtime& runtime, const Value& value);

// object[index] of a string, list, tuple or range; kMissing when out of range.
Value at_index(const Value& object, int64_t index);
// Bounds: kNone or kMissing for none.
Value slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
            const Value& step);

// As numbers: kInt, kBool, kBigInt, kFloat.
double as_double(const Value& number);
BigInt as_big(const Value& integer);
// A number as an int64 where it is one and fits.
bool find_int(const Value& value, int64_t& number);

// Goes through what Python's for goes through.
class Iteration {
 public:
  // Error: kInvalidArgument, "'int' object is not iterable".
  Iteration(Runtime& runtime, const Value& iterable);

  bool next(Value& item);

 private:
  bool next_of_dict(const DictObject& dict, ViewObject::Of of, Value& item);

  Runtime& runtime_;
  Value iterable_;
  size_t at_ = 0;
};

bool is_iterable(const Value& value);

}  // namespace fathom::codec::jinja
