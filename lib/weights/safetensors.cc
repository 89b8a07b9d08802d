// Checks a safetensors header against the bytes behind it.
// Called by weights/hf_folder. Read next: weights/hf_folder.cc.
#include "weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "weights/byte_reader.h"
#include "weights/json.h"
#include "weights/tensor_check.h"

namespace fathom::weights {

namespace {

constexpr size_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr size_t kLengthBytes = 8;

struct TypeName {
  std::string_view name;
  DType type;
};

constexpr TypeName kTypeNames[] = {
    {"F32", DType::kF32}, {"F16", DType::kF16},         {"BF16", DType::kBF16},
    {"F64", DType::kF64}, {"F8_E4M3", DType::kF8_E4M3}, {"F8_E5M2", DType::kF8_E5M2},
    {"I8", DType::kI8},   {"I16", DType::kI16},         {"I32", DType::kI32},
    {"I64", DType::kI64}, {"U8", DType::kU8},           {"BOOL", DType::kU8},
};

std::optional<DType> find_type(std::string_view name) {
  for (const TypeName& row : kTypeNames) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

// The header's text; leaves the reader at the first byte of data.
std::string_view read_header(ByteReader& reader) {
  const auto length = reader.read<uint64_t>("header length");
  const size_t allowed = std::min(kMaxHeaderBytes, reader.remaining());
  if (length > allowed) {
    reader.fail_at(0, "header length", fmt::format("{}", length),
                   fmt::format("at most {} ({} bytes follow)", allowed, reader.remaining()));
  }
  const auto raw = reader.read_bytes(static_cast<size_t>(length), "header");
  const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
  if (!text.starts_with('{')) {
    reader.fail_at(kLengthBytes, "header", in_quotes(text.substr(0, 8)),
                   "'{', the start of a JSON object; is this a safetensors file?");
  }
  return text;
}

// Where the entry stands in the file.
size_t offset_of(const SafetensorsEntry& entry) {
  return kLengthBytes + entry.text_offset;
}

[[noreturn]] void fail_entry(const ByteReader& reader, const SafetensorsEntry& entry,
                             std::string_view part, std::string_view found,
                             std::string_view allowed, ErrorCode code = ErrorCode::kCorruptFile) {
  reader.fail_at(offset_of(entry), fmt::format("tensor {}, {}", in_quotes(entry.name), part), found,
                 allowed, code);
}

// Type, shape and size of one entry; its bytes are not set yet.
FileTensor check_entry(const ByteReader& reader, const SafetensorsEntry& entry, size_t n_data) {
  const std::optional<DType> type = find_type(entry.dtype);
  if (!type) {
    fail_entry(reader, entry, "dtype", in_quotes(entry.dtype),
               "F32, F16, BF16, F64, F8_E4M3, F8_E5M2, I8, I16, I32, I64, U8, BOOL; convert the "
               "model to one of these",
               ErrorCode::kUnsupported);
  }
  for (const int64_t dim : entry.shape) {
    if (dim < 1 || dim > kMaxDim) {
      fail_entry(reader, entry, "shape", fmt::format("a dimension of {}", dim),
                 fmt::format("1 to {}", kMaxDim));
    }
  }
  const TensorSize size = size_of_tensor(*type, entry.shape);
  if (!size.n_bytes) {
    fail_entry(reader, entry, "shape", size.found, size.allowed);
  }
  if (entry.begin > entry.end || entry.end > n_data) {
    fail_entry(reader, entry, "data_offsets", fmt::format("[{}, {}]", entry.begin, entry.end),
               fmt::format("begin <= end <= {}, the bytes of data in the file; was the download "
                           "finished?",
                           n_data));
  }
  if (entry.end - entry.begin != static_cast<uint64_t>(*size.n_bytes)) {
    fail_entry(reader, entry, "data_offsets", fmt::format("{} bytes", entry.end - entry.begin),
               fmt::format("{}, the size of {} {}", *size.n_bytes, entry.dtype,
                           format_shape(entry.shape)));
  }
  FileTensor tensor;
  tensor.name = entry.name;
  tensor.type = *type;
  tensor.shape = entry.shape;
  return tensor;
}

// The format wants the tensors to fill the data part exactly, in some order.
void check_ranges(const ByteReader& reader, const std::vector<SafetensorsEntry>& entries,
                  size_t n_data) {
  std::vector<TensorRange> ranges;
  ranges.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    ranges.push_back({entry.begin, entry.end, offset_of(entry), entry.name});
  }
  if (const auto i = find_overlap(ranges)) {
    reader.fail_at(ranges[*i].field_offset,
                   fmt::format("tensor {}, data_offsets", in_quotes(ranges[*i].name)),
                   fmt::format("begin {}", ranges[*i].begin),
                   fmt::format("{} or more: tensor {} reaches to there", ranges[*i - 1].end,
                               in_quotes(ranges[*i - 1].name)));
  }
  uint64_t expected = 0;
  for (const TensorRange& range : ranges) {
    if (range.begin != expected) {
      reader.fail_at(range.field_offset,
                     fmt::format("tensor {}, data_offsets", in_quotes(range.name)),
                     fmt::format("begin {}", range.begin),
                     fmt::format("{}: the format allows no holes", expected));
    }
    expected = range.end;
  }
  if (expected != n_data) {
    reader.fail_at(reader.offset() + expected, "data",
                   fmt::format("{} more bytes", n_data - expected),
                   "the end of the file after the last tensor");
  }
}

}  // namespace

void parse_safetensors(std::span<const std::byte> bytes, std::string_view name,
                       const MappedFile* file, TensorStore& out) {
  ByteReader reader(bytes, name);
  const std::string_view text = read_header(reader);
  const size_t n_data = reader.remaining();
  const std::vector<SafetensorsEntry> entries = parse_safetensors_header(text, name);
  std::vector<FileTensor> tensors;
  tensors.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) {
    tensors.push_back(check_entry(reader, entry, n_data));
  }
  check_ranges(reader, entries, n_data);
  const std::span<const std::byte> data = bytes.subspan(reader.offset());
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].bytes = data.subspan(entries[i].begin, entries[i].end - entries[i].begin);
    out.add(std::move(tensors[i]), file);
  }
}

void add_safetensors_file(const std::string& path, TensorStore& out) {
  const MappedFile& file = out.add_file(std::make_unique<MappedFile>(path));
  parse_safetensors(file.bytes(), path, &file, out);
}

}  // namespace fathom::weights
