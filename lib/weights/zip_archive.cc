// The end record, the central directory and one local header per entry: what is read of a ZIP file.
// Called by weights/pytorch. Read next: weights/pytorch.cc.
#include "weights/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/tensor_check.h"

namespace fathom::weights {

namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;

constexpr size_t kLocalBytes = 30;
constexpr size_t kDirectoryBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kMaxCommentBytes = 65535;

constexpr uint16_t kEncrypted = 1;     // bit of the flags
constexpr uint16_t kStored = 0;        // method
constexpr uint16_t kExtra64 = 0x0001;  // id of the extra field with 64-bit sizes
constexpr uint16_t kFull16 = 0xffff;   // "see the 64-bit field"
constexpr uint32_t kFull32 = 0xffffffff;

// Where the central directory lies and what it holds.
struct Directory {
  uint64_t n_entries = 0;
  uint64_t n_bytes = 0;
  uint64_t offset = 0;
  size_t end_offset = 0;  // of the record that states this
};

// What the central directory says about one entry.
struct EntryHeader {
  std::string_view name;
  uint64_t packed_bytes = 0;
  uint64_t n_bytes = 0;
  uint64_t local_offset = 0;
  size_t directory_offset = 0;
};

uint32_t word_at(std::span<const std::byte> bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

uint16_t half_at(std::span<const std::byte> bytes, size_t offset) {
  uint16_t half = 0;
  std::memcpy(&half, bytes.data() + offset, sizeof(half));
  return half;
}

void expect_signature(ByteReader& reader, uint32_t expected, std::string_view field) {
  const size_t start = reader.offset();
  const auto found = reader.read<uint32_t>(field);
  if (found != expected) {
    reader.fail_at(start, field, fmt::format("{:#010x}", found), fmt::format("{:#010x}", expected));
  }
}

void expect_one_disk(ByteReader& reader, size_t at, uint64_t disk) {
  if (disk != 0) {
    reader.fail_at(at, "disk number", fmt::format("{}", disk), "0: one archive in one file",
                   ErrorCode::kUnsupported);
  }
}

// The last record whose comment ends with the file.
size_t find_end_record(std::span<const std::byte> bytes, std::string_view name) {
  const size_t size = bytes.size();
  const size_t deepest = std::min(size, kEndBytes + kMaxCommentBytes);
  for (size_t back = kEndBytes; back <= deepest; ++back) {
    const size_t at = size - back;
    if (word_at(bytes, at) == kEndSignature && half_at(bytes, at + 20) == back - kEndBytes) {
      return at;
    }
  }
  const ByteReader reader(bytes, name);
  reader.fail_at(size, "end of the ZIP archive", "no end record",
                 "one in the last 65557 bytes; the file is cut off or damaged");
}

Directory read_end64(std::span<const std::byte> bytes, std::string_view name, size_t end) {
  if (end < kLocator64Bytes + kEnd64Bytes) {
    const ByteReader at_end(bytes, name);
    at_end.fail_at(end, "end record", "fields that point to a ZIP64 record",
                   "such a record before it");
  }
  const size_t locator_offset = end - kLocator64Bytes;
  ByteReader locator(bytes, name, locator_offset);
  expect_signature(locator, kLocator64Signature, "ZIP64 locator");
  expect_one_disk(locator, locator_offset + 4, locator.read<uint32_t>("disk number"));
  const auto record_offset = locator.read<uint64_t>("ZIP64 record offset");
  if (record_offset > locator_offset - kEnd64Bytes) {
    locator.fail_at(locator_offset + 8, "ZIP64 record offset", fmt::format("{}", record_offset),
                    fmt::format("at most {}", locator_offset - kEnd64Bytes));
  }
  ByteReader reader(bytes, name, static_cast<size_t>(record_offset));
  expect_signature(reader, kEnd64Signature, "ZIP64 end record");
  reader.read_bytes(12, "ZIP64 end record");  // its size and two version numbers
  expect_one_disk(reader, reader.offset(), reader.read<uint32_t>("disk number"));
  expect_one_disk(reader, reader.offset(), reader.read<uint32_t>("disk number"));
  reader.read_bytes(8, "entries on this disk");
  Directory directory;
  directory.n_entries = reader.read<uint64_t>("number of entries");
  directory.n_bytes = reader.read<uint64_t>("central directory size");
  directory.offset = reader.read<uint64_t>("central directory offset");
  directory.end_offset = static_cast<size_t>(record_offset);
  return directory;
}

Directory read_end(std::span<const std::byte> bytes, std::string_view name) {
  const size_t end = find_end_record(bytes, name);
  ByteReader reader(bytes, name, end + 4);
  const auto disk = reader.read<uint16_t>("disk number");
  reader.read_bytes(4, "end record");  // disk of the directory, entries on this disk
  Directory directory;
  directory.n_entries = reader.read<uint16_t>("number of entries");
  directory.n_bytes = reader.read<uint32_t>("central directory size");
  directory.offset = reader.read<uint32_t>("central directory offset");
  directory.end_offset = end;
  const bool is_64 = disk == kFull16 || directory.n_entries == kFull16 ||
                     directory.n_bytes == kFull32 || directory.offset == kFull32;
  if (is_64) {
    directory = read_end64(bytes, name, end);
  } else {
    expect_one_disk(reader, end + 4, disk);
  }
  if (directory.offset > directory.end_offset ||
      directory.n_bytes > directory.end_offset - directory.offset) {
    reader.fail_at(directory.end_offset, "central directory",
                   fmt::format("{} bytes from byte {}", directory.n_bytes, directory.offset),
                   fmt::format("an end at byte {} or before", directory.end_offset));
  }
  if (directory.n_entries > directory.n_bytes / kDirectoryBytes) {
    reader.fail_at(
        directory.end_offset, "number of entries", fmt::format("{}", directory.n_entries),
        fmt::format("at most {} (the central directory has {} bytes, each takes {} or "
                    "more)",
                    directory.n_bytes / kDirectoryBytes, directory.n_bytes, kDirectoryBytes));
  }
  return directory;
}

// Replaces the fields that say "see below" by the 64-bit ones of the extra field.
void read_extra64(ByteReader& reader, size_t end, EntryHeader& entry) {
  uint64_t* const fields[] = {&entry.n_bytes, &entry.packed_bytes, &entry.local_offset};
  const auto is_full = [](const uint64_t* field) { return *field == kFull32; };
  if (std::ranges::none_of(fields, is_full)) {
    return;
  }
  while (end - reader.offset() >= 4) {
    const auto id = reader.read<uint16_t>("extra field");
    const auto length = reader.read<uint16_t>("extra field");
    if (length > end - reader.offset()) {
      break;
    }
    if (id != kExtra64) {
      reader.read_bytes(length, "extra field");
      continue;
    }
    const size_t field_end = reader.offset() + length;
    for (uint64_t* field : fields) {
      if (is_full(field) && field_end - reader.offset() >= 8) {
        *field = reader.read<uint64_t>("ZIP64 field");
      }
    }
    return;
  }
  reader.fail_at(entry.directory_offset, "size", "fields that point to a ZIP64 extra field",
                 "such a field");
}

void check_method(ByteReader& reader, size_t at, uint16_t flags, uint16_t method) {
  if ((flags & kEncrypted) != 0) {
    reader.fail_at(at, "flags", "an encrypted entry", "entries that are not",
                   ErrorCode::kUnsupported);
  }
  if (method != kStored) {
    reader.fail_at(
        at, "compression method", fmt::format("{}{}", method, method == 8 ? " (deflated)" : ""),
        "0 (stored): torch.save never compresses; unpacking is refused", ErrorCode::kUnsupported);
  }
}

EntryHeader read_entry_header(ByteReader& reader) {
  EntryHeader entry;
  entry.directory_offset = reader.offset();
  reader.set_subject({}, {});
  expect_signature(reader, kDirectorySignature, "central directory entry");
  reader.read_bytes(4, "versions");
  const auto flags = reader.read<uint16_t>("flags");
  const auto method = reader.read<uint16_t>("compression method");
  reader.read_bytes(8, "time and checksum");
  entry.packed_bytes = reader.read<uint32_t>("compressed size");
  entry.n_bytes = reader.read<uint32_t>("size");
  const auto name_bytes = reader.read<uint16_t>("name length");
  const auto extra_bytes = reader.read<uint16_t>("extra field length");
  const auto comment_bytes = reader.read<uint16_t>("comment length");
  reader.read_bytes(8, "disk and attributes");
  entry.local_offset = reader.read<uint32_t>("local header offset");
  const std::span<const std::byte> raw_name = reader.read_bytes(name_bytes, "entry name");
  entry.name = {reinterpret_cast<const char*>(raw_name.data()), raw_name.size()};
  reader.set_subject("entry", entry.name);
  check_method(reader, entry.directory_offset, flags, method);
  const size_t extra_start = reader.offset();
  if (extra_bytes > reader.remaining()) {
    reader.fail_at(extra_start, "extra field length", fmt::format("{}", extra_bytes),
                   fmt::format("at most {}", reader.remaining()));
  }
  read_extra64(reader, extra_start + extra_bytes, entry);
  const size_t n_read = reader.offset() - extra_start;
  reader.read_bytes(extra_bytes - n_read, "extra field");
  reader.read_bytes(comment_bytes, "comment");
  return entry;
}

// Follows the entry to its local header, and gives its content.
ZipEntry locate(ByteReader& directory, std::span<const std::byte> files, std::string_view name,
                const EntryHeader& entry) {
  if (entry.packed_bytes != entry.n_bytes) {
    directory.fail_at(entry.directory_offset, "size",
                      fmt::format("{} bytes packed to {}", entry.n_bytes, entry.packed_bytes),
                      "equal sizes, since the entry is stored");
  }
  if (entry.local_offset > files.size() || files.size() - entry.local_offset < kLocalBytes) {
    directory.fail_at(
        entry.directory_offset, "local header offset", fmt::format("{}", entry.local_offset),
        fmt::format("{} bytes before the central directory at byte {}", kLocalBytes, files.size()));
  }
  const auto start = static_cast<size_t>(entry.local_offset);
  ByteReader reader(files, name, start);
  reader.set_subject("entry", entry.name);
  expect_signature(reader, kLocalSignature, "local header");
  reader.read_bytes(2, "version");
  const auto flags = reader.read<uint16_t>("flags");
  check_method(reader, start, flags, reader.read<uint16_t>("compression method"));
  reader.read_bytes(16, "time, checksum and sizes");  // the central directory has them all
  const auto name_bytes = reader.read<uint16_t>("name length");
  const auto extra_bytes = reader.read<uint16_t>("extra field length");
  const std::span<const std::byte> raw_name = reader.read_bytes(name_bytes, "entry name");
  const std::string_view local_name(reinterpret_cast<const char*>(raw_name.data()), name_bytes);
  if (local_name != entry.name) {
    reader.fail_at(start, "entry name", in_quotes(local_name),
                   "the same as in the central directory");
  }
  reader.read_bytes(extra_bytes, "extra field");
  if (entry.n_bytes > reader.remaining()) {
    directory.fail_at(
        entry.directory_offset, "size", fmt::format("{} bytes", entry.n_bytes),
        fmt::format("at most {}, which are left behind its local header", reader.remaining()));
  }
  const size_t content = reader.offset();
  return {entry.name, reader.read_bytes(static_cast<size_t>(entry.n_bytes), "content"), content,
          entry.directory_offset};
}

void check_overlaps(ByteReader& reader, std::vector<TensorRange>& ranges) {
  if (const auto i = find_overlap(ranges)) {
    const TensorRange& later = ranges[*i];
    const TensorRange& earlier = ranges[*i - 1];
    reader.set_subject("entry", later.name);
    reader.fail_at(
        later.field_offset, "local header offset", fmt::format("{}", later.begin),
        fmt::format("{} or more: entry {} reaches to there", earlier.end, in_quotes(earlier.name)));
  }
}

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> bytes, std::string_view name) {
  const Directory directory = read_end(bytes, name);
  const auto start = static_cast<size_t>(directory.offset);
  ByteReader reader(bytes.first(start + static_cast<size_t>(directory.n_bytes)), name, start);
  std::vector<TensorRange> ranges;
  for (uint64_t i = 0; i < directory.n_entries; ++i) {
    const EntryHeader header = read_entry_header(reader);
    entries_.push_back(locate(reader, bytes.first(start), name, header));
    const ZipEntry& entry = entries_.back();
    ranges.push_back({header.local_offset, entry.content_offset + entry.bytes.size(),
                      header.directory_offset, entry.name});
  }
  reader.set_subject({}, {});
  if (reader.remaining() != 0) {
    reader.fail_at(reader.offset(), "central directory",
                   fmt::format("{} bytes behind the last entry", reader.remaining()),
                   fmt::format("{} entries and no more", directory.n_entries));
  }
  check_overlaps(reader, ranges);
  std::ranges::sort(entries_, {}, &ZipEntry::name);
  const auto twice = std::ranges::adjacent_find(entries_, {}, &ZipEntry::name);
  if (twice != entries_.end()) {
    reader.set_subject("entry", twice->name);
    reader.fail_at(std::max(twice->directory_offset, (twice + 1)->directory_offset), "name",
                   "it a second time", "each entry once");
  }
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto it = std::ranges::lower_bound(entries_, name, {}, &ZipEntry::name);
  return it == entries_.end() || it->name != name ? nullptr : &*it;
}

}  // namespace fathom::weights
