// From noted calls of torch's rebuild functions to shapes and strides, every argument checked.
// Called by weights/pytorch. Read next: weights/pytorch.cc.
#include "weights/torch_pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/tensor.h"
#include "quant/formats.h"
#include "weights/tensor_check.h"

namespace fathom::weights {

namespace {

// Memory for the values, and tensors, that a file of any size may have; real files, whose tensors
// are large, get more.
constexpr uint64_t kBudgetBytes = uint64_t{16} << 20;
constexpr uint64_t kMostBudgetBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxTensors = 16384;
constexpr uint64_t kFileBytesPerTensor = 4096;
constexpr size_t kMaxDims = 8;

// What the globals below mean, in the same order.
enum class Role {
  kDict,
  kTensorV1,   // _rebuild_tensor(storage, offset, size, stride)
  kTensorV2,   // ... requires_grad, hooks[, metadata]
  kTensorV3,   // ... requires_grad, hooks, dtype[, metadata]
  kParameter,  // _rebuild_parameter(tensor, requires_grad, hooks)
  kBytes,      // UntypedStorage: counts bytes, the type stands in the tensor
  kStorage,    // a storage of one type
  kDType,
};

struct Meaning {
  PickleGlobal global;
  Role role;
  std::optional<DType> type = std::nullopt;
};

constexpr std::array kMeanings = {
    Meaning{{"collections", "OrderedDict", true}, Role::kDict},
    Meaning{{"torch._utils", "_rebuild_tensor"}, Role::kTensorV1},
    Meaning{{"torch._utils", "_rebuild_tensor_v2"}, Role::kTensorV2},
    Meaning{{"torch._utils", "_rebuild_tensor_v3"}, Role::kTensorV3},
    Meaning{{"torch._utils", "_rebuild_parameter"}, Role::kParameter},
    Meaning{{"torch.storage", "UntypedStorage"}, Role::kBytes},
    Meaning{{"torch", "FloatStorage"}, Role::kStorage, DType::kF32},
    Meaning{{"torch", "HalfStorage"}, Role::kStorage, DType::kF16},
    Meaning{{"torch", "BFloat16Storage"}, Role::kStorage, DType::kBF16},
    Meaning{{"torch", "DoubleStorage"}, Role::kStorage, DType::kF64},
    Meaning{{"torch", "CharStorage"}, Role::kStorage, DType::kI8},
    Meaning{{"torch", "ByteStorage"}, Role::kStorage, DType::kU8},
    Meaning{{"torch", "BoolStorage"}, Role::kStorage, DType::kU8},
    Meaning{{"torch", "ShortStorage"}, Role::kStorage, DType::kI16},
    Meaning{{"torch", "IntStorage"}, Role::kStorage, DType::kI32},
    Meaning{{"torch", "LongStorage"}, Role::kStorage, DType::kI64},
    Meaning{{"torch", "float32"}, Role::kDType, DType::kF32},
    Meaning{{"torch", "float16"}, Role::kDType, DType::kF16},
    Meaning{{"torch", "bfloat16"}, Role::kDType, DType::kBF16},
    Meaning{{"torch", "float64"}, Role::kDType, DType::kF64},
    Meaning{{"torch", "float8_e4m3fn"}, Role::kDType, DType::kF8_E4M3},
    Meaning{{"torch", "float8_e5m2"}, Role::kDType, DType::kF8_E5M2},
    Meaning{{"torch", "int8"}, Role::kDType, DType::kI8},
    Meaning{{"torch", "uint8"}, Role::kDType, DType::kU8},
    Meaning{{"torch", "bool"}, Role::kDType, DType::kU8},
    Meaning{{"torch", "int16"}, Role::kDType, DType::kI16},
    Meaning{{"torch", "int32"}, Role::kDType, DType::kI32},
    Meaning{{"torch", "int64"}, Role::kDType, DType::kI64},
};

constexpr auto kGlobals = [] {
  std::array<PickleGlobal, kMeanings.size()> globals{};
  for (size_t i = 0; i < globals.size(); ++i) {
    globals[i] = kMeanings[i].global;
  }
  return globals;
}();

// The arguments of one rebuild call.
using Args = std::span<const PickleValue>;

// Reads one entry of the dictionary.
class TensorReader {
 public:
  TensorReader(const Pickle& pickle, const ByteReader& reader, size_t start,
               std::map<std::string_view, TorchStorage>& storages)
      : pickle_(pickle), reader_(reader), at_(start), start_(start), storages_(storages) {}

  TorchTensor read(std::string_view name, const PickleValue& value) {
    tensor_.name = name;
    const PickleCall* call = find_call(value);
    if (call != nullptr && kMeanings[call->global].role == Role::kParameter) {
      const Args args = args_of(*call, 3, 3);
      call = find_call(args[0]);
    }
    if (call == nullptr || kMeanings[call->global].role == Role::kParameter) {
      const std::string hint = std::holds_alternative<PickleDict>(value)
                                   ? "; save the state_dict alone, not a checkpoint around it"
                                   : "";
      fail_value("value", kind_of(value), "a tensor" + hint, ErrorCode::kUnsupported);
    }
    read_tensor(*call);
    return std::move(tensor_);
  }

 private:
  [[noreturn]] void fail_value(std::string_view part, std::string_view found,
                               std::string_view allowed,
                               ErrorCode code = ErrorCode::kCorruptFile) const {
    reader_.fail_at(at_, fmt::format("tensor {}, {}", in_quotes(tensor_.name), part), found,
                    allowed, code);
  }

  const PickleCall* find_call(const PickleValue& value) {
    const auto* call = std::get_if<PickleCall>(&value);
    if (call != nullptr) {
      at_ = start_ + call->offset;
    }
    return call;
  }

  [[nodiscard]] Args args_of(const PickleCall& call, size_t least, size_t most) const {
    const Args args = pickle_.items(call.args);
    if (args.size() < least || args.size() > most) {
      fail_value(kMeanings[call.global].global.name, fmt::format("{} arguments", args.size()),
                 fmt::format("{} to {}", least, most));
    }
    return args;
  }

  void read_tensor(const PickleCall& call) {
    const Role role = kMeanings[call.global].role;
    Args args;
    size_t metadata = 0;  // which argument holds the conjugate and negative bits
    std::optional<DType> own_type;
    if (role == Role::kTensorV1) {
      args = args_of(call, 4, 4);
    } else if (role == Role::kTensorV2) {
      args = args_of(call, 6, 7);
      metadata = 6;
    } else if (role == Role::kTensorV3) {
      args = args_of(call, 7, 8);
      metadata = 7;
      own_type = read_dtype(args[6]);
    } else {
      fail_value("value", in_quotes(kMeanings[call.global].global.name), "a tensor's rebuild call");
    }
    if (metadata != 0 && args.size() > metadata) {
      check_metadata(args[metadata]);
    }
    read_storage(args[0], own_type);
    tensor_.offset = read_size("storage offset", args[1]);
    tensor_.shape = read_sizes("shape", args[2]);
    tensor_.strides = read_sizes("strides", args[3]);
    check_extent();
  }

  [[nodiscard]] DType read_dtype(const PickleValue& value) const {
    const auto* global = std::get_if<PickleGlobalRef>(&value);
    if (global == nullptr || kMeanings[global->index].role != Role::kDType) {
      fail_value("dtype", kind_of(value), "an element type of torch");
    }
    return *kMeanings[global->index].type;
  }

  void check_metadata(const PickleValue& value) const {
    const auto* dict = std::get_if<PickleDict>(&value);
    const bool is_plain = std::holds_alternative<PickleNone>(value) ||
                          (dict != nullptr && pickle_.pairs(*dict).empty());
    if (!is_plain) {
      fail_value("metadata", kind_of(value), "none: no conjugate or negative views",
                 ErrorCode::kUnsupported);
    }
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 1024), and in the old layout the view, None.
  void read_storage(const PickleValue& value, std::optional<DType> own_type) {
    const auto* persistent = std::get_if<PicklePersistentId>(&value);
    const auto* tuple =
        persistent == nullptr ? nullptr : std::get_if<PickleTuple>(&pickle_.id(*persistent));
    const Args fields = tuple == nullptr ? Args{} : pickle_.items(*tuple);
    if (fields.size() != 5 && fields.size() != 6) {
      fail_value("storage", fmt::format("{} of {} fields", kind_of(value), fields.size()),
                 "a persistent id of 5 or 6");
    }
    const auto* word = std::get_if<std::string_view>(&fields[0]);
    const auto* kind = std::get_if<PickleGlobalRef>(&fields[1]);
    const auto* key = std::get_if<std::string_view>(&fields[2]);
    if (word == nullptr || *word != "storage" || kind == nullptr || key == nullptr) {
      fail_value("storage", "fields of another kind", "\"storage\", its class, a key");
    }
    if (fields.size() == 6 && !std::holds_alternative<PickleNone>(fields[5])) {
      fail_value("storage", "a view of another storage",
                 "a storage of its own; save the model "
                 "again with a current torch",
                 ErrorCode::kUnsupported);
    }
    const Meaning& meaning = kMeanings[kind->index];
    if (meaning.role == Role::kBytes && own_type) {
      tensor_.type = *own_type;
      tensor_.storage = {*key, 0, 1};
    } else if (meaning.role == Role::kStorage && (!own_type || own_type == meaning.type)) {
      tensor_.type = *meaning.type;
      tensor_.storage = {*key, 0, quant::format_of(*meaning.type).bytes_per_block};
    } else {
      fail_value("storage", in_quotes(meaning.global.name), "a storage of the tensor's type");
    }
    tensor_.storage.n_elements = read_size("storage size", fields[4]);
    check_same_storage();
  }

  // All tensors of a storage agree about it.
  void check_same_storage() {
    const TorchStorage& own = tensor_.storage;
    const TorchStorage& first = storages_.try_emplace(own.key, own).first->second;
    if (first.n_elements != own.n_elements || first.element_bytes != own.element_bytes) {
      fail_value(
          fmt::format("storage {}", in_quotes(own.key)),
          fmt::format("{} elements of {} bytes", own.n_elements, own.element_bytes),
          fmt::format("{} of {}, as for an earlier tensor", first.n_elements, first.element_bytes));
    }
  }

  [[nodiscard]] int64_t read_size(std::string_view part, const PickleValue& value) const {
    const auto* number = std::get_if<int64_t>(&value);
    if (number == nullptr || *number < 0 || *number > kMaxDim) {
      fail_value(part, number == nullptr ? std::string(kind_of(value)) : fmt::format("{}", *number),
                 fmt::format("an integer, 0 to {}", kMaxDim));
    }
    return *number;
  }

  [[nodiscard]] std::vector<int64_t> read_sizes(std::string_view part,
                                                const PickleValue& value) const {
    const auto* tuple = std::get_if<PickleTuple>(&value);
    if (tuple == nullptr || tuple->size > kMaxDims) {
      fail_value(part,
                 tuple == nullptr ? std::string(kind_of(value))
                                  : fmt::format("{} dimensions", tuple->size),
                 fmt::format("a tuple of at most {} integers", kMaxDims));
    }
    std::vector<int64_t> sizes;
    for (const PickleValue& item : pickle_.items(*tuple)) {
      sizes.push_back(read_size(part, item));
    }
    return sizes;
  }

  // The last element lies inside the storage.
  void check_extent() const {
    if (tensor_.shape.size() != tensor_.strides.size()) {
      fail_value("strides", fmt::format("{} of them", tensor_.strides.size()),
                 fmt::format("{}, one per dimension", tensor_.shape.size()));
    }
    auto last = static_cast<uint64_t>(tensor_.offset);
    bool fits = true;
    for (size_t i = 0; i < tensor_.shape.size() && fits; ++i) {
      if (tensor_.shape[i] < 1) {
        fail_value("shape", format_dim(i), fmt::format("1 to {}", kMaxDim));
      }
      uint64_t reach = 0;
      fits = multiply_fits(static_cast<uint64_t>(tensor_.shape[i] - 1),
                           static_cast<uint64_t>(tensor_.strides[i]), reach) &&
             add_fits(last, reach, last);
    }
    // Both are below 2^44: kMaxDim elements of at most 8 bytes.
    const auto n_storage =
        static_cast<uint64_t>(tensor_.storage.n_elements * tensor_.storage.element_bytes);
    const auto element = static_cast<uint64_t>(quant::format_of(tensor_.type).bytes_per_block);
    const bool inside = fits && last < n_storage / element;
    if (!inside) {
      fail_value("storage offset, shape and strides",
                 fits ? fmt::format("a last element at {}", last) : std::string("an overflow"),
                 fmt::format("below {}, the size of storage {}", n_storage / element,
                             in_quotes(tensor_.storage.key)));
    }
    check_count(n_storage / element);
  }

  // A view that repeats elements would be a way to ask for any amount of memory.
  void check_count(uint64_t n_storage) const {
    uint64_t count = 1;
    bool fits = true;
    for (const int64_t dim : tensor_.shape) {
      fits = fits && multiply_fits(count, static_cast<uint64_t>(dim), count);
    }
    if (!fits || count > n_storage) {
      fail_value("shape",
                 fmt::format("{}, a view that repeats elements", format_shape(tensor_.shape)),
                 fmt::format("at most the {} elements of storage {}", n_storage,
                             in_quotes(tensor_.storage.key)),
                 ErrorCode::kUnsupported);
    }
  }

  [[nodiscard]] std::string format_dim(size_t i) const {
    return fmt::format("a dimension of {}", tensor_.shape[i]);
  }

  const Pickle& pickle_;
  const ByteReader& reader_;
  size_t at_;
  size_t start_;
  std::map<std::string_view, TorchStorage>& storages_;
  TorchTensor tensor_;
};

}  // namespace

PickleRules torch_pickle_rules(uint64_t file_bytes) {
  return {kGlobals, std::min(kBudgetBytes + file_bytes / 16, kMostBudgetBytes)};
}

std::vector<TorchTensor> read_torch_tensors(const Pickle& pickle, const ByteReader& reader,
                                            size_t start, uint64_t file_bytes) {
  const auto* root = std::get_if<PickleDict>(&pickle.root());
  if (root == nullptr) {
    reader.fail_at(start, "pickle", kind_of(pickle.root()), "a dict from names to tensors",
                   ErrorCode::kUnsupported);
  }
  const std::span<const Pickle::Pair> pairs = pickle.pairs(*root);
  const uint64_t most = kMaxTensors + file_bytes / kFileBytesPerTensor;
  if (pairs.size() > most) {
    reader.fail_at(start, "state_dict", fmt::format("{} tensors", pairs.size()),
                   fmt::format("at most {} in a file of {} bytes", most, file_bytes));
  }
  std::vector<TorchTensor> tensors;
  std::map<std::string_view, TorchStorage> storages;
  for (const auto& [key, value] : pairs) {
    const auto* name = std::get_if<std::string_view>(&key);
    if (name == nullptr || name->empty()) {
      reader.fail_at(start, "key of the state_dict",
                     name == nullptr ? kind_of(key) : std::string_view("an empty text"),
                     "the name of a tensor");
    }
    tensors.push_back(TensorReader(pickle, reader, start, storages).read(*name, value));
  }
  return tensors;
}

}  // namespace fathom::weights
