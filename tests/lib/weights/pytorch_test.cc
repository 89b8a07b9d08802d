// Tests of weights/pytorch: files of torch itself, both layouts, and files that lie or ask for
// code.
#include "weights/pytorch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "quant/formats.h"
#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "support/pytorch_builder.h"
#include "support/temp_folder.h"
#include "support/test_data.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::PickleWriter;
using test::PytorchBuilder;
using test::TorchItem;
using test::ZipItem;

using Shape = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

TensorStore parse(const Bytes& bytes) {
  TensorStore store;
  parse_pytorch(bytes, "m.bin", nullptr, store);
  return store;
}

void expect_refused(const Bytes& bytes, ErrorCode code,
                    std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)parse(bytes); }, code, parts);
}

void expect_corrupt(const Bytes& bytes, std::initializer_list<std::string_view> parts) {
  expect_refused(bytes, ErrorCode::kCorruptFile, parts);
}

// All rows of a tensor, however they are stored.
Bytes rows_of(const FileTensor& tensor) {
  if (tensor.reader == nullptr) {
    return {tensor.bytes.begin(), tensor.bytes.end()};
  }
  Bytes out(static_cast<size_t>(tensor.n_rows() * quant::row_bytes(tensor.type, tensor.n_cols())));
  tensor.reader->read_rows(0, tensor.n_rows(), out.data());
  return out;
}

std::string hex_of(const Bytes& bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    out += "0123456789abcdef"[static_cast<size_t>(byte) >> 4];
    out += "0123456789abcdef"[static_cast<size_t>(byte) & 15];
  }
  return out;
}

// What tools/make_torch_files.py noted about every tensor: name, type, shape, bytes in order.
void expect_as_listed(const std::string& name) {
  SCOPED_TRACE(name);
  const std::string folder = fathom::test::test_data("lib/weights/torch/");
  TensorStore store;
  add_pytorch_file(folder + name, store);
  std::ifstream list(folder + "expected.txt");
  size_t n_tensors = 0;
  for (std::string line; std::getline(list, line);) {
    std::istringstream fields(line);
    std::string tensor_name;
    std::string type;
    std::string shape;
    std::string hex;
    fields >> tensor_name >> type >> shape >> hex;
    const FileTensor* tensor = store.find(tensor_name);
    ASSERT_NE(tensor, nullptr) << tensor_name;
    EXPECT_EQ(name_of(tensor->type), type) << tensor_name;
    std::string own_shape = format_shape(tensor->shape);
    std::erase(own_shape, ' ');
    EXPECT_EQ(own_shape, shape) << tensor_name;
    EXPECT_EQ(hex_of(rows_of(*tensor)), hex) << tensor_name;
    ++n_tensors;
  }
  EXPECT_EQ(store.tensors().size(), n_tensors);
  EXPECT_GE(n_tensors, 15U);
}

// C28: a benign state_dict gives its numbers.
TEST(PyTorch, ReadsWhatTorchWrote) {
  expect_as_listed("zip.bin");
  expect_as_listed("zip_protocol4.bin");
  expect_as_listed("old.bin");
}

TEST(PyTorch, ReadsBothLayouts) {
  const PytorchBuilder file = PytorchBuilder().add("a", {2, 2}, {1, 2, 3, 4}).add("b", {1}, {5});
  for (const Bytes& bytes : {file.bytes(), file.old_bytes()}) {
    const TensorStore store = parse(bytes);
    EXPECT_EQ(store.tensors().size(), 2U);
    const FileTensor* a = store.find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->shape, (Shape{2, 2}));
    EXPECT_EQ(hex_of(rows_of(*a)), hex_of(test::raw_bytes(std::vector<float>{1, 2, 3, 4})));
    EXPECT_GE(a->bytes.data(), bytes.data());  // used in place
    EXPECT_LE(a->bytes.data() + a->bytes.size(), bytes.data() + bytes.size());
    EXPECT_EQ(store.total_bytes(), 20U);
  }
}

TEST(PyTorch, TensorsMayShareAStorage) {
  PytorchBuilder file;
  file.storage("0", test::raw_bytes(std::vector<float>{1, 2, 3, 4, 5, 6}));
  TorchItem item;
  item.name = "whole";
  item.n_elements = 6;
  item.shape = {2, 3};
  item.strides = {3, 1};
  file.tensor(item);
  item.name = "turned";
  item.shape = {3, 2};
  item.strides = {1, 3};
  file.tensor(item);
  item.name = "tail";
  item.offset = 4;
  item.shape = {2};
  item.strides = {1};
  file.tensor(item);
  const Bytes bytes = file.bytes();
  const TensorStore store = parse(bytes);
  EXPECT_EQ(store.find("whole")->reader, nullptr);
  EXPECT_NE(store.find("turned")->reader, nullptr);
  EXPECT_TRUE(store.find("turned")->bytes.empty());
  EXPECT_EQ(hex_of(rows_of(*store.find("turned"))),
            hex_of(test::raw_bytes(std::vector<float>{1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(hex_of(rows_of(*store.find("tail"))),
            hex_of(test::raw_bytes(std::vector<float>{5, 6})));
}

// A call of `name` in `module` with one text, as the value of the whole pickle or of an entry.
std::string code_pickle(std::string_view module, std::string_view name, const std::string& text,
                        bool in_entry) {
  PickleWriter out;
  out.raw("\x80\x02");
  if (in_entry) {
    out.raw("}").text("w");
  }
  out.global(module, name).text(text).raw("\x85R");
  return out.raw(in_entry ? "s." : ".").bytes();
}

// C28: nothing in the file is run.
TEST(PyTorch, CodeIsRefusedAndNotRun) {
  const test::TempFolder folder;
  const std::string trace = folder.path_of("pwned");
  const std::pair<const char*, const char*> globals[] = {
      {"os", "system"},        {"posix", "system"}, {"builtins", "eval"}, {"builtins", "exec"},
      {"subprocess", "Popen"}, {"torch", "load"},   {"torch.hub", "load"}};
  for (const auto& [module, name] : globals) {
    const std::string refused = "\"" + std::string(module) + "." + name + "\"";
    for (const bool in_entry : {false, true}) {
      const std::string pickle = code_pickle(module, name, "touch " + trace, in_entry);
      expect_refused(test::zip_of_pickle(pickle), ErrorCode::kUnsupported,
                     {"m.bin: byte ", "GLOBAL: found ", refused, "code is never executed"});
      expect_refused(PytorchBuilder().old_bytes(pickle), ErrorCode::kUnsupported, {refused});
    }
  }
  EXPECT_TRUE(folder.names().empty());
  EXPECT_NE(::access(trace.c_str(), F_OK), 0);
}

TEST(PyTorch, NestedCallsAreRefused) {
  PickleWriter out;
  out.raw("}").text("w").global("torch._utils", "_rebuild_parameter").raw(")R)Rs.");
  expect_refused(test::zip_of_pickle(out.bytes()), ErrorCode::kUnsupported,
                 {"REDUCE: found a call called with a tuple"});
}

// C28: an entry that claims 1 TiB.
TEST(PyTorch, AZipBombIsRefused) {
  PytorchBuilder file;
  TorchItem item;
  item.name = "w";
  item.n_elements = int64_t{1} << 38;
  item.shape = {int64_t{1} << 38};
  item.strides = {1};
  file.tensor(item);
  ZipItem bomb;
  bomb.name = "m/data/0";
  bomb.bytes.resize(100);
  bomb.is_64 = true;
  bomb.bytes64 = uint64_t{1} << 40;
  expect_corrupt(file.zip().add(bomb).bytes(),
                 {"entry \"m/data/0\", size: found 1099511627776 bytes"});
  bomb.is_64 = false;
  bomb.method = 8;
  expect_refused(file.zip().add(bomb).bytes(), ErrorCode::kUnsupported, {"(deflated)"});
  bomb.method = 0;
  expect_corrupt(file.zip().add(bomb).bytes(),
                 {"storage \"0\": found 100 bytes", "1099511627776: 274877906944 elements"});
}

TEST(PyTorch, StoragesAreThereWithTheirSize) {
  PytorchBuilder file;
  TorchItem item;
  item.name = "w";
  item.key = "9";
  item.n_elements = 2;
  item.shape = {2};
  item.strides = {1};
  file.tensor(item);
  expect_corrupt(file.bytes(), {"tensor \"w\", storage: found no entry m/data/\"9\""});
  expect_corrupt(file.old_bytes(), {"tensor \"w\", storage: found no key \"9\""});
  file.storage("9", Bytes(4));
  expect_corrupt(file.bytes(), {"storage \"9\": found 4 bytes", "8: 2 elements of 4 bytes"});
  expect_corrupt(file.old_bytes(), {"storage \"9\": found 1 elements, allowed 2"});
  PytorchBuilder more = PytorchBuilder().add("w", {1}, {1});
  more.storage("7", Bytes(4));
  EXPECT_EQ(parse(more.bytes()).tensors().size(), 1U);  // nobody's business
  expect_corrupt(more.old_bytes(), {"storage keys: found \"7\""});
}

TEST(PyTorch, StorageKeysAreNoPaths) {
  PytorchBuilder file;
  TorchItem item;
  item.name = "w";
  item.key = "../../../etc/passwd";
  item.n_elements = 1;
  item.shape = {1};
  item.strides = {1};
  file.tensor(item);
  expect_corrupt(file.bytes(), {"no entry m/data/\"../../../etc/passwd\""});
}

TEST(PyTorch, NamesStandOnce) {
  PytorchBuilder file;
  file.add("w", {1}, {1}).add("w", {1}, {2});
  expect_corrupt(file.bytes(), {"tensor 'w' is there twice"});
  expect_corrupt(file.old_bytes(), {"tensor 'w' is there twice"});
}

TEST(PyTorch, TheArchiveHoldsOnePickle) {
  const auto file = PytorchBuilder().add("w", {1}, {1});
  expect_corrupt(test::ZipBuilder().add("m/version", "3").bytes(), {"found no entry data.pkl"});
  expect_corrupt(file.zip().add("n/data.pkl", "N.").bytes(),
                 {"entry \"n/data.pkl\": found a second pickle beside \"m/data.pkl\""});
  expect_corrupt(test::zip_of_pickle("}.N"), {"data.pkl: found 1 more bytes"});
  EXPECT_TRUE(parse(test::zip_of_pickle("}.")).tensors().empty());
}

TEST(PyTorch, ByteOrderIsLittle) {
  test::ZipBuilder zip;
  zip.add("m/data.pkl", "}.").add("m/byteorder", "big");
  expect_refused(zip.bytes(), ErrorCode::kUnsupported, {"byteorder: found \"big\""});
  Bytes old = PytorchBuilder().add("w", {1}, {1}).old_bytes();
  const std::string_view text(reinterpret_cast<const char*>(old.data()), old.size());
  old[text.find("little_endian") + 13] = std::byte{0x89};  // False
  expect_refused(old, ErrorCode::kUnsupported, {"little_endian: found no"});
}

TEST(PyTorch, TheHeadOfTheOldLayout) {
  const Bytes whole = PytorchBuilder().add("w", {1}, {1}).old_bytes();
  Bytes bytes = whole;
  bytes[5] = std::byte{0};
  expect_corrupt(bytes, {"byte 0: magic number: found a long integer"});
  bytes = whole;
  bytes[19] = std::byte{0};  // of 1001
  expect_refused(bytes, ErrorCode::kUnsupported, {"byte 15: protocol version: found ", "1001"});
  bytes = whole;
  bytes.push_back(std::byte{0});
  expect_corrupt(bytes, {"end: found 1 more bytes"});
}

TEST(PyTorch, OtherFilesAreRefused) {
  const auto bytes_of = [](std::string_view text) {
    const auto raw = std::as_bytes(std::span(text));
    return Bytes(raw.begin(), raw.end());
  };
  expect_corrupt({}, {"m.bin: byte 0: first bytes: found \"\""});
  expect_corrupt(bytes_of("version https://git-lfs.github.com/spec/v1"), {"Git LFS pointer"});
  Bytes tar(300);
  std::memcpy(tar.data() + 257, "ustar", 5);
  expect_corrupt(tar, {"TAR layout of torch 0.1"});
  expect_corrupt(bytes_of("{\"a\": 1}"), {"first bytes: found \"{\\\"a\\\": 1}\""});
}

TEST(PyTorch, CutOffAnywhere) {
  const auto file = PytorchBuilder().add("a", {2, 2}, {1, 2, 3, 4}).add("b", {1}, {5});
  for (const Bytes& whole : {file.bytes(), file.old_bytes()}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(size);
      expect_corrupt({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)},
                     {"m.bin: byte "});
    }
  }
}

TEST(PyTorch, RandomByteFlipsNeverCrash) {
  const auto file = PytorchBuilder().add("a", {2, 2}, {1, 2, 3, 4}).add("b", {1}, {5});
  std::mt19937 random(5);
  int n_refused = 0;
  for (const Bytes& whole : {file.bytes(), file.old_bytes()}) {
    for (int i = 0; i < 20'000; ++i) {
      Bytes bytes = whole;
      for (uint32_t n = 0; n <= random() % 3; ++n) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      try {
        const TensorStore store = parse(bytes);
        for (const auto& [name, tensor] : store.tensors()) {
          (void)rows_of(tensor);
        }
      } catch (const Error& error) {
        ++n_refused;
        ASSERT_TRUE(error.code() == ErrorCode::kCorruptFile ||
                    error.code() == ErrorCode::kUnsupported)
            << error.what();
      }
    }
  }
  EXPECT_GT(n_refused, 5000);
}

}  // namespace

}  // namespace fathom::weights
