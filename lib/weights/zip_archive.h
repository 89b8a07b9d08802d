// Finds the entries of a ZIP archive in memory: stored ones only, nothing is unpacked or copied.
// Called by weights/pytorch. Read next: weights/pytorch.cc.
// Source: PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.5.3 (ZIP64).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace fathom::weights {

struct ZipEntry {
  std::string_view name;             // as the archive spells it, folders included
  std::span<const std::byte> bytes;  // the content
  size_t content_offset = 0;         // where it starts in the file
  size_t directory_offset = 0;       // where the central directory tells about it, for errors
};

class ZipArchive {
 public:
  // Reads the central directory of the archive that `bytes` are, whole. Views point into `bytes`,
  // which must outlive the archive, as must `name`, the file's name for errors. Checksums are not
  // compared. Errors: kUnsupported (a compressed or encrypted entry, an archive in several files),
  // kCorruptFile (no end record, counts, sizes and offsets beyond the file, entries that overlap,
  // names that stand twice); each names file, byte offset, entry, found and allowed.
  ZipArchive(std::span<const std::byte> bytes, std::string_view name);

  // All entries, by name.
  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }

  // nullptr when there is none.
  [[nodiscard]] const ZipEntry* find(std::string_view name) const;

 private:
  std::vector<ZipEntry> entries_;
};

}  // namespace fathom::weights
