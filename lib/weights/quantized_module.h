// The tensors of one quantized module, taken out of the store one by one and checked.
// Called by weights/quantized_tensors and the makers of quantized_gptq, quantized_packed,
// quantized_mxfp4, fp8_rows. Read next: weights/quantized_tensors.cc.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "weights/quantized_pages.h"
#include "weights/tensor_store.h"

namespace fathom::weights {

// "model-00001.safetensors: tensor 'a.b.qweight'", for errors.
std::string where(const SourceTensor& source);

// Error: kUnsupported (another type, naming those that are read; bytes that do not lie in order).
void check_type(const SourceTensor& source, std::initializer_list<DType> types);

// Error: kCorruptFile with found and expected shape; `why` says what the shape follows from.
void check_shape(const SourceTensor& source, const std::vector<int64_t>& expected,
                 std::string_view why);

// A tensor whose rows come from a reader; `file` holds its main part.
SourceTensor make_computed(std::string name, DType type, std::vector<int64_t> shape,
                           const MappedFile* file, std::shared_ptr<const RowReader> reader);

// The element types that scales may have.
inline constexpr std::initializer_list<DType> kScaleTypes = {DType::kF16, DType::kBF16,
                                                             DType::kF32};

class ModuleTensors {
 public:
  // `prefix`: what the names have in common, "model.layers.0.mlp.down_proj.". The store must
  // outlive it.
  ModuleTensors(TensorStore* store, std::string prefix)
      : store_(store), prefix_(std::move(prefix)) {}

  [[nodiscard]] const std::string& prefix() const { return prefix_; }

  [[nodiscard]] bool has(std::string_view suffix) const;

  // Takes prefix + suffix out of the store. Error: kCorruptFile when it is missing (the module then
  // lacks a part of its weight).
  SourceTensor take(std::string_view suffix);

  std::optional<SourceTensor> try_take(std::string_view suffix);

  // Forgets tensors that only a quantized forward pass reads (scales of activations).
  void drop(std::initializer_list<std::string_view> suffixes);

 private:
  TensorStore* store_;
  std::string prefix_;
};

}  // namespace fathom::weights
