// Tests of weights/hf_folder: single files, shards, and folders that are no models.
#include "weights/hf_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/error_check.h"
#include "support/pytorch_builder.h"
#include "support/safetensors_builder.h"
#include "support/temp_folder.h"
#include "weights/quantized_config.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::SafetensorsBuilder;

using Shape = std::vector<int64_t>;

class HfFolder : public testing::Test {
 protected:
  void write_config() { folder_.write("config.json", R"({"model_type": "llama", "eps": 1e-6})"); }

  void write_tensors(std::string_view name, const std::vector<std::string>& tensors) {
    SafetensorsBuilder file;
    for (const std::string& tensor : tensors) {
      file.add(tensor, Shape{2}, {1, 2});
    }
    folder_.write(name, file.bytes());
  }

  void write_bin(std::string_view name, const std::vector<std::string>& tensors) {
    test::PytorchBuilder file;
    for (const std::string& tensor : tensors) {
      file.add(tensor, {2}, {1, 2});
    }
    folder_.write(name, file.bytes());
  }

  void write_index(std::string_view weight_map,
                   std::string_view name = "model.safetensors.index.json") {
    folder_.write(name, "{\"weight_map\": " + std::string(weight_map) + "}");
  }

  void expect(ErrorCode code, std::initializer_list<std::string_view> parts) {
    expect_error([&] { open_hf_folder(folder_.path()); }, code, parts);
  }

  test::TempFolder folder_;
};

TEST_F(HfFolder, ReadsConfigGenerationConfigAndTensors) {
  write_config();
  folder_.write("generation_config.json", R"({"eos_token_id": [2, 3]})");
  write_tensors("model.safetensors", {"a", "b"});
  const auto model = open_hf_folder(folder_.path());
  EXPECT_EQ(model->metadata.source(), Source::kHuggingFace);
  EXPECT_EQ(model->metadata.path(), folder_.path_of("config.json"));
  EXPECT_EQ(model->metadata.get_string("model_type"), "llama");
  EXPECT_EQ(model->metadata.get_double("eps"), 1e-6);
  EXPECT_EQ(*model->metadata.find_ints("generation.eos_token_id"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(model->tensors.tensors().size(), 2U);
}

// Older checkpoints: the quantizer's own file says what config.json says now.
TEST_F(HfFolder, ReadsTheQuantizersOwnFile) {
  write_config();
  write_tensors("model.safetensors", {"a"});
  folder_.write("quantize_config.json", R"({"bits": 4, "group_size": 32, "desc_act": true})");
  const Metadata gptq = open_hf_folder(folder_.path())->metadata;
  EXPECT_EQ(gptq.get_string("quantization_config.quant_method"), "gptq");
  EXPECT_EQ(gptq.get_int("quantization_config.group_size"), 32);
  folder_.write("quantize_config.json", R"({"bits": 3, "group_size": 32})");
  expect(ErrorCode::kUnsupported, {"quantize_config.json: quantization_config.bits: found 3"});
  folder_.write("quantize_config.json", R"({"bits": {}})");
  expect(ErrorCode::kCorruptFile, {"quantize_config.json: key 'quantization_config.bits'"});
  folder_.write("config.json", R"({"quantization_config": {"quant_method": "awq"}})");
  EXPECT_EQ(open_hf_folder(folder_.path())->metadata.get_string("quantization_config.quant_method"),
            "awq")
      << "config.json counts";
}

TEST_F(HfFolder, ReadsTheOwnFileOfAwq) {
  folder_.write("config.json", R"({"model_type": "llama", "quantization_config": null})");
  write_tensors("model.safetensors", {"a"});
  folder_.write("quant_config.json",
                R"({"zero_point": true, "q_group_size": 64, "w_bit": 4, "version": "GEMM"})");
  const Metadata awq = open_hf_folder(folder_.path())->metadata;
  const QuantizationConfig config = read_quantization_config(awq);
  EXPECT_EQ(config.method, QuantMethod::kAwq);
  EXPECT_EQ(config.group_size, 64);
}

TEST_F(HfFolder, ReadsShards) {
  write_config();
  write_tensors("one.safetensors", {"a"});
  write_tensors("two.safetensors", {"b", "c"});
  write_index(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"})");
  EXPECT_EQ(open_hf_folder(folder_.path())->tensors.tensors().size(), 3U);
}

TEST_F(HfFolder, ShardsHoldWhatTheIndexSays) {
  write_config();
  write_tensors("one.safetensors", {"a"});
  write_tensors("two.safetensors", {"b"});
  write_index(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"})");
  expect(ErrorCode::kCorruptFile, {"index.json", "tensor \"c\"", "found it nowhere"});
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors"})");
  expect(ErrorCode::kCorruptFile, {"tensor \"b\"", "found it nowhere", "in one.safetensors"});
  write_index(R"({"a": "two.safetensors", "b": "one.safetensors"})");
  expect(ErrorCode::kCorruptFile, {"tensor \"a\"", "found it in one.safetensors"});
  write_index(R"({"a": "three.safetensors"})");
  expect(ErrorCode::kNotFound, {"three.safetensors: no such file", "index.json names it"});
  write_tensors("two.safetensors", {"a"});
  write_index(R"({"a": "one.safetensors", "b": "two.safetensors"})");
  expect(ErrorCode::kCorruptFile, {"one.safetensors", "two.safetensors", "'a' is there twice"});
}

constexpr std::string_view kBinIndex = "pytorch_model.bin.index.json";

TEST_F(HfFolder, ReadsPytorchFiles) {
  write_config();
  write_bin("pytorch_model.bin", {"a", "b"});
  EXPECT_EQ(open_hf_folder(folder_.path())->tensors.tensors().size(), 2U);
  write_tensors("model.safetensors", {"c"});  // counts first
  EXPECT_NE(open_hf_folder(folder_.path())->tensors.find("c"), nullptr);
}

TEST_F(HfFolder, ReadsPytorchShards) {
  write_config();
  write_bin("pytorch_model-00001-of-00002.bin", {"a", "b"});
  write_bin("pytorch_model-00002-of-00002.bin", {"c"});
  write_index(R"({"a": "pytorch_model-00001-of-00002.bin", "b": "pytorch_model-00001-of-00002.bin",
                  "c": "pytorch_model-00002-of-00002.bin"})",
              kBinIndex);
  EXPECT_EQ(open_hf_folder(folder_.path())->tensors.tensors().size(), 3U);
}

TEST_F(HfFolder, PytorchShardsHoldWhatTheIndexSays) {
  write_config();
  write_bin("one.bin", {"a"});
  write_bin("two.bin", {"b"});
  write_index(R"({"a": "one.bin", "b": "two.bin", "c": "two.bin"})", kBinIndex);
  expect(ErrorCode::kCorruptFile, {kBinIndex, "tensor \"c\"", "found it nowhere"});
  write_index(R"({"a": "two.bin", "b": "one.bin"})", kBinIndex);
  expect(ErrorCode::kCorruptFile, {"tensor \"a\"", "found it in one.bin", "allowed in two.bin"});
  write_index(R"({"a": "three.bin"})", kBinIndex);
  expect(ErrorCode::kNotFound, {"three.bin: no such file", "index.json names it"});
  write_index(R"({"a": "one.bin", "a": "two.bin"})", kBinIndex);
  expect(ErrorCode::kCorruptFile, {kBinIndex, "tensor \"a\" a second time"});
  write_index(R"({"a": "../one.bin"})", kBinIndex);
  expect(ErrorCode::kCorruptFile, {"tensor \"a\"", "without a folder"});
  write_bin("two.bin", {"a"});
  write_index(R"({"a": "one.bin", "b": "two.bin"})", kBinIndex);
  expect(ErrorCode::kCorruptFile, {"one.bin", "two.bin", "'a' is there twice"});
}

TEST_F(HfFolder, GenerationSettings) {
  write_config();
  write_tensors("model.safetensors", {"a"});
  folder_.write("generation_config.json", R"({
    "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": null,
    "repetition_penalty": 1.05, "eos_token_id": [151645, 151643], "bos_token_id": 1,
    "pad_token_id": null, "max_new_tokens": 2048, "stop_strings": ["a", "b"],
    "suppress_tokens": [], "transformers_version": "5.24.0"})");
  const auto model = open_hf_folder(folder_.path());
  const Metadata& found = model->metadata;
  EXPECT_EQ(found.find_bool("generation.do_sample"), true);
  EXPECT_EQ(found.find_double("generation.temperature"), 0.6);
  EXPECT_EQ(found.find_int("generation.top_k"), 20);
  EXPECT_EQ(found.find_double("generation.top_p"), 0.95);
  EXPECT_EQ(found.find_double("generation.min_p"), std::nullopt);
  EXPECT_EQ(found.find_double("generation.repetition_penalty"), 1.05);
  EXPECT_EQ(*found.find_ints("generation.eos_token_id"), (std::vector<int64_t>{151645, 151643}));
  EXPECT_EQ(found.find_int("generation.bos_token_id"), 1);
  EXPECT_EQ(found.find_int("generation.pad_token_id"), std::nullopt);
  EXPECT_EQ(found.find_int("generation.max_new_tokens"), 2048);
  EXPECT_EQ(found.find_strings("generation.stop_strings")->size(), 2U);
  EXPECT_TRUE(found.find_ints("generation.suppress_tokens")->empty());
}

TEST_F(HfFolder, ShardNamesAreNoPaths) {
  write_config();
  for (const char* name :
       {"../x.safetensors", "/etc/passwd", "sub/x.safetensors", "..", ".", "", "a\\u0000b"}) {
    SCOPED_TRACE(name);
    write_index("{\"a\": \"" + std::string(name) + "\"}");
    expect(ErrorCode::kCorruptFile, {"tensor \"a\"", "without a folder"});
  }
}

TEST_F(HfFolder, FoldersThatAreNoModels) {
  expect(ErrorCode::kNotFound, {"no config.json", "Hugging Face model folder or a GGUF file"});
  folder_.write("m.gguf", "x");
  expect(ErrorCode::kNotFound, {"no config.json", "give the file", "m.gguf"});
  write_config();
  expect(ErrorCode::kNotFound, {"no weights", "model.safetensors", "pytorch_model.bin"});
  folder_.write("pytorch_model-00001-of-00002.bin", "x");
  expect(ErrorCode::kNotFound,
         {"pytorch_model-00001-of-00002.bin is a shard", "index", "is missing"});
}

TEST_F(HfFolder, BrokenFilesAreNamed) {
  folder_.write("config.json", "{");
  expect(ErrorCode::kCorruptFile, {"config.json: byte "});
  folder_.write("config.json", "");
  expect(ErrorCode::kCorruptFile, {"config.json", "empty"});
  folder_.write("config.json", std::string((size_t{16} << 20) + 1, ' '));
  expect(ErrorCode::kCorruptFile, {"config.json: byte 0: size: found 16777217 bytes"});
  write_config();
  folder_.write("generation_config.json", "[]");
  write_tensors("model.safetensors", {"a"});
  expect(ErrorCode::kCorruptFile, {"generation_config.json: byte "});
}

TEST_F(HfFolder, AFifoIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(folder_.path_of("config.json").c_str(), 0600), 0);
  expect(ErrorCode::kInvalidArgument, {"config.json", "FIFO"});
}

}  // namespace

}  // namespace fathom::weights
