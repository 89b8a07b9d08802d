// Checkpoints of every scheme, made by tools/make_quantized_checkpoints.py with their values.
#include "weights/quantized_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "quant/formats.h"
#include "quant/pack.h"
#include "support/temp_folder.h"
#include "support/test_data.h"
#include "weights/hf_folder.h"
#include "weights/safetensors.h"

namespace fathom::weights {
namespace {

using testing::HasSubstr;

const std::string kData = fathom::test::test_data("lib/weights/data/quantized/");

std::vector<std::byte> read_rows(const FileTensor& tensor, int64_t first, int64_t n) {
  const int64_t row_bytes = quant::row_bytes(tensor.type, tensor.n_cols());
  std::vector<std::byte> rows(static_cast<size_t>(n * row_bytes));
  if (tensor.reader != nullptr) {
    tensor.reader->read_rows(first, n, rows.data());
  } else {
    std::memcpy(rows.data(), tensor.bytes.data() + first * row_bytes, rows.size());
  }
  return rows;
}

// All values, columns in the order of the input, read `at_once` rows at a time.
std::vector<float> values_of(const FileTensor& tensor, int64_t at_once) {
  const int64_t n_cols = tensor.n_cols();
  std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
  std::vector<float> row(static_cast<size_t>(n_cols));
  for (int64_t first = 0; first < tensor.n_rows(); first += at_once) {
    const int64_t n = std::min(at_once, tensor.n_rows() - first);
    const std::vector<std::byte> rows = read_rows(tensor, first, n);
    for (int64_t i = 0; i < n; ++i) {
      quant::dequantize_row(tensor.type, rows.data() + i * quant::row_bytes(tensor.type, n_cols),
                            n_cols, row.data());
      for (int64_t c = 0; c < n_cols; ++c) {
        const int64_t to =
            tensor.column_order == nullptr ? c : (*tensor.column_order)[static_cast<size_t>(c)];
        values[static_cast<size_t>((first + i) * n_cols + to)] = row[static_cast<size_t>(c)];
      }
    }
  }
  return values;
}

// Opens a folder of kData; every tensor must be among the expected ones, and have their values.
void expect_values(const std::string& folder, const std::map<std::string, DType>& types) {
  const auto model = open_hf_folder(kData + folder);
  TensorStore expected;
  add_safetensors_file(kData + folder + "/expected.safetensors", expected);
  for (const auto& [name, tensor] : model->tensors.tensors()) {
    EXPECT_NE(expected.find(name), nullptr) << folder << ": left over: " << name;
  }
  size_t n_quantized = 0;
  for (const auto& [name, want] : expected.tensors()) {
    const FileTensor* tensor = model->tensors.find(name);
    ASSERT_NE(tensor, nullptr) << folder << ": " << name;
    EXPECT_EQ(tensor->shape, want.shape) << folder << ": " << name;
    EXPECT_EQ(tensor->reader != nullptr, types.contains(name)) << folder << ": " << name;
    if (types.contains(name)) {
      EXPECT_EQ(tensor->type, types.at(name)) << folder << ": " << name;
      EXPECT_GT(tensor->reader->file_bytes(), 0U);
      ++n_quantized;
    }
    const std::vector<float> right = values_of(want, want.n_rows());
    for (const int64_t at_once : {1, 7, 16, 100}) {
      ASSERT_EQ(values_of(*tensor, at_once), right) << folder << ": " << name << " by " << at_once;
    }
  }
  EXPECT_EQ(n_quantized, types.size()) << folder;
}

TEST(QuantizedTensors, Gptq) {
  expect_values("gptq", {{"a.weight", DType::kI4Group},
                         {"b.weight", DType::kI4Group},
                         {"c.weight", DType::kI4Group}});
  expect_values("gptq_128", {{"a.weight", DType::kI4Group}});
  expect_values("gptq_8bit", {{"a.weight", DType::kI8Group}});
  expect_values("gptq_v2_row", {{"a.weight", DType::kI4Group}});
}

TEST(QuantizedTensors, OnlyActOrderHasAColumnOrder) {
  const auto model = open_hf_folder(kData + "gptq");
  EXPECT_EQ(model->tensors.find("a.weight")->column_order, nullptr);
  ASSERT_NE(model->tensors.find("c.weight")->column_order, nullptr);
  EXPECT_EQ(model->tensors.find("c.weight")->column_order->size(), 96U);
}

TEST(QuantizedTensors, Awq) {
  expect_values("awq", {{"a.weight", DType::kI4Group}});
}

TEST(QuantizedTensors, CompressedTensors) {
  expect_values("compressed_tensors", {{"group.weight", DType::kI4Group},
                                       {"zeros.weight", DType::kI4Group},
                                       {"act.weight", DType::kI4Group},
                                       {"wide.weight", DType::kI8Group},
                                       {"int8.weight", DType::kI8Group},
                                       {"int8z.weight", DType::kI8Group},
                                       {"channel.weight", DType::kBF16},
                                       {"tensor.weight", DType::kBF16}});
}

TEST(QuantizedTensors, Fp8Blocks) {
  expect_values("fp8", {{"a.weight", DType::kBF16}, {"experts.up", DType::kBF16}});
}

TEST(QuantizedTensors, Mxfp4) {
  expect_values("mxfp4", {{"experts.gate_up_proj", DType::kMXFP4}});
}

// A folder made of a header written here.
class QuantizedFolder {
 public:
  void add(const std::string& name, const std::string& dtype, const std::string& shape,
           const std::vector<std::byte>& data) {
    header_ += (header_.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":")" + dtype +
               R"(","shape":)" + shape + R"(,"data_offsets":[)" + std::to_string(data_.size()) +
               "," + std::to_string(data_.size() + data.size()) + "]}";
    data_.insert(data_.end(), data.begin(), data.end());
  }

  void add(const std::string& name, const std::string& dtype, const std::string& shape,
           size_t n_bytes) {
    add(name, dtype, shape, std::vector<std::byte>(n_bytes, std::byte{0x11}));
  }

  // The error of opening it, or "".
  std::string open(const std::string& quantization) {
    std::ofstream(folder_.path_of("config.json"))
        << "{\"quantization_config\":" << quantization << "}";
    const std::string header = header_ + "}";
    const uint64_t size = header.size();
    std::ofstream file(folder_.path_of("model.safetensors"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file << header;
    file.write(reinterpret_cast<const char*>(data_.data()),
               static_cast<std::streamsize>(data_.size()));
    file.close();
    try {
      model = open_hf_folder(folder_.path());
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::unique_ptr<ModelFile> model;

 private:
  test::TempFolder folder_;
  std::string header_;
  std::vector<std::byte> data_;
};

const std::string kGptq = R"({"quant_method":"gptq","bits":4,"group_size":32})";

TEST(QuantizedTensors, MissingPartsAreNamed) {
  QuantizedFolder folder;
  folder.add("x.qweight", "I32", "[4,8]", 128);
  folder.add("x.scales", "F16", "[1,8]", 16);
  EXPECT_THAT(folder.open(kGptq), HasSubstr("tensor 'x.qzeros' is missing"));
}

TEST(QuantizedTensors, ShapesThatDoNotFitAreNamed) {
  QuantizedFolder folder;
  folder.add("x.qweight", "I32", "[8,8]", 256);
  folder.add("x.qzeros", "I32", "[1,1]", 4);
  folder.add("x.scales", "F16", "[1,8]", 16);
  const std::string error = folder.open(kGptq);
  EXPECT_THAT(error, HasSubstr("tensor 'x.scales': shape: found [1, 8], expected [2, 8]"));
}

TEST(QuantizedTensors, GroupIndicesOutOfRangeOrUnevenAreNamed) {
  std::vector<std::byte> g_idx(64 * 4);
  for (const bool uneven : {false, true}) {
    QuantizedFolder folder;
    folder.add("x.qweight", "I32", "[8,8]", 256);
    folder.add("x.qzeros", "I32", "[2,1]", 8);
    folder.add("x.scales", "F16", "[2,8]", 32);
    for (size_t c = 0; c < 64; ++c) {
      g_idx[c * 4] = c % 2 == 1 || (uneven && c == 8) ? std::byte{1} : std::byte{0};
    }
    if (!uneven) {
      g_idx[5 * 4] = std::byte{2};
    }
    folder.add("x.g_idx", "I32", "[64]", g_idx);
    const std::string error = folder.open(kGptq);
    EXPECT_THAT(error, uneven ? HasSubstr("'x.g_idx': found group 0 of 31 columns")
                              : HasSubstr("'x.g_idx': group of column 5: found 2"));
  }
}

TEST(QuantizedTensors, OtherGroupSizesAreNamed) {
  QuantizedFolder folder;
  folder.add("x.qweight", "I32", "[8,8]", 256);
  folder.add("x.qzeros", "I32", "[4,1]", 16);
  folder.add("x.scales", "F16", "[4,8]", 64);
  EXPECT_THAT(folder.open(R"({"quant_method":"gptq","bits":4,"group_size":16})"),
              HasSubstr("found groups of 16 columns; read are multiples of 32"));
}

TEST(QuantizedTensors, OtherBitWidthsOfPackedWeightsAreNamed) {
  QuantizedFolder folder;
  std::vector<std::byte> shape(16);
  shape[0] = std::byte{8};
  shape[8] = std::byte{64};
  folder.add("x.weight_packed", "I32", "[8,6]", 192);  // 3 bits
  folder.add("x.weight_scale", "F32", "[8,1]", 32);
  folder.add("x.weight_shape", "I64", "[2]", shape);
  EXPECT_THAT(folder.open(R"({"quant_method":"compressed-tensors","format":"pack-quantized"})"),
              HasSubstr("found 6 words for 64 columns, 3.0 bits a weight; read are 4 and 8 bits"));
}

TEST(QuantizedTensors, WordsWithoutAMethodAreNamed) {
  QuantizedFolder folder;
  folder.add("x.qweight", "I32", "[4,8]", 128);
  EXPECT_THAT(folder.open("null"), HasSubstr("tensor 'x.qweight' is quantized, but found no"));
}

TEST(QuantizedTensors, ScaleGridsThatDoNotFitAreNamed) {
  QuantizedFolder folder;
  folder.add("x.weight", "F8_E4M3", "[8,64]", 512);
  folder.add("x.weight_scale", "F32", "[3,1]", 12);
  EXPECT_THAT(folder.open(R"({"quant_method":"fp8","weight_block_size":[4,64]})"),
              HasSubstr("tensor 'x.weight_scale': shape: found [3, 1], expected one scale"));
}

TEST(QuantizedTensors, BlocksOfAnotherLengthAreNamed) {
  QuantizedFolder folder;
  folder.add("x_blocks", "U8", "[2,1,8]", 16);
  folder.add("x_scales", "U8", "[2,1]", 2);
  EXPECT_THAT(folder.open(R"({"quant_method":"mxfp4"})"),
              HasSubstr("tensor 'x_blocks': shape: found [2, 1, 8], expected [..., rows, blocks, "
                        "16]"));
}

// Damaged headers: digits and letters of the JSON replaced. What still opens must be readable.
TEST(QuantizedTensors, DamagedHeadersNeverCrash) {
  std::mt19937 random(11);
  const test::TempFolder outer;
  const std::string copy = outer.path_of("damaged");
  int n_opened = 0;
  int n_refused = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kData)) {
    std::filesystem::remove_all(copy);
    std::filesystem::create_directory(copy);
    std::filesystem::copy_file(folder.path() / "config.json", copy + "/config.json");
    std::ifstream in(folder.path() / "model.safetensors", std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    uint64_t n_header = 0;
    std::memcpy(&n_header, whole.data(), sizeof n_header);
    for (int round = 0; round < 150; ++round) {
      std::string damaged = whole;
      for (int i = 0; i <= round % 3; ++i) {
        char& c = damaged[8 + random() % n_header];
        c = std::isdigit(c) != 0 ? static_cast<char>('0' + random() % 10) : c;
      }
      // Whole words of another type or name, of the same length.
      if (round % 2 == 0) {
        static constexpr const char* kSwaps[][2] = {
            {"\"I32\"", "\"F32\""}, {"\"F16\"", "\"I16\""}, {"scales", "scalex"},
            {"g_idx", "x_idx"},     {"_scale", "_scalx"},   {"\"BF16\"", "\"BF17\""}};
        const auto& swap = kSwaps[random() % std::size(kSwaps)];
        const size_t at = damaged.find(swap[0]);
        if (at < 8 + n_header) {
          damaged.replace(at, std::strlen(swap[0]), swap[1]);
        }
      }
      std::ofstream(copy + "/model.safetensors", std::ios::binary) << damaged;
      try {
        const auto model = open_hf_folder(copy);
        for (const auto& [name, tensor] : model->tensors.tensors()) {
          if (tensor.reader != nullptr) {
            read_rows(tensor, 0, tensor.n_rows());
          }
        }
        ++n_opened;
      } catch (const Error&) {
        ++n_refused;
      }
    }
  }
  std::filesystem::remove_all(copy);
  EXPECT_GT(n_opened, 0);
  EXPECT_GT(n_refused, 100);
}

TEST(QuantizedTensors, AnInfiniteScaleIsFoundWhenPacking) {
  QuantizedFolder folder;
  std::vector<std::byte> scales(16, std::byte{0x11});
  scales[2 * 5 + 1] = std::byte{0x7C};  // row 5: Inf or NaN
  folder.add("x.qweight", "I32", "[4,8]", 128);
  folder.add("x.qzeros", "I32", "[1,1]", 4);
  folder.add("x.scales", "F16", "[1,8]", scales);
  ASSERT_EQ(folder.open(kGptq), "");
  const FileTensor& tensor = *folder.model->tensors.find("x.weight");
  const std::vector<std::byte> rows = read_rows(tensor, 0, 8);
  std::vector<std::byte> packed(static_cast<size_t>(quant::group_bytes(DType::kI4Group, 32)) + 64);
  quant::PackGroup group;
  group.file_type = DType::kI4Group;
  group.packed_type = DType::kI4Group;
  group.n_cols = 32;
  const auto at = reinterpret_cast<uintptr_t>(packed.data());
  group.out = packed.data() + (64 - at % 64) % 64;
  for (size_t r = 0; r < 8; ++r) {
    group.rows[r] = rows.data() + r * static_cast<size_t>(quant::row_bytes(DType::kI4Group, 32));
  }
  EXPECT_EQ(quant::pack_group(group), 5);
}

}  // namespace
}  // namespace fathom::weights
