// Lays out the four parts of a GGUF file: header, metadata, tensor table, data.
#include "support/gguf_builder.h"

#include <fstream>
#include <utility>

#include "quant/formats.h"
#include "weights/gguf.h"

namespace fathom::test {

namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
requires std::is_arithmetic_v<T>

void append_value(Bytes& out, T value) {
  append(out, raw_bytes(value));
}

void pad(Bytes& out, uint64_t alignment) {
  while (out.size() % alignment != 0) {
    out.push_back(std::byte{0});
  }
}

}  // namespace

std::vector<std::byte> raw_string(std::string_view text) {
  Bytes out = raw_bytes(uint64_t{text.size()});
  append(out, std::as_bytes(std::span(text)));
  return out;
}

GgufBuilder& GgufBuilder::set(std::string_view key, std::string_view text) {
  return set_raw(key, 8, raw_string(text));
}

GgufBuilder& GgufBuilder::set(std::string_view key, const std::vector<std::string>& texts) {
  Bytes raw;
  for (const std::string& text : texts) {
    append(raw, raw_string(text));
  }
  return set_array(key, 8, texts.size(), raw);
}

GgufBuilder& GgufBuilder::set_array(std::string_view key, uint32_t element_type, uint64_t length,
                                    std::span<const std::byte> raw) {
  Bytes value = raw_bytes(element_type);
  append_value(value, length);
  append(value, raw);
  return set_raw(key, 9, value);
}

GgufBuilder& GgufBuilder::set_raw(std::string_view key, uint32_t type,
                                  std::span<const std::byte> raw) {
  entries_.push_back({std::string(key), type, Bytes(raw.begin(), raw.end())});
  return *this;
}

GgufBuilder& GgufBuilder::remove(std::string_view key) {
  std::erase_if(entries_, [key](const Entry& entry) { return entry.key == key; });
  return *this;
}

GgufBuilder& GgufBuilder::add_tensor(std::string_view name, DType type,
                                     std::span<const int64_t> shape,
                                     std::span<const std::byte> bytes) {
  GgufTensor tensor;
  tensor.name = name;
  tensor.type = static_cast<uint32_t>(quant::format_of(type).ggml_type);
  tensor.dims.assign(shape.rbegin(), shape.rend());
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return add_tensor(std::move(tensor));
}

GgufBuilder& GgufBuilder::add_tensor(std::string_view name, std::span<const int64_t> shape,
                                     const std::vector<float>& values) {
  return add_tensor(name, DType::kF32, shape, raw_bytes(values));
}

GgufBuilder& GgufBuilder::add_tensor(GgufTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return *this;
}

GgufBuilder& GgufBuilder::align(uint32_t alignment) {
  alignment_ = alignment;
  return remove("general.alignment").set("general.alignment", alignment);
}

GgufBuilder& GgufBuilder::magic(std::string_view text) {
  magic_ = text;
  return *this;
}

GgufBuilder& GgufBuilder::version(uint32_t number) {
  version_ = number;
  return *this;
}

GgufBuilder& GgufBuilder::claim_n_tensors(uint64_t count) {
  n_tensors_ = count;
  return *this;
}

GgufBuilder& GgufBuilder::claim_n_keys(uint64_t count) {
  n_keys_ = count;
  return *this;
}

std::vector<std::byte> GgufBuilder::bytes() const {
  Bytes out;
  append(out, std::as_bytes(std::span(magic_)));
  append_value(out, version_);
  append_value(out, n_tensors_.value_or(tensors_.size()));
  append_value(out, n_keys_.value_or(entries_.size()));
  for (const Entry& entry : entries_) {
    append(out, raw_string(entry.key));
    append_value(out, entry.type);
    append(out, entry.raw);
  }
  Bytes data;
  for (const GgufTensor& tensor : tensors_) {
    pad(data, alignment_);
    append(out, raw_string(tensor.name));
    append_value(out, tensor.n_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
    for (const uint64_t dim : tensor.dims) {
      append_value(out, dim);
    }
    append_value(out, tensor.type);
    append_value(out, tensor.offset.value_or(data.size()));
    append(data, tensor.bytes);
  }
  if (!tensors_.empty()) {
    pad(out, alignment_);
    append(out, data);
  }
  return out;
}

std::string GgufBuilder::write(const std::string& path) const {
  const Bytes all = bytes();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  return path;
}

std::shared_ptr<weights::ModelFile> GgufBuilder::parse(const std::string& name) const {
  struct Held {
    Bytes bytes;
    weights::ModelFile model;
  };

  auto held =
      std::make_shared<Held>(Held{bytes(), {weights::Metadata(weights::Source::kGguf, name), {}}});
  weights::parse_gguf(held->bytes, nullptr, held->model);
  return {held, &held->model};
}

}  // namespace fathom::test
