// What a pickled state_dict of PyTorch says about its tensors: type, shape, place in a storage.
// Called by weights/pytorch. Read next: torch_pickle.cc, pytorch.cc.
// Source: torch/_utils.py (_rebuild_*), torch/serialization.py (persistent ids of storages).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "weights/byte_reader.h"
#include "weights/pickle.h"

namespace fathom::weights {

// A block of bytes that tensors share.
struct TorchStorage {
  std::string_view key;  // names the bytes: the file data/KEY, or an entry of the old list
  int64_t n_elements = 0;
  int64_t element_bytes = 0;
};

// A view of a storage. Shape and strides have the same length and count elements of `type`; every
// element lies inside the storage.
struct TorchTensor {
  std::string name;
  DType type = DType::kF32;
  TorchStorage storage;
  int64_t offset = 0;  // of the first element
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// The names that such a pickle may speak of, and memory for a file of `file_bytes`. Valid forever.
PickleRules torch_pickle_rules(uint64_t file_bytes);

// The tensors of a pickle read with torch_pickle_rules, in its order; views of it and of `reader`'s
// bytes. `start` is where the pickle begins, for errors. Errors: kUnsupported (an entry that is no
// tensor, an element type that Fathom does not read, a storage view), kCorruptFile (arguments of a
// wrong kind, dimensions, strides or offsets beyond the storage, two sizes for one storage, more
// tensors than a file of `file_bytes` can hold); each
// names file, byte offset, tensor, found and allowed.
std::vector<TorchTensor> read_torch_tensors(const Pickle& pickle, const ByteReader& reader,
                                            size_t start, uint64_t file_bytes);

}  // namespace fathom::weights
