// Builds pickles and files as torch.save writes them, in memory, whole or broken on purpose.
// Called by tests of weights. Source: CPython's Lib/pickletools.py and torch/serialization.py,
// written independently of the reader in lib/weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/zip_builder.h"

namespace fathom::test {

// Writes opcodes one by one.
class PickleWriter {
 public:
  PickleWriter& raw(std::string_view bytes);
  PickleWriter& global(std::string_view module, std::string_view name);
  PickleWriter& text(std::string_view value);
  PickleWriter& integer(int64_t value);
  PickleWriter& tuple(std::span<const int64_t> values);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A tensor of a state_dict; the fields are written as they are, right or wrong.
struct TorchItem {
  std::string name;
  std::string storage_class = "FloatStorage";
  std::string key = "0";
  int64_t n_elements = 0;  // of the storage
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::string dtype;  // with one the storage is an UntypedStorage that counts bytes
  bool is_parameter = false;
};

class PytorchBuilder {
 public:
  // The bytes that tensors with this key view.
  PytorchBuilder& storage(std::string_view key, std::vector<std::byte> bytes);
  PytorchBuilder& tensor(TorchItem item);

  // A whole F32 tensor with a storage of its own, in order.
  PytorchBuilder& add(std::string_view name, std::vector<int64_t> shape,
                      const std::vector<float>& values);

  // The pickle of the dictionary alone; in the old layout storages name their view, None.
  [[nodiscard]] std::string pickle(bool is_old = false) const;

  // The archive of torch 1.6 and later: FOLDER/data.pkl, byteorder, data/KEY ...; to be changed.
  [[nodiscard]] ZipBuilder zip() const;

  [[nodiscard]] std::vector<std::byte> bytes() const { return zip().bytes(); }

  // The layout before it. `pickle` takes the place of the dictionary's own when it is given.
  [[nodiscard]] std::vector<std::byte> old_bytes(std::string_view pickle = {}) const;

 private:
  std::vector<TorchItem> items_;
  std::vector<std::pair<std::string, std::vector<std::byte>>> storages_;
};

// The archive with `pickle` as its data.pkl and nothing else.
std::vector<std::byte> zip_of_pickle(std::string_view pickle);

}  // namespace fathom::test
