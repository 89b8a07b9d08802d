// The tiny models of tests/parity and what transformers computes for them, as tests read them.
// Called by parity_test.cc. Read next: tools/make_parity_models.py, which wrote the files.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/test_data.h"

namespace fathom::test {

// One prompt with its logits [ids, vocabulary] and the greedy tokens that follow it.
struct ParityPrompt {
  std::string name;  // "long", "short"
  std::vector<int32_t> ids;
  std::vector<int32_t> greedy;
  std::vector<float> logits;
};

// One file or folder to load and what it must give.
struct ParityModel {
  std::string name;  // "llama", "llama.gguf"
  std::string path;
  std::string expected_folder;
};

inline std::filesystem::path parity_folder() {
  return std::filesystem::path(fathom::test::test_data("parity"));
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) {
    throw std::runtime_error(path.string() + " cannot be read");
  }
  return nlohmann::json::parse(in);
}

// The floats of a .npy file that the maker wrote: version 1, little-endian float32, C order.
inline std::vector<float> read_npy(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0 ||
      bytes.find("'<f4'") == std::string::npos) {
    throw std::runtime_error(path.string() + " is not a .npy file of float32");
  }
  const size_t begin = 10U + static_cast<uint8_t>(bytes[8]) + 256U * static_cast<uint8_t>(bytes[9]);
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

inline std::vector<ParityPrompt> prompts_of(const ParityModel& model) {
  const std::filesystem::path folder = model.expected_folder;
  std::vector<ParityPrompt> prompts;
  const nlohmann::json expected = read_json(folder / "expected.json");
  for (const auto& [name, one] : expected.at("cases").items()) {
    prompts.push_back({name, one.at("input_ids").get<std::vector<int32_t>>(),
                       one.at("greedy").get<std::vector<int32_t>>(),
                       read_npy(folder / one.at("logits").get<std::string>())});
  }
  return prompts;
}

inline float tolerance_of(const ParityModel& model) {
  const nlohmann::json expected =
      read_json(std::filesystem::path(model.expected_folder) / "expected.json");
  return expected.at("tolerance").at("logits_abs").get<float>();
}

// Every folder and every GGUF file, sorted by name.
inline std::vector<ParityModel> parity_models() {
  std::vector<ParityModel> models;
  const std::filesystem::path root = parity_folder();
  for (const auto& entry : std::filesystem::directory_iterator(root / "expected")) {
    const nlohmann::json expected = read_json(entry.path() / "expected.json");
    for (const auto& path : expected.at("models")) {
      models.push_back(
          {entry.path().filename(), root / path.get<std::string>(), entry.path().string()});
    }
  }
  const nlohmann::json index = read_json(root / "gguf" / "expected.json");
  for (const auto& file : index.at("files")) {
    const auto name = file.at("file").get<std::string>();
    models.push_back({name, root / "gguf" / name, root / file.at("meets").get<std::string>()});
  }
  std::ranges::sort(models, {}, &ParityModel::name);
  return models;
}

// The same model once: GGUF files only where there is no folder with their values.
inline std::vector<ParityModel> distinct_parity_models() {
  std::vector<ParityModel> models = parity_models();
  std::erase_if(models, [](const ParityModel& model) {
    return model.path.ends_with(".gguf") &&
           !read_json(std::filesystem::path(model.expected_folder) / "expected.json")
                .at("models")
                .empty();
  });
  return models;
}

// A name that GoogleTest allows.
inline std::string test_name_of(const ParityModel& model) {
  std::string name = model.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

inline void PrintTo(const ParityModel& model, std::ostream* out) {
  *out << model.name;
}

}  // namespace fathom::test
