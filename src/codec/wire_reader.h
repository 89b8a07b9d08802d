// The wire format of Protocol Buffers, as far as SentencePiece models need it.
// Called by codec/sentencepiece_file. Source: the Protocol Buffers encoding document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::codec {

// One field of a message.
struct WireField {
  uint32_t number = 0;
  uint64_t integer = 0;    // of a varint, or the bits of a fixed field
  std::string_view bytes;  // of a length-delimited field
  enum class Type { kVarint, kFixed64, kBytes, kFixed32 } type = Type::kVarint;

  [[nodiscard]] float as_float() const;
};

// Reads the fields of `message` one after another. Errors: kCorruptFile with file and byte offset
// for what is cut off, too long, or of a type that the format no longer has.
class WireReader {
 public:
  // `offset`: where `message` begins in the file.
  WireReader(std::string_view message, std::string path, size_t offset = 0)
      : message_(message), path_(std::move(path)), offset_(offset) {}

  std::optional<WireField> next();

  // Where the bytes of `field` begin in the file.
  [[nodiscard]] size_t offset_of(const WireField& field) const {
    return offset_ + static_cast<size_t>(field.bytes.data() - message_.data());
  }

 private:
  uint64_t read_varint();
  uint64_t read_fixed(size_t n_bytes);
  [[noreturn]] void refuse(std::string_view what) const;

  std::string_view message_;
  std::string path_;
  size_t offset_;
  size_t at_ = 0;
};

}  // namespace fathom::codec
