// Local headers and contents, central directory, end record.
#include "support/zip_builder.h"

#include <utility>

#include "support/gguf_builder.h"

namespace fathom::test {

namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& out, T value) {
  const Bytes raw = raw_bytes(value);
  out.insert(out.end(), raw.begin(), raw.end());
}

void put_text(Bytes& out, std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  out.insert(out.end(), raw.begin(), raw.end());
}

void put_bytes(Bytes& out, std::span<const std::byte> raw) {
  out.insert(out.end(), raw.begin(), raw.end());
}

void put_local(Bytes& out, const ZipItem& item, size_t alignment) {
  const std::string name = item.local_name.value_or(item.name);
  put(out, uint32_t{0x04034b50});
  put(out, uint16_t{20});
  put(out, item.flags);
  put(out, item.local_method.value_or(item.method));
  put(out, uint32_t{0});  // time, date
  put(out, uint32_t{0});  // checksum
  put(out, uint32_t{0});  // both sizes stand behind the content
  put(out, uint32_t{0});
  put(out, static_cast<uint16_t>(name.size()));
  const size_t padding = (alignment - (out.size() + 2 + name.size()) % alignment) % alignment;
  put(out, static_cast<uint16_t>(padding));
  put_text(out, name);
  out.resize(out.size() + padding);
  put_bytes(out, item.bytes);
  put(out, uint32_t{0x08074b50});
  put(out, uint32_t{0});
  put(out, static_cast<uint32_t>(item.bytes.size()));
  put(out, static_cast<uint32_t>(item.bytes.size()));
}

// The extra field of an entry of the central directory.
Bytes extra_of(const ZipItem& item, size_t local_offset) {
  Bytes extra = item.extra;
  if (item.is_64) {
    put(extra, uint16_t{1});
    put(extra, uint16_t{24});
    put(extra, item.bytes64.value_or(item.bytes.size()));
    put(extra, item.bytes64.value_or(item.bytes.size()));
    put(extra, uint64_t{item.local_offset.value_or(static_cast<uint32_t>(local_offset))});
  }
  return extra;
}

void put_directory(Bytes& out, const ZipItem& item, size_t local_offset) {
  const uint32_t full = 0xffffffff;
  const auto size = static_cast<uint32_t>(item.bytes.size());
  const auto offset = static_cast<uint32_t>(local_offset);
  const Bytes extra = extra_of(item, local_offset);
  put(out, uint32_t{0x02014b50});
  put(out, uint16_t{20});
  put(out, uint16_t{20});
  put(out, item.flags);
  put(out, item.method);
  put(out, uint32_t{0});
  put(out, uint32_t{0});
  put(out, item.is_64 ? full : item.packed_bytes.value_or(size));
  put(out, item.is_64 ? full : item.n_bytes.value_or(size));
  put(out, static_cast<uint16_t>(item.name.size()));
  put(out, static_cast<uint16_t>(extra.size()));
  put(out, uint16_t{0});  // comment
  put(out, uint16_t{0});  // disk
  put(out, uint16_t{0});
  put(out, uint32_t{0});
  put(out, item.is_64 ? full : item.local_offset.value_or(offset));
  put_text(out, item.name);
  put_bytes(out, extra);
}

void put_end64(Bytes& out, uint64_t n_entries, uint64_t n_bytes, uint64_t offset) {
  const uint64_t record = out.size();
  put(out, uint32_t{0x06064b50});
  put(out, uint64_t{44});
  put(out, uint32_t{0x002d002d});
  put(out, uint64_t{0});  // disks
  put(out, n_entries);
  put(out, n_entries);
  put(out, n_bytes);
  put(out, offset);
  put(out, uint32_t{0x07064b50});
  put(out, uint32_t{0});
  put(out, record);
  put(out, uint32_t{1});
}

}  // namespace

ZipBuilder& ZipBuilder::add(std::string_view name, std::string_view text) {
  ZipItem item;
  item.name = name;
  put_text(item.bytes, text);
  return add(std::move(item));
}

ZipBuilder& ZipBuilder::add(ZipItem item) {
  items_.push_back(std::move(item));
  return *this;
}

ZipBuilder& ZipBuilder::align(size_t alignment) {
  alignment_ = alignment;
  return *this;
}

ZipBuilder& ZipBuilder::use_zip64() {
  is_64_ = true;
  return *this;
}

ZipBuilder& ZipBuilder::claim_n_entries(uint64_t count) {
  n_entries_ = count;
  return *this;
}

ZipBuilder& ZipBuilder::claim_directory_bytes(uint64_t count) {
  directory_bytes_ = count;
  return *this;
}

ZipBuilder& ZipBuilder::claim_directory_offset(uint64_t offset) {
  directory_offset_ = offset;
  return *this;
}

ZipBuilder& ZipBuilder::disk(uint16_t number) {
  disk_ = number;
  return *this;
}

ZipBuilder& ZipBuilder::comment(std::string text) {
  comment_ = std::move(text);
  return *this;
}

Bytes ZipBuilder::bytes() const {
  Bytes out;
  std::vector<size_t> offsets;
  for (const ZipItem& item : items_) {
    offsets.push_back(out.size());
    put_local(out, item, alignment_);
  }
  const size_t start = out.size();
  for (size_t i = 0; i < items_.size(); ++i) {
    put_directory(out, items_[i], offsets[i]);
  }
  const uint64_t n_entries = n_entries_.value_or(items_.size());
  const uint64_t n_bytes = directory_bytes_.value_or(out.size() - start);
  const uint64_t offset = directory_offset_.value_or(start);
  if (is_64_) {
    put_end64(out, n_entries, n_bytes, offset);
  }
  put(out, uint32_t{0x06054b50});
  put(out, disk_);
  put(out, disk_);
  put(out, static_cast<uint16_t>(is_64_ ? 0xffff : n_entries));
  put(out, static_cast<uint16_t>(is_64_ ? 0xffff : n_entries));
  put(out, static_cast<uint32_t>(is_64_ ? 0xffffffff : n_bytes));
  put(out, static_cast<uint32_t>(is_64_ ? 0xffffffff : offset));
  put(out, static_cast<uint16_t>(comment_.size()));
  put_text(out, comment_);
  return out;
}

}  // namespace fathom::test
