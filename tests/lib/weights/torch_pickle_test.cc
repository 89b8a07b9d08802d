// Tests of weights/torch_pickle: what the rebuild calls mean, and arguments that cannot be.
#include "weights/torch_pickle.h"

#include <gtest/gtest.h>

#include "support/error_check.h"
#include "support/pytorch_builder.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::PickleWriter;
using test::PytorchBuilder;
using test::TorchItem;

using Sizes = std::vector<int64_t>;

constexpr uint64_t kFileBytes = 1 << 20;

std::vector<TorchTensor> read(const std::string& text) {
  ByteReader reader(std::as_bytes(std::span(text)), "m.bin");
  const Pickle pickle = read_pickle(reader, torch_pickle_rules(kFileBytes));
  return read_torch_tensors(pickle, reader, 0, kFileBytes);
}

void expect_refused(const std::string& text, ErrorCode code,
                    std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)read(text); }, code, parts);
}

void expect_corrupt(const TorchItem& item, std::initializer_list<std::string_view> parts) {
  expect_refused(PytorchBuilder().tensor(item).pickle(), ErrorCode::kCorruptFile, parts);
}

// [2, 3] in a storage of 6.
TorchItem item() {
  TorchItem result;
  result.name = "w";
  result.n_elements = 6;
  result.shape = {2, 3};
  result.strides = {3, 1};
  return result;
}

TEST(TorchPickle, TypesOfStorages) {
  const std::pair<const char*, DType> types[] = {
      {"FloatStorage", DType::kF32},     {"HalfStorage", DType::kF16},
      {"BFloat16Storage", DType::kBF16}, {"DoubleStorage", DType::kF64},
      {"CharStorage", DType::kI8},       {"ByteStorage", DType::kU8},
      {"BoolStorage", DType::kU8},       {"ShortStorage", DType::kI16},
      {"IntStorage", DType::kI32},       {"LongStorage", DType::kI64}};
  for (const auto& [name, type] : types) {
    TorchItem own = item();
    own.storage_class = name;
    const std::string text = PytorchBuilder().tensor(own).pickle();  // keys are views of it
    const auto tensors = read(text);
    ASSERT_EQ(tensors.size(), 1U);
    EXPECT_EQ(tensors[0].type, type) << name;
    EXPECT_EQ(tensors[0].shape, (Sizes{2, 3}));
    EXPECT_EQ(tensors[0].strides, (Sizes{3, 1}));
    EXPECT_EQ(tensors[0].storage.key, "0");
    EXPECT_EQ(tensors[0].storage.n_elements, 6);
  }
}

TEST(TorchPickle, TypesOfTensorsOverBytes) {
  const std::pair<const char*, DType> types[] = {{"float8_e4m3fn", DType::kF8_E4M3},
                                                 {"float8_e5m2", DType::kF8_E5M2},
                                                 {"float32", DType::kF32},
                                                 {"bool", DType::kU8}};
  for (const auto& [name, type] : types) {
    TorchItem own = item();
    own.dtype = name;
    own.n_elements = 24;
    const auto tensors = read(PytorchBuilder().tensor(own).pickle());
    EXPECT_EQ(tensors[0].type, type) << name;
    EXPECT_EQ(tensors[0].storage.element_bytes, 1);
  }
  TorchItem odd = item();
  odd.dtype = "float32";
  odd.n_elements = 23;
  expect_corrupt(odd, {"tensor \"w\"", "a last element at 5", "below 5"});
}

TEST(TorchPickle, ParametersAndOldTensors) {
  TorchItem own = item();
  own.is_parameter = true;
  EXPECT_EQ(read(PytorchBuilder().tensor(own).pickle())[0].name, "w");
  PickleWriter old;
  old.raw("}").text("w").global("torch._utils", "_rebuild_tensor").raw("((").text("storage");
  old.global("torch", "HalfStorage").text("7").text("cuda:0").integer(6).raw("tQ").integer(2);
  old.tuple(Sizes{4}).tuple(Sizes{1}).raw("tRs.");
  const auto tensors = read(old.bytes());
  EXPECT_EQ(tensors[0].type, DType::kF16);
  EXPECT_EQ(tensors[0].offset, 2);
}

TEST(TorchPickle, OtherElementTypesAreRefusedByName) {
  TorchItem own = item();
  own.storage_class = "ComplexFloatStorage";
  expect_refused(PytorchBuilder().tensor(own).pickle(), ErrorCode::kUnsupported,
                 {"found \"torch.ComplexFloatStorage\""});
  own.dtype = "uint16";
  expect_refused(PytorchBuilder().tensor(own).pickle(), ErrorCode::kUnsupported,
                 {"found \"torch.uint16\""});
}

TEST(TorchPickle, ViewsBeyondTheStorage) {
  TorchItem own = item();
  own.offset = 1;
  expect_corrupt(own, {"m.bin: byte ", "tensor \"w\", storage offset, shape and strides",
                       "a last element at 6", "below 6, the size of storage \"0\""});
  own = item();
  own.strides = {4, 1};
  expect_corrupt(own, {"a last element at 6"});
  own = item();
  own.strides = {int64_t{1} << 40, 1};
  own.shape = {int64_t{1} << 40, 3};
  expect_corrupt(own, {"an overflow"});
  own = item();
  own.n_elements = 0;
  expect_corrupt(own, {"a last element at 5, allowed below 0"});
  own = item();
  own.offset = int64_t{1} << 62;
  expect_corrupt(own, {"storage offset: found 4611686018427387904"});
}

TEST(TorchPickle, ViewsThatRepeatElementsAreRefused) {
  TorchItem own = item();
  own.shape = {int64_t{1} << 40, int64_t{1} << 40};
  own.strides = {0, 0};
  expect_refused(PytorchBuilder().tensor(own).pickle(), ErrorCode::kUnsupported,
                 {"tensor \"w\", shape", "repeats elements", "at most the 6 elements"});
  own.shape = {2, 6};
  own.strides = {0, 1};
  expect_refused(PytorchBuilder().tensor(own).pickle(), ErrorCode::kUnsupported,
                 {"shape: found [2, 6], a view that repeats elements"});
  own.shape = {1, 6};
  EXPECT_EQ(read(PytorchBuilder().tensor(own).pickle()).size(), 1U);
}

TEST(TorchPickle, SizesThatCannotBe) {
  TorchItem own = item();
  own.shape = {2, -3};
  expect_corrupt(own, {"tensor \"w\", shape: found -3"});
  own.shape = {2, 0};
  expect_corrupt(own, {"shape: found a dimension of 0"});
  own.shape = {2};
  expect_corrupt(own, {"strides: found 2 of them, allowed 1"});
  own.shape = Sizes(9, 1);
  expect_corrupt(own, {"shape: found 9 dimensions", "at most 8"});
  own = item();
  own.strides = {-3, 1};
  expect_corrupt(own, {"strides: found -3"});
  own = item();
  own.n_elements = -1;
  expect_corrupt(own, {"storage size: found -1"});
}

TEST(TorchPickle, TensorsOfAStorageAgreeAboutIt) {
  TorchItem other = item();
  other.name = "v";
  PytorchBuilder file;
  EXPECT_EQ(read(file.tensor(item()).tensor(other).pickle()).size(), 2U);
  other.n_elements = 7;
  expect_refused(PytorchBuilder().tensor(item()).tensor(other).pickle(), ErrorCode::kCorruptFile,
                 {"tensor \"v\", storage \"0\": found 7 elements of 4 bytes", "6 of 4"});
  other = item();
  other.storage_class = "HalfStorage";
  expect_refused(PytorchBuilder().tensor(item()).tensor(other).pickle(), ErrorCode::kCorruptFile,
                 {"found 6 elements of 2 bytes"});
}

TEST(TorchPickle, OnlyTensorsInADictionary) {
  const auto code = ErrorCode::kUnsupported;
  expect_refused("N.", code, {"byte 0: pickle: found None", "a dict from names to tensors"});
  const auto entry = [](const PickleWriter& value) {
    return PickleWriter().raw("}").text("w").raw(value.bytes()).raw("s.").bytes();
  };
  expect_refused(entry(PickleWriter().integer(3)), code, {"tensor \"w\", value: found an integer"});
  expect_refused(entry(PickleWriter().raw("}")), code, {"found a dict", "the state_dict alone"});
  expect_refused(PickleWriter().raw("}").integer(1).raw("Ns.").bytes(), ErrorCode::kCorruptFile,
                 {"key of the state_dict: found an integer"});
  expect_refused(PickleWriter().raw("}").text("").raw("Ns.").bytes(), ErrorCode::kCorruptFile,
                 {"found an empty text"});
}

TEST(TorchPickle, ArgumentsOfOtherKinds) {
  const auto entry = [](const PickleWriter& value) {
    return PickleWriter().raw("}").text("w").raw(value.bytes()).raw("s.").bytes();
  };
  const auto call = [&](std::string_view name, std::string_view args) {
    return entry(PickleWriter().global("torch._utils", name).raw("(").raw(args).raw("tR"));
  };
  const auto code = ErrorCode::kCorruptFile;
  expect_refused(call("_rebuild_tensor_v2", "N"), code, {"found 1 arguments", "6 to 7"});
  expect_refused(call("_rebuild_tensor_v2", "NNNNNN"), code, {"storage: found None of 0 fields"});
  expect_refused(call("_rebuild_tensor_v2", "NQNNNNN"), code, {"storage: found a persistent id"});
  expect_refused(call("_rebuild_tensor_v2", "(NNNNNtQNNNNN"), code, {"fields of another kind"});
  expect_refused(call("_rebuild_tensor_v3", "NNNNNNN"), code, {"dtype: found None"});
  expect_refused(call("_rebuild_tensor_v2", "NNNNNNK\x01"), ErrorCode::kUnsupported,
                 {"metadata: found an integer"});
  expect_refused(call("_rebuild_parameter", "NNN"), ErrorCode::kUnsupported,
                 {"value: found a call, allowed a tensor"});
  expect_refused(entry(PickleWriter().global("torch", "float32").raw(")R")), code,
                 {"value: found \"float32\""});
}

TEST(TorchPickle, ManyNamesForOneTensor) {
  std::string one = PytorchBuilder().tensor(item()).pickle();
  const size_t begin = one.find("ctorch._utils");
  one = one.substr(begin, one.find("u}") - begin);
  PickleWriter many;
  many.raw("}(").text("first").raw(one).raw("q").raw({"\0", 1});
  for (int i = 0; i < 20'000; ++i) {
    many.text("w" + std::to_string(i)).raw("h").raw({"\0", 1});
  }
  expect_refused(many.raw("u.").bytes(), ErrorCode::kCorruptFile,
                 {"state_dict: found 20001 tensors", "at most 16640"});
}

}  // namespace

}  // namespace fathom::weights
