// Reads little-endian fields from bytes, each checked against the end, with errors that name the
// spot. Called by weights/gguf, weights/safetensors, weights/pytorch. Read next: weights/gguf.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace fathom::weights {

// A cursor over bytes that it does not own. A failed read throws and leaves the cursor where it
// was.
class ByteReader {
 public:
  // `name` is the file, for error messages; both arguments must outlive the reader. It starts at
  // byte `start`, at most bytes.size().
  ByteReader(std::span<const std::byte> bytes, std::string_view name, size_t start = 0)
      : bytes_(bytes), name_(name), offset_(start) {}

  [[nodiscard]] size_t offset() const { return offset_; }

  [[nodiscard]] size_t remaining() const { return bytes_.size() - offset_; }

  [[nodiscard]] std::string_view name() const { return name_; }

  // What the fields that follow belong to, for errors: ("tensor", "output.weight"). `name` must
  // stay valid until the next call.
  void set_subject(std::string_view kind, std::string_view subject_name) {
    kind_ = kind;
    subject_name_ = subject_name;
  }

  // The next sizeof(T) bytes as an integer or float of type T. Error: kCorruptFile at the end.
  template <class T>
  T read(std::string_view field) {
    static_assert(std::is_arithmetic_v<T>);
    const std::span<const std::byte> raw = read_bytes(sizeof(T), field);
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  // A view of the next `count` bytes, valid as long as the bytes are. Error: kCorruptFile.
  std::span<const std::byte> read_bytes(size_t count, std::string_view field);

  // A view of the next bytes up to '\n', which is skipped. Error: kCorruptFile when `max_bytes` or
  // the end come first.
  std::string_view read_line(size_t max_bytes, std::string_view field);

  // A view of a string stored as 64-bit length and bytes, 0 to `max_bytes` long. Error:
  // kCorruptFile.
  std::string_view read_string(size_t max_bytes, std::string_view field);

  // A 64-bit count of things that take at least `min_bytes_each` bytes of the rest of the file: a
  // count that passes may be reserved for. Error: kCorruptFile.
  size_t read_count(size_t min_bytes_each, std::string_view field);

  // Throws "file: byte offset: subject, field: found ..., allowed ...".
  [[noreturn]] void fail_at(size_t offset, std::string_view field, std::string_view found,
                            std::string_view allowed,
                            ErrorCode code = ErrorCode::kCorruptFile) const;

 private:
  std::span<const std::byte> bytes_;
  std::string_view name_;
  size_t offset_;
  std::string_view kind_;
  std::string_view subject_name_;
};

// `text` in double quotes on one line: control bytes escaped, cut after 200 bytes.
std::string in_quotes(std::string_view text);

// a * b and a + b, or false when they do not fit.
inline bool multiply_fits(uint64_t a, uint64_t b, uint64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

inline bool add_fits(uint64_t a, uint64_t b, uint64_t& sum) {
  return !__builtin_add_overflow(a, b, &sum);
}

}  // namespace fathom::weights
