// Opcodes, rebuild calls, and the two layouts around them.
#include "support/pytorch_builder.h"

#include <fmt/format.h>

#include "support/gguf_builder.h"

namespace fathom::test {

namespace {

constexpr std::string_view kProto2 = "\x80\x02";

template <class T>
std::string raw_text(T value) {
  const auto raw = raw_bytes(value);
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

// The strides of a tensor in order.
std::vector<int64_t> strides_of(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = step;
    step *= shape[i - 1];
  }
  return strides;
}

void put_tensor(PickleWriter& out, const TorchItem& item, bool is_old) {
  const bool has_dtype = !item.dtype.empty();
  out.global("torch._utils", has_dtype ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2").raw("((");
  out.text("storage");
  out.global(has_dtype ? "torch.storage" : "torch",
             has_dtype ? "UntypedStorage" : item.storage_class);
  out.text(item.key).text("cpu").integer(item.n_elements).raw(is_old ? "NtQ" : "tQ");
  out.integer(item.offset).tuple(item.shape).tuple(item.strides).raw("\x89");
  out.global("collections", "OrderedDict").raw(")R");
  if (has_dtype) {
    out.global("torch", item.dtype);
  }
  out.raw("tR");
}

void put_value(PickleWriter& out, const TorchItem& item, bool is_old) {
  if (!item.is_parameter) {
    return put_tensor(out, item, is_old);
  }
  out.global("torch._utils", "_rebuild_parameter");
  put_tensor(out, item, is_old);
  out.raw("\x88").global("collections", "OrderedDict").raw(")R\x87R");
}

int64_t element_bytes(const TorchItem& item) {
  if (!item.dtype.empty()) {
    return 1;
  }
  const std::string& name = item.storage_class;
  const bool is_2 = name == "HalfStorage" || name == "BFloat16Storage" || name == "ShortStorage";
  const bool is_8 = name == "DoubleStorage" || name == "LongStorage";
  return is_8 ? 8 : is_2 ? 2 : name == "FloatStorage" || name == "IntStorage" ? 4 : 1;
}

}  // namespace

PickleWriter& PickleWriter::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

PickleWriter& PickleWriter::global(std::string_view module, std::string_view name) {
  bytes_ += fmt::format("c{}\n{}\n", module, name);
  return *this;
}

PickleWriter& PickleWriter::text(std::string_view value) {
  bytes_ += "X" + raw_text(static_cast<uint32_t>(value.size()));
  bytes_ += value;
  return *this;
}

PickleWriter& PickleWriter::integer(int64_t value) {
  if (value >= 0 && value < 256) {
    bytes_ += "K" + raw_text(static_cast<uint8_t>(value));
  } else {
    bytes_ += "\x8a\x08" + raw_text(value);
  }
  return *this;
}

PickleWriter& PickleWriter::tuple(std::span<const int64_t> values) {
  raw("(");
  for (const int64_t value : values) {
    integer(value);
  }
  return raw("t");
}

PytorchBuilder& PytorchBuilder::storage(std::string_view key, std::vector<std::byte> bytes) {
  storages_.emplace_back(key, std::move(bytes));
  return *this;
}

PytorchBuilder& PytorchBuilder::tensor(TorchItem item) {
  items_.push_back(std::move(item));
  return *this;
}

PytorchBuilder& PytorchBuilder::add(std::string_view name, std::vector<int64_t> shape,
                                    const std::vector<float>& values) {
  TorchItem item;
  item.name = name;
  item.key = fmt::format("{}", storages_.size());
  item.n_elements = static_cast<int64_t>(values.size());
  item.strides = strides_of(shape);
  item.shape = std::move(shape);
  storage(item.key, raw_bytes(values));
  return tensor(std::move(item));
}

std::string PytorchBuilder::pickle(bool is_old) const {
  PickleWriter out;
  out.raw(kProto2).global("collections", "OrderedDict").raw(")R(");
  for (const TorchItem& item : items_) {
    out.text(item.name);
    put_value(out, item, is_old);
  }
  // What Module.state_dict leaves behind: an attribute of the dictionary.
  out.raw("u}").text("_metadata").raw("}sb.");
  return out.bytes();
}

ZipBuilder PytorchBuilder::zip() const {
  ZipBuilder zip;
  zip.align(64).add("m/data.pkl", pickle()).add("m/byteorder", "little");
  for (const auto& [key, bytes] : storages_) {
    ZipItem item;
    item.name = "m/data/" + key;
    item.bytes = bytes;
    zip.add(std::move(item));
  }
  return zip.add("m/version", "3\n");
}

std::vector<std::byte> PytorchBuilder::old_bytes(std::string_view pickle) const {
  PickleWriter out;
  out.raw(kProto2).raw("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  out.raw(kProto2).integer(1001).raw(".");
  out.raw(kProto2).raw("}(").text("protocol_version").integer(1001);
  out.text("little_endian").raw("\x88u.");
  out.raw(pickle.empty() ? this->pickle(true) : std::string(pickle));
  out.raw(kProto2).raw("](");
  for (const auto& [key, bytes] : storages_) {
    out.text(key);
  }
  out.raw("e.");
  for (const auto& [key, bytes] : storages_) {
    int64_t size = 1;
    for (const TorchItem& item : items_) {
      size = item.key == key ? element_bytes(item) : size;
    }
    out.raw(raw_text(static_cast<int64_t>(bytes.size()) / size));
    out.raw({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const auto raw = std::as_bytes(std::span(out.bytes()));
  return {raw.begin(), raw.end()};
}

std::vector<std::byte> zip_of_pickle(std::string_view pickle) {
  return ZipBuilder().add("m/data.pkl", pickle).bytes();
}

}  // namespace fathom::test
