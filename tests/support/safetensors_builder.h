// Builds safetensors files in memory, whole or broken on purpose.
// Called by tests of weights, model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::test {

class SafetensorsBuilder {
 public:
  // A tensor of `dtype` ("F32", "BF16" ...) and shape [outer, ..., inner], its data after the last.
  SafetensorsBuilder& add(std::string_view name, std::string_view dtype,
                          std::span<const int64_t> shape, std::span<const std::byte> bytes);

  // The same with F32 values.
  SafetensorsBuilder& add(std::string_view name, std::span<const int64_t> shape,
                          const std::vector<float>& values);

  // The header as given instead of the one that fits.
  SafetensorsBuilder& header(std::string text);
  SafetensorsBuilder& claim_header_bytes(uint64_t count);
  // Bytes after what was added.
  SafetensorsBuilder& append(std::span<const std::byte> bytes);

  // The whole file.
  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  std::string entries_;
  std::vector<std::byte> data_;
  std::optional<std::string> header_;
  std::optional<uint64_t> header_bytes_;
};

}  // namespace fathom::test
