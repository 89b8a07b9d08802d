// Varints of seven bits a byte, fixed fields, and fields that begin with their length.
// Called by codec/sentencepiece_file. Read next: codec/sentencepiece_file.cc.
#include "codec/wire_reader.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"

namespace fathom::codec {

float WireField::as_float() const {
  return std::bit_cast<float>(static_cast<uint32_t>(integer));
}

void WireReader::refuse(std::string_view what) const {
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: byte {}: {}; expected a SentencePiece model (Protocol Buffers)", path_,
                   offset_ + at_, what));
}

uint64_t WireReader::read_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == message_.size()) {
      refuse("a number is cut off");
    }
    const auto byte = static_cast<unsigned char>(message_[at_]);
    ++at_;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  refuse("a number has more than ten bytes");
}

uint64_t WireReader::read_fixed(size_t n_bytes) {
  if (message_.size() - at_ < n_bytes) {
    refuse("a number is cut off");
  }
  uint64_t value = 0;
  std::memcpy(&value, message_.data() + at_, n_bytes);
  at_ += n_bytes;
  return value;
}

std::optional<WireField> WireReader::next() {
  if (at_ == message_.size()) {
    return std::nullopt;
  }
  const uint64_t tag = read_varint();
  WireField field;
  field.number = static_cast<uint32_t>(tag >> 3);
  if (field.number == 0 || tag >> 3 > UINT32_MAX) {
    refuse("a field has no valid number");
  }
  switch (tag & 7) {
    case 0:
      field.integer = read_varint();
      return field;
    case 1:
      field.type = WireField::Type::kFixed64;
      field.integer = read_fixed(8);
      return field;
    case 2: {
      field.type = WireField::Type::kBytes;
      const uint64_t size = read_varint();
      if (size > message_.size() - at_) {
        refuse(fmt::format("field {} says {} bytes, {} are left", field.number, size,
                           message_.size() - at_));
      }
      field.bytes = message_.substr(at_, size);
      at_ += size;
      return field;
    }
    case 5:
      field.type = WireField::Type::kFixed32;
      field.integer = read_fixed(4);
      return field;
    default:
      refuse(fmt::format("field {} has the type {}", field.number, tag & 7));
  }
}

}  // namespace fathom::codec
