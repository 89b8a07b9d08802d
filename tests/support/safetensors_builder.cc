// Header length, JSON header padded to 8 bytes, data.
#include "support/safetensors_builder.h"

#include <fmt/format.h>

#include <utility>

#include "base/tensor.h"
#include "support/gguf_builder.h"

namespace fathom::test {

SafetensorsBuilder& SafetensorsBuilder::add(std::string_view name, std::string_view dtype,
                                            std::span<const int64_t> shape,
                                            std::span<const std::byte> bytes) {
  entries_ += fmt::format("{}\"{}\":{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                          entries_.empty() ? "" : ",", name, dtype, format_shape(shape),
                          data_.size(), data_.size() + bytes.size());
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  return *this;
}

SafetensorsBuilder& SafetensorsBuilder::add(std::string_view name, std::span<const int64_t> shape,
                                            const std::vector<float>& values) {
  return add(name, "F32", shape, raw_bytes(values));
}

SafetensorsBuilder& SafetensorsBuilder::header(std::string text) {
  header_ = std::move(text);
  return *this;
}

SafetensorsBuilder& SafetensorsBuilder::claim_header_bytes(uint64_t count) {
  header_bytes_ = count;
  return *this;
}

SafetensorsBuilder& SafetensorsBuilder::append(std::span<const std::byte> bytes) {
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  return *this;
}

std::vector<std::byte> SafetensorsBuilder::bytes() const {
  std::string text = header_.value_or("{" + entries_ + "}");
  text.append((8 - text.size() % 8) % 8, ' ');
  std::vector<std::byte> out = raw_bytes(header_bytes_.value_or(text.size()));
  const auto raw = std::as_bytes(std::span(text));
  out.insert(out.end(), raw.begin(), raw.end());
  out.insert(out.end(), data_.begin(), data_.end());
  return out;
}

}  // namespace fathom::test
