// Header, metadata, table of tensors, data: the four parts of a GGUF file, in the order they stand.
// Called by weights/gguf_split. Read next: weights/gguf_metadata.cc. Source: ggml/docs/gguf.md.
#include "weights/gguf.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "quant/formats.h"
#include "weights/byte_reader.h"
#include "weights/gguf_metadata.h"
#include "weights/gguf_types.h"
#include "weights/tensor_check.h"

namespace fathom::weights {

namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in memory");

constexpr size_t kMinKeyBytes = 8 + 1 + 4 + 1;             // length, name, type, value
constexpr size_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name, n_dims, one dim, type, offset
constexpr size_t kMaxNameBytes = 255;                      // ggml itself stops at 63
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kTensorEntryBytes = 640;  // both maps of TensorStore, shape, and our own table

// A row of the tensor table; its data is looked up when the table's end, and so the start of the
// data, is known.
struct TensorEntry {
  FileTensor tensor;
  size_t entry_offset = 0;   // where the entry starts in the file
  size_t offset_offset = 0;  // where its field "offset" stands
  uint64_t data_offset = 0;  // from the start of the data
  uint64_t n_bytes = 0;
};

void check_magic(ByteReader& reader) {
  const std::span<const std::byte> magic = reader.read_bytes(4, "magic");
  const std::string_view text(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (text != "GGUF") {
    reader.fail_at(0, "magic", in_quotes(text),
                   "\"GGUF\"; give a GGUF file, or a folder with config.json and safetensors");
  }
}

void check_version(ByteReader& reader) {
  const auto version = reader.read<uint32_t>("version");
  if (version == 2 || version == 3) {
    return;
  }
  if (__builtin_bswap32(version) == 2 || __builtin_bswap32(version) == 3) {
    reader.fail_at(4, "version", fmt::format("{:#010x}, which is a big-endian file", version),
                   "little endian; convert the file with gguf_convert_endian.py",
                   ErrorCode::kUnsupported);
  }
  reader.fail_at(4, "version", fmt::format("{}", version),
                 "2 or 3; convert the model again with a current tool", ErrorCode::kUnsupported);
}

// Dimensions as the file has them, innermost first, turned into [outer, ..., inner].
std::vector<int64_t> read_shape(ByteReader& reader) {
  const size_t start = reader.offset();
  const auto n_dims = reader.read<uint32_t>("n_dims");
  if (n_dims < 1 || n_dims > kMaxDims) {
    reader.fail_at(start, "n_dims", fmt::format("{}", n_dims), fmt::format("1 to {}", kMaxDims));
  }
  std::vector<int64_t> shape(n_dims);
  for (size_t i = 0; i < n_dims; ++i) {
    const size_t at = reader.offset();
    const auto dim = reader.read<int64_t>("dimension");
    if (dim < 1 || dim > kMaxDim) {
      reader.fail_at(at, fmt::format("dimension {}", i), fmt::format("{}", dim),
                     fmt::format("1 to {}", kMaxDim));
    }
    shape[n_dims - 1 - i] = dim;
  }
  return shape;
}

DType read_tensor_type(ByteReader& reader) {
  const size_t start = reader.offset();
  const auto number = reader.read<uint32_t>("type");
  if (const std::optional<DType> type = quant::find_ggml_type(number)) {
    return *type;
  }
  const std::string_view unread = unread_ggml_type(number);
  if (unread.empty()) {
    reader.fail_at(start, "type", fmt::format("{}", number), "a type number of ggml, 0 to 41");
  }
  reader.fail_at(start, "type", fmt::format("{} ({})", unread, number),
                 "F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4; this build "
                 "does not read the type: take another quantization of the model",
                 ErrorCode::kUnsupported);
}

TensorEntry read_tensor_entry(ByteReader& reader, int64_t alignment, DecodeBudget& budget) {
  TensorEntry entry;
  entry.entry_offset = reader.offset();
  reader.set_subject({}, {});
  const std::string_view name = reader.read_string(kMaxNameBytes, "tensor name");
  if (name.empty()) {
    reader.fail_at(entry.entry_offset, "tensor name", "an empty name",
                   fmt::format("1 to {} bytes", kMaxNameBytes));
  }
  reader.set_subject("tensor", name);
  budget.charge(kTensorEntryBytes + 3 * name.size(), 0, entry.entry_offset, reader);
  entry.tensor.name = name;
  const size_t shape_offset = reader.offset();
  entry.tensor.shape = read_shape(reader);
  entry.tensor.type = read_tensor_type(reader);
  const TensorSize size = size_of_tensor(entry.tensor.type, entry.tensor.shape);
  if (!size.n_bytes) {
    reader.fail_at(shape_offset, "shape", size.found, size.allowed);
  }
  entry.n_bytes = static_cast<uint64_t>(*size.n_bytes);
  entry.offset_offset = reader.offset();
  entry.data_offset = reader.read<uint64_t>("offset");
  if (entry.data_offset % static_cast<uint64_t>(alignment) != 0) {
    reader.fail_at(entry.offset_offset, "offset", fmt::format("{}", entry.data_offset),
                   fmt::format("a multiple of the alignment {}", alignment));
  }
  return entry;
}

// Where the data starts: the end of the table, rounded up to the alignment.
uint64_t data_start(const ByteReader& reader, int64_t alignment) {
  const auto step = static_cast<uint64_t>(alignment);
  return (reader.offset() + step - 1) / step * step;
}

// Every range inside the file and none over another.
void check_ranges(ByteReader& reader, const std::vector<TensorEntry>& entries, uint64_t start,
                  uint64_t file_bytes) {
  const uint64_t n_data = start < file_bytes ? file_bytes - start : 0;
  std::vector<TensorRange> ranges;
  ranges.reserve(entries.size());
  for (const TensorEntry& entry : entries) {
    const bool inside = entry.data_offset <= n_data && entry.n_bytes <= n_data - entry.data_offset;
    if (!inside) {
      reader.set_subject("tensor", entry.tensor.name);
      reader.fail_at(entry.offset_offset, "offset",
                     fmt::format("{} with {} bytes of data", entry.data_offset, entry.n_bytes),
                     fmt::format("an end within the {} data bytes after byte {}; the file is cut "
                                 "off or damaged",
                                 n_data, start));
    }
    ranges.push_back({entry.data_offset, entry.data_offset + entry.n_bytes, entry.offset_offset,
                      entry.tensor.name});
  }
  if (const auto i = find_overlap(ranges)) {
    const TensorRange& later = ranges[*i];
    const TensorRange& earlier = ranges[*i - 1];
    reader.set_subject("tensor", later.name);
    reader.fail_at(later.field_offset, "offset", fmt::format("{}", later.begin),
                   fmt::format("{} or more: tensor {} reaches to there", earlier.end,
                               in_quotes(earlier.name)));
  }
}

}  // namespace

void parse_gguf(std::span<const std::byte> bytes, const MappedFile* file, Metadata& metadata,
                TensorStore& tensors) {
  const std::string name = metadata.path();
  ByteReader reader(bytes, name);
  check_magic(reader);
  check_version(reader);
  const size_t n_tensors = reader.read_count(kMinTensorBytes, "n_tensors");
  const size_t n_keys = reader.read_count(kMinKeyBytes, "n_kv");
  DecodeBudget budget;
  read_gguf_metadata(reader, n_keys, budget, metadata);
  const int64_t alignment = gguf_alignment(metadata);

  std::vector<TensorEntry> entries;
  for (size_t i = 0; i < n_tensors; ++i) {
    entries.push_back(read_tensor_entry(reader, alignment, budget));
  }
  const uint64_t start = data_start(reader, alignment);
  check_ranges(reader, entries, start, bytes.size());
  for (TensorEntry& entry : entries) {
    if (tensors.find(entry.tensor.name) != nullptr) {
      reader.set_subject("tensor", entry.tensor.name);
      reader.fail_at(entry.entry_offset, "name", "it a second time", "each tensor once");
    }
    entry.tensor.bytes = bytes.subspan(start + entry.data_offset, entry.n_bytes);
    tensors.add(std::move(entry.tensor), file);
  }
}

void parse_gguf(std::span<const std::byte> bytes, const MappedFile* file, ModelFile& out) {
  parse_gguf(bytes, file, out.metadata, out.tensors);
}

void add_gguf_file(const std::string& path, Metadata& metadata, TensorStore& tensors) {
  const MappedFile& file = tensors.add_file(std::make_unique<MappedFile>(path));
  parse_gguf(file.bytes(), &file, metadata, tensors);
}

}  // namespace fathom::weights
