// The two layouts: where the pickle lies, and where the storages lie that it speaks of.
// Called by weights/hf_folder. Read next: weights/zip_archive.cc, weights/pickle.cc.
#include "weights/pytorch.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "quant/formats.h"
#include "weights/byte_reader.h"
#include "weights/pickle.h"
#include "weights/strided_rows.h"
#include "weights/torch_pickle.h"
#include "weights/zip_archive.h"

namespace fathom::weights {

namespace {

static_assert(std::endian::native == std::endian::little, "storages are read as they lie");

// The number 0x1950a86a20f9469cfc6c, with which the old layout starts.
constexpr std::string_view kOldMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kOldProtocol = 1001;
constexpr uint8_t kPickleStart = 0x80;
constexpr size_t kTarMagicOffset = 257;

using Bytes = std::span<const std::byte>;
using Storages = std::map<std::string_view, Bytes>;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes of a tensor's storage have the size that the pickle states.
void check_storage(const ByteReader& reader, size_t offset, const TorchStorage& storage,
                   uint64_t n_bytes) {
  // Both factors are bounded by read_torch_tensors: no overflow.
  const auto expected = static_cast<uint64_t>(storage.n_elements * storage.element_bytes);
  if (n_bytes != expected) {
    reader.fail_at(offset, fmt::format("storage {}", in_quotes(storage.key)),
                   fmt::format("{} bytes", n_bytes),
                   fmt::format("{}: {} elements of {} bytes", expected, storage.n_elements,
                               storage.element_bytes));
  }
}

// A view in order points into the storage; any other is gathered while it is read.
FileTensor make_tensor(TorchTensor tensor, Bytes storage) {
  FileTensor result;
  result.name = std::move(tensor.name);
  result.type = tensor.type;
  result.shape = tensor.shape;
  const int64_t element_bytes = quant::format_of(tensor.type).bytes_per_block;
  if (is_contiguous(tensor.shape, tensor.strides)) {
    result.bytes = storage.subspan(static_cast<size_t>(tensor.offset * element_bytes),
                                   static_cast<size_t>(result.n_elements() * element_bytes));
  } else {
    result.reader = std::make_shared<StridedRows>(StridedView{
        storage, element_bytes, tensor.offset, std::move(tensor.shape), std::move(tensor.strides)});
  }
  return result;
}

void add_tensors(std::vector<TorchTensor> tensors, const Storages& storages, const MappedFile* file,
                 TensorStore& out) {
  for (TorchTensor& tensor : tensors) {
    const Bytes storage = storages.at(tensor.storage.key);
    out.add(make_tensor(std::move(tensor), storage), file);
  }
}

// --- the ZIP layout: NAME/data.pkl, NAME/byteorder, NAME/data/0, NAME/data/1 ...

const ZipEntry& find_pickle(const ZipArchive& archive, const ByteReader& reader) {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& entry : archive.entries()) {
    if (entry.name != "data.pkl" && !entry.name.ends_with("/data.pkl")) {
      continue;
    }
    if (found != nullptr) {
      reader.fail_at(entry.directory_offset, fmt::format("entry {}", in_quotes(entry.name)),
                     fmt::format("a second pickle beside {}", in_quotes(found->name)),
                     "one data.pkl");
    }
    found = &entry;
  }
  if (found == nullptr) {
    reader.fail_at(0, "ZIP archive", "no entry data.pkl",
                   "one: is this a file that torch.save wrote?");
  }
  return *found;
}

void check_byte_order(const ZipArchive& archive, const std::string& folder,
                      const ByteReader& reader) {
  const ZipEntry* entry = archive.find(folder + "byteorder");
  if (entry != nullptr && text_of(entry->bytes) != "little") {
    reader.fail_at(entry->content_offset, "byteorder", in_quotes(text_of(entry->bytes)),
                   "\"little\"; save the model again on a little-endian machine",
                   ErrorCode::kUnsupported);
  }
}

void parse_zip(Bytes bytes, std::string_view name, const MappedFile* file, TensorStore& out) {
  const ZipArchive archive(bytes, name);
  const ByteReader whole(bytes, name);
  const ZipEntry& entry = find_pickle(archive, whole);
  const std::string folder(
      entry.name.substr(0, entry.name.size() - std::string("data.pkl").size()));
  check_byte_order(archive, folder, whole);
  const size_t start = entry.content_offset;
  ByteReader reader(bytes.first(start + entry.bytes.size()), name, start);
  const Pickle pickle = read_pickle(reader, torch_pickle_rules(bytes.size()));
  if (reader.remaining() != 0) {
    reader.fail_at(reader.offset(), "data.pkl", fmt::format("{} more bytes", reader.remaining()),
                   "its end after STOP");
  }
  std::vector<TorchTensor> tensors = read_torch_tensors(pickle, reader, start, bytes.size());
  Storages storages;
  for (const TorchTensor& tensor : tensors) {
    const TorchStorage& storage = tensor.storage;
    if (storages.contains(storage.key)) {
      continue;
    }
    const ZipEntry* data = archive.find(fmt::format("{}data/{}", folder, storage.key));
    if (data == nullptr) {
      reader.fail_at(start, fmt::format("tensor {}, storage", in_quotes(tensor.name)),
                     fmt::format("no entry {}data/{}", folder, in_quotes(storage.key)),
                     "one in the archive");
    }
    check_storage(whole, data->content_offset, storage, data->bytes.size());
    storages.emplace(storage.key, data->bytes);
  }
  add_tensors(std::move(tensors), storages, file, out);
}

// --- the old layout: five pickles (magic, protocol, machine, object, keys), then the storages

void check_old_head(ByteReader& reader, const PickleRules& rules) {
  const Pickle magic = read_pickle(reader, rules);
  const auto* number = std::get_if<PickleLong>(&magic.root());
  if (number == nullptr || number->bytes != kOldMagic) {
    reader.fail_at(0, "magic number", kind_of(magic.root()),
                   "0x1950a86a20f9469cfc6c: is this a file that torch.save wrote?");
  }
  const size_t protocol_at = reader.offset();
  const Pickle protocol = read_pickle(reader, rules);
  const auto* version = std::get_if<int64_t>(&protocol.root());
  if (version == nullptr || *version != kOldProtocol) {
    reader.fail_at(
        protocol_at, "protocol version",
        version == nullptr ? std::string(kind_of(protocol.root())) : fmt::format("{}", *version),
        fmt::format("{}", kOldProtocol), ErrorCode::kUnsupported);
  }
  const size_t machine_at = reader.offset();
  const Pickle machine = read_pickle(reader, rules);
  const auto* fields = std::get_if<PickleDict>(&machine.root());
  if (fields == nullptr) {
    reader.fail_at(machine_at, "machine", kind_of(machine.root()), "a dict");
  }
  for (const auto& [key, value] : machine.pairs(*fields)) {
    const auto* text = std::get_if<std::string_view>(&key);
    const auto* is_little = std::get_if<bool>(&value);
    if (text != nullptr && *text == "little_endian" && (is_little == nullptr || !*is_little)) {
      reader.fail_at(machine_at, "little_endian", "no",
                     "yes; save the model again on a "
                     "little-endian machine",
                     ErrorCode::kUnsupported);
    }
  }
}

// The storages that the tensors need, by key.
std::map<std::string_view, TorchStorage> storages_of(const std::vector<TorchTensor>& tensors) {
  std::map<std::string_view, TorchStorage> needed;
  for (const TorchTensor& tensor : tensors) {
    needed.emplace(tensor.storage.key, tensor.storage);
  }
  return needed;
}

// The storages in the order of the list of keys: number of elements, bytes.
Storages read_old_storages(ByteReader& reader, const PickleRules& rules,
                           const std::map<std::string_view, TorchStorage>& needed) {
  const size_t keys_at = reader.offset();
  const Pickle keys = read_pickle(reader, rules);
  const auto* list = std::get_if<PickleList>(&keys.root());
  if (list == nullptr) {
    reader.fail_at(keys_at, "storage keys", kind_of(keys.root()), "a list");
  }
  Storages storages;
  for (const PickleValue& item : keys.items(*list)) {
    const auto* key = std::get_if<std::string_view>(&item);
    const auto it = key == nullptr ? needed.end() : needed.find(*key);
    if (it == needed.end() || storages.contains(*key)) {
      reader.fail_at(keys_at, "storage keys",
                     key == nullptr ? std::string(kind_of(item)) : in_quotes(*key),
                     "the keys of the tensors' storages, each once");
    }
    const size_t at = reader.offset();
    const auto n_elements = reader.read<uint64_t>("storage size");
    if (n_elements != static_cast<uint64_t>(it->second.n_elements)) {
      reader.fail_at(at, fmt::format("storage {}", in_quotes(*key)),
                     fmt::format("{} elements", n_elements),
                     fmt::format("{}", it->second.n_elements));
    }
    const auto n_bytes = static_cast<size_t>(it->second.n_elements * it->second.element_bytes);
    storages.emplace(it->first, reader.read_bytes(n_bytes, "storage"));
  }
  return storages;
}

void parse_old(Bytes bytes, std::string_view name, const MappedFile* file, TensorStore& out) {
  ByteReader reader(bytes, name);
  const PickleRules rules = torch_pickle_rules(bytes.size());
  check_old_head(reader, rules);
  const size_t start = reader.offset();
  const Pickle pickle = read_pickle(reader, rules);
  std::vector<TorchTensor> tensors = read_torch_tensors(pickle, reader, start, bytes.size());
  const Storages storages = read_old_storages(reader, rules, storages_of(tensors));
  if (reader.remaining() != 0) {
    reader.fail_at(reader.offset(), "end", fmt::format("{} more bytes", reader.remaining()),
                   "the end of the file after the last storage");
  }
  for (const TorchTensor& tensor : tensors) {
    if (!storages.contains(tensor.storage.key)) {
      reader.fail_at(reader.offset(), fmt::format("tensor {}, storage", in_quotes(tensor.name)),
                     fmt::format("no key {}", in_quotes(tensor.storage.key)),
                     "one in the list of storage keys");
    }
  }
  add_tensors(std::move(tensors), storages, file, out);
}

[[noreturn]] void fail_layout(Bytes bytes, std::string_view name) {
  const std::string_view text = text_of(bytes);
  const ByteReader reader(bytes, name);
  std::string hint = "a ZIP archive or a pickle, as torch.save writes them";
  if (text.starts_with("version https://git-lfs")) {
    hint += "; this is a Git LFS pointer: fetch the file itself";
  } else if (text.size() > kTarMagicOffset && text.substr(kTarMagicOffset).starts_with("ustar")) {
    hint += "; this is the TAR layout of torch 0.1: save the model again with a current torch";
  }
  reader.fail_at(0, "first bytes", in_quotes(text.substr(0, 8)), hint);
}

}  // namespace

void parse_pytorch(Bytes bytes, std::string_view name, const MappedFile* file, TensorStore& out) {
  if (text_of(bytes).starts_with("PK")) {
    parse_zip(bytes, name, file, out);
  } else if (!bytes.empty() && static_cast<uint8_t>(bytes.front()) == kPickleStart) {
    parse_old(bytes, name, file, out);
  } else {
    fail_layout(bytes, name);
  }
}

void add_pytorch_file(const std::string& path, TensorStore& out) {
  const MappedFile& file = out.add_file(std::make_unique<MappedFile>(path));
  parse_pytorch(file.bytes(), path, &file, out);
}

}  // namespace fathom::weights
