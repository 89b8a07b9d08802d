// The report of everything that does not fit, and what is passed over.
#include <gtest/gtest.h>

#include "model/bind.h"
#include "src/model/made_file.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::MadeFile;
using test::small_config;
using test::small_file;

const std::string kLayer = "model.layers.0.";

TEST(BindReport, ReportsEverythingAtOnce) {
  MadeFile file = small_file();
  file.remove(kLayer + "mlp.up_proj.weight").remove(kLayer + "self_attn.k_proj.weight");
  file.add(kLayer + "self_attn.k_proj.weight", {4, 9});
  file.remove("model.norm.weight").add("model.norm.weight", {1, 8});  // a row is a vector
  file.add("surprise.weight", {2, 3});
  ModelConfig config = small_config();
  config.layers.front().output_bias = true;
  expect_error([&] { bind_tensors(file.file(), {}, config); }, ErrorCode::kCorruptFile,
               {"model/config.json: 4 tensors do not fit the architecture 'Small'",
                kLayer + "mlp.up_proj.weight: missing, expected [6, 8]",
                kLayer + "self_attn.k_proj.weight: found [4, 9], expected [4, 8]",
                kLayer + "self_attn.o_proj.bias: missing, expected [8]",
                "surprise.weight: [2, 3] is no part of this architecture"});
}

TEST(BindReport, ReportsTwentyAtMost) {
  MadeFile file = small_file();
  for (int i = 0; i < 23; ++i) {
    file.add("extra." + std::to_string(i), {1});
  }
  ModelConfig config = small_config();
  expect_error([&] { bind_tensors(file.file(), {}, config); }, ErrorCode::kCorruptFile,
               {"23 tensors", "; and 3 more"});
}

TEST(BindReport, RefusesIntegersAndPartsWithoutAName) {
  MadeFile file = small_file();
  file.remove("model.norm.weight");
  file.add("model.norm.weight", DType::kI32, {8}, std::vector<std::byte>(32));
  ModelConfig config = small_config();
  config.n_positions = 4;
  expect_error([&] { bind_tensors(file.file(), {}, config); }, ErrorCode::kCorruptFile,
               {"model.norm.weight: type I32 is not a weight type", "has no name for a part"});
}

TEST(BindReport, SomeTensorsAreNobodys) {
  MadeFile file = small_file();
  file.add(kLayer + "self_attn.rotary_emb.inv_freq", {2});
  file.add("transformer.h.0.attn.bias", {1, 1, 4, 4});
  ModelConfig config = small_config();
  config.tied_head = true;  // the head lies in the file all the same
  bind_tensors(file.file(), {}, config);
  file.add("model.layers.1.eh_proj.weight", {8, 16});
  expect_error([&] { bind_tensors(file.file(), {}, config); }, ErrorCode::kCorruptFile,
               {"model.layers.1.eh_proj.weight"});
  config.n_extra_layers = 1;
  bind_tensors(file.file(), {}, config);
  file.add("model.layers.2.eh_proj.weight", {8, 16});
  expect_error([&] { bind_tensors(file.file(), {}, config); }, ErrorCode::kCorruptFile,
               {"1 tensors", "model.layers.2.eh_proj.weight"});
}

}  // namespace
}  // namespace fathom::model
