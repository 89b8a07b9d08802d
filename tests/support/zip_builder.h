// Builds ZIP archives in memory, whole or broken on purpose. Stored entries only.
// Called by tests of weights. Source: PKWARE's APPNOTE.TXT, written independently of the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::test {

// One entry; what is set by hand overrides what the builder would write.
struct ZipItem {
  std::string name;
  std::vector<std::byte> bytes;
  uint16_t method = 0;
  uint16_t flags = 0x0808;  // as torch has it: UTF-8 names, sizes behind the content
  std::optional<uint32_t> packed_bytes;
  std::optional<uint32_t> n_bytes;
  std::optional<uint32_t> local_offset;
  std::optional<std::string> local_name;
  std::optional<uint16_t> local_method;
  std::vector<std::byte> extra;     // of the central directory
  bool is_64 = false;               // sizes and offset in a ZIP64 extra field
  std::optional<uint64_t> bytes64;  // what that field claims
};

class ZipBuilder {
 public:
  ZipBuilder& add(std::string_view name, std::string_view text);
  ZipBuilder& add(ZipItem item);

  // Pads each content to a multiple of `alignment` from the start of the file, as torch does.
  ZipBuilder& align(size_t alignment);

  // Writes the ZIP64 end record and locator, and an end record that points to them.
  ZipBuilder& use_zip64();

  // Fields of the end record; without these they are right.
  ZipBuilder& claim_n_entries(uint64_t count);
  ZipBuilder& claim_directory_bytes(uint64_t count);
  ZipBuilder& claim_directory_offset(uint64_t offset);
  ZipBuilder& disk(uint16_t number);
  ZipBuilder& comment(std::string text);

  // The whole file.
  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  std::vector<ZipItem> items_;
  size_t alignment_ = 1;
  bool is_64_ = false;
  uint16_t disk_ = 0;
  std::optional<uint64_t> n_entries_;
  std::optional<uint64_t> directory_bytes_;
  std::optional<uint64_t> directory_offset_;
  std::string comment_;
};

}  // namespace fathom::test
