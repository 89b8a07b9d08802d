// The values of a template, as Python's are to jinja2; each remembers which input it came from.
// Called by every jinja_ file. Read next: codec/jinja_text.h, codec/jinja_runtime.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/jinja_bigint.h"

namespace fathom::codec::jinja {

// Which input a value came from: an index into the origins of the variables. 0: the template.
using OriginId = uint32_t;
inline constexpr OriginId kTemplateOrigin = 0;

enum class Kind : uint8_t {
  kMissing,  // no value: an unset variable, an argument that was not given
  kNone,
  kBool,
  kInt,  // 64 bits
  kFloat,
  // From here on: a counted object.
  kUndefined,
  kBigInt,  // only where 64 bits are not enough
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kView,       // keys(), values() or items() of a dict
  kIterator,   // gives each value once
  kNamespace,  // the one kind that a template can change
  kObject,     // macros, functions, loop, cycler ...
};

inline constexpr size_t kKinds = static_cast<size_t>(Kind::kObject) + 1;

// Base of everything that is counted. Counts are plain: a value belongs to one render on one
// thread. An immortal object belongs to a template instead; its count is never touched, so that
// several threads may render at once.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  void retain() {
    if (n_refs_ != kImmortal) {
      ++n_refs_;
    }
  }

  // True when that was the last reference.
  bool release() { return n_refs_ != kImmortal && --n_refs_ == 0; }

  void make_immortal() { n_refs_ = kImmortal; }

  // Whether the one reference is all there is: whoever holds it may change the object.
  [[nodiscard]] bool is_unique() const { return n_refs_ == 1; }

 private:
  static constexpr uint32_t kImmortal = ~uint32_t{0};
  uint32_t n_refs_ = 1;
};

// Deletes an object whose last reference is gone. What it held is deleted after it, not inside it:
// a chain of a million lists must not need a million stack frames.
void dispose(Object* object) noexcept;

// A counted pointer.
template <class T>
class Ref {
 public:
  Ref() = default;

  // Takes over the reference of a new object.
  explicit Ref(T* object) : object_(object) {}

  Ref(const Ref& other) : object_(other.object_) { retain(); }

  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}

  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  ~Ref() {
    if (object_ != nullptr && object_->release()) {
      dispose(object_);
    }
  }

  // One more reference to an object that has an owner already.
  static Ref share(T* object) {
    Ref ref(object);
    ref.retain();
    return ref;
  }

  [[nodiscard]] T* get() const { return object_; }

  [[nodiscard]] T* operator->() const { return object_; }

  explicit operator bool() const { return object_ != nullptr; }

 private:
  void retain() {
    if (object_ != nullptr) {
      object_->retain();
    }
  }

  T* object_ = nullptr;
};

class Value {
 public:
  Value() : bits_{.integer = 0} {}

  // Takes over the reference of a new object.
  Value(Kind kind, Object* object, OriginId origin = kTemplateOrigin)
      : kind_(kind), origin_(origin), bits_{.object = object} {}

  Value(const Value& other) : kind_(other.kind_), origin_(other.origin_), bits_(other.bits_) {
    if (is_object()) {
      bits_.object->retain();
    }
  }

  Value(Value&& other) noexcept
      : kind_(std::exchange(other.kind_, Kind::kMissing)),
        origin_(other.origin_),
        bits_(other.bits_) {}

  Value& operator=(const Value& other) { return *this = Value(other); }

  Value& operator=(Value&& other) noexcept {
    // The old object goes last: the other value may be a part of it.
    const bool had_object = is_object();
    const Bits old = bits_;
    kind_ = std::exchange(other.kind_, Kind::kMissing);
    origin_ = other.origin_;
    bits_ = other.bits_;
    if (had_object && old.object->release()) {
      dispose(old.object);
    }
    return *this;
  }

  ~Value() {
    if (is_object() && bits_.object->release()) {
      dispose(bits_.object);
    }
  }

  static Value none() { return {Kind::kNone, Bits{.integer = 0}}; }

  static Value boolean(bool value) { return {Kind::kBool, Bits{.integer = value ? 1 : 0}}; }

  static Value integer(int64_t value) { return {Kind::kInt, Bits{.integer = value}}; }

  static Value integer(const BigInt& value);  // kInt where it fits

  static Value real(double value) { return {Kind::kFloat, Bits{.real = value}}; }

  static Value string(std::string text, OriginId origin = kTemplateOrigin);  // valid UTF-8
  static Value list(std::vector<Value> items, OriginId origin = kTemplateOrigin);
  static Value tuple(std::vector<Value> items);
  // Every use but printing, testing and iterating is refused, with the message.
  static Value undefined(std::string message);
  static Value undefined_name(std::string_view name);
  // `owner`: a type name, which must be static.
  static Value undefined_attribute(std::string_view owner, std::string_view name);

  [[nodiscard]] Kind kind() const { return kind_; }

  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }

  [[nodiscard]] bool is_missing() const { return kind_ == Kind::kMissing; }

  [[nodiscard]] bool is_object() const { return kind_ >= Kind::kUndefined; }

  [[nodiscard]] bool is_integer() const {  // Python's int: bool is one
    return kind_ == Kind::kInt || kind_ == Kind::kBool || kind_ == Kind::kBigInt;
  }

  [[nodiscard]] bool is_number() const { return is_integer() || kind_ == Kind::kFloat; }

  [[nodiscard]] bool as_bool() const { return bits_.integer != 0; }

  [[nodiscard]] int64_t as_int() const { return bits_.integer; }  // kInt and kBool

  [[nodiscard]] double as_float() const { return bits_.real; }

  [[nodiscard]] Object* object() const { return bits_.object; }

  // The object, whose type the caller knows from the kind.
  template <class T>
  [[nodiscard]] T& as() const {
    return static_cast<T&>(*bits_.object);
  }

  [[nodiscard]] OriginId origin() const { return origin_; }

  [[nodiscard]] Value with_origin(OriginId origin) const {
    Value copy = *this;
    copy.origin_ = origin;
    return copy;
  }

  // The bytes of a kString; valid as long as the value.
  [[nodiscard]] std::string_view text() const;

 private:
  union Bits {
    int64_t integer;
    double real;
    Object* object;
  };

  Value(Kind kind, Bits bits) : kind_(kind), bits_(bits) {}

  Kind kind_ = Kind::kMissing;
  OriginId origin_ = kTemplateOrigin;
  Bits bits_;
};

// A piece of a string that came from several inputs.
struct Run {
  size_t end;  // byte after its last one
  OriginId origin;
};

struct StringObject : Object {
  std::string bytes;       // valid UTF-8
  std::vector<Run> runs;   // empty: all of it has the value's own origin
  int64_t n_chars = -1;    // -1: not counted yet
  bool is_markup = false;  // made by the filters safe and escape
};

inline std::string_view Value::text() const {
  return as<StringObject>().bytes;
}

struct BigIntObject : Object {
  BigInt value;
};

// Most are only asked whether they are defined, so the message is put together when it is needed.
struct UndefinedObject : Object {
  enum class What { kMessage, kName, kAttribute };
  What what = What::kMessage;
  std::string_view owner;  // kAttribute: the type of the value
  std::string text;

  [[nodiscard]] std::string message() const;
};

// kList and kTuple.
struct SequenceObject : Object {
  std::vector<Value> items;
  bool is_group = false;  // a tuple of groupby: its two items have the names grouper and list
};

struct RangeObject : Object {
  int64_t start = 0, stop = 0, step = 1, size = 0;
};

// Keys in the order in which they were first set. Keys are hashable.
struct DictObject : Object {
  DictObject() = default;

  DictObject(DictObject&& other) noexcept
      : entries(std::move(other.entries)), index_(std::move(other.index_)) {}

  DictObject& operator=(DictObject&& other) noexcept {
    entries = std::move(other.entries);
    index_ = std::move(other.index_);
    return *this;
  }

  std::vector<std::pair<Value, Value>> entries;

  // The value of a key, or null. Errors: kInvalidArgument for a key that cannot be hashed.
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  void set(Value key, Value value);

 private:
  [[nodiscard]] size_t entry_of(const Value& key) const;  // entries.size() where there is none
  [[nodiscard]] size_t place_of(const Value& key, uint64_t hash) const;
  [[nodiscard]] size_t entry_of(std::string_view key) const;
  void rebuild();

  std::vector<uint32_t>
      index_;  // open addressing over entries, index + 1; empty while there are few
};

struct ViewObject : Object {
  enum class Of { kKeys, kValues, kItems };
  Value dict;
  Of of = Of::kKeys;
};

// Python's type name: "str", "list", "NoneType" ...
std::string_view type_name(const Value& value);

// Equal values have equal hashes, across kinds of numbers too. Error: kInvalidArgument for a list,
// a dict and what holds one.
uint64_t hash_of(const Value& value, int depth = 0);

// As keys of a dict are compared: numbers by value, strings, None, tuples of these; others by
// identity.
bool same_key(const Value& a, const Value& b, int depth = 0);

}  // namespace fathom::codec::jinja
