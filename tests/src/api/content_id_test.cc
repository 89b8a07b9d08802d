// Equal contents have one name wherever they lie, others have others; and the engine's keys have
// it.
#include "api/content_id.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/overrides.h"
#include "api/session.h"
#include "support/error_check.h"
#include "support/safetensors_builder.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

std::string id_of(const std::string& path, const std::vector<std::string>& overrides = {}) {
  const auto file = weights::open_model(path);
  apply_overrides(*file, overrides);
  return model_content_id(*file);
}

TEST(ContentId, NamesAModelByWhatIsInIt) {
  const test::TempFolder folder;
  const std::string one = test::tiny_chat_gguf().write(folder.path_of("one.gguf"));
  const std::string copy = test::tiny_chat_gguf().write(folder.path_of("copy.gguf"));
  EXPECT_EQ(id_of(one), id_of(copy));
  EXPECT_EQ(id_of(one).size(), 64U);  // SHA-256

  test::TinySizes trained;  // the same keys and tensors, other values
  trained.seed += 1;
  const std::string other = test::tiny_chat_gguf(trained).write(folder.path_of("other.gguf"));
  ASSERT_EQ(std::filesystem::file_size(one), std::filesystem::file_size(other));
  EXPECT_NE(id_of(one), id_of(other));

  test::GgufBuilder renamed = test::tiny_chat_gguf();
  renamed.set("general.name", "renamed");
  EXPECT_NE(id_of(one), id_of(renamed.write(folder.path_of("renamed.gguf"))));
  EXPECT_NE(id_of(one), id_of(one, {"llama.rope.freq_base=20000"}));
  EXPECT_EQ(id_of(one, {"llama.rope.freq_base=20000"}),
            id_of(copy, {"llama.rope.freq_base=20000"}));

  const auto open = weights::open_model(one);
  std::filesystem::remove(one);
  test::expect_error([&] { model_content_id(*open); }, ErrorCode::kNotFound, {"one.gguf"});
}

// A folder with an adapter of one module.
struct AdapterFolder {
  test::TempFolder folder;
  std::unique_ptr<weights::Adapter> adapter;

  AdapterFolder(std::string_view alpha, float last) {
    folder.write("adapter_config.json",
                 R"({"peft_type":"LORA","r":2,"target_modules":["q"],"lora_alpha":)" +
                     std::string(alpha) + "}");
    std::vector<float> values(2000, 0.5F);
    values.back() = last;
    test::SafetensorsBuilder builder;
    builder.add("base_model.model.m.q.lora_A.weight", std::vector<int64_t>{2, 1000}, values);
    builder.add("base_model.model.m.q.lora_B.weight", std::vector<int64_t>{1000, 2}, values);
    folder.write("adapter_model.safetensors", builder.bytes());
    adapter = weights::open_adapter(folder.path());
  }

  [[nodiscard]] AppliedAdapter at(double scale, bool is_merged = false) const {
    return {adapter.get(), folder.path(), scale, is_merged};
  }
};

TEST(ContentId, NamesAdaptersByEveryByteAndTheirUse) {
  const AdapterFolder one("3", 0.5F);
  const AdapterFolder copy("3", 0.5F);
  const AdapterFolder changed("3", 0.25F);  // in its last value
  const AdapterFolder scaled("4", 0.5F);
  const auto id = [](const std::vector<AppliedAdapter>& applied) {
    return adapter_content_id(applied);
  };
  EXPECT_EQ(id({}), "");
  EXPECT_EQ(id({one.at(1)}), id({copy.at(1)}));
  const std::set<std::string> all = {id({}),
                                     id({one.at(1)}),
                                     id({one.at(0.5)}),
                                     id({one.at(1, true)}),
                                     id({changed.at(1)}),
                                     id({scaled.at(1)}),
                                     id({one.at(1), changed.at(1)}),
                                     id({changed.at(1), one.at(1)})};
  EXPECT_EQ(all.size(), 8U);
}

TEST(ContentId, TheEnginesPagesAreKeptUnderIt) {
  const test::TempFolder folder;
  SessionOptions options;
  options.model_path = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  options.context = 128;
  options.n_threads = 1;
  options.prefix_cache = true;
  const auto session = Session::open(options);
  EXPECT_EQ(session->engine().options().model_id, id_of(options.model_path));
  EXPECT_EQ(session->engine().options().adapter_id, "");
  options.prefix_cache = false;  // nothing is kept, nothing has to be named
  EXPECT_EQ(Session::open(options)->engine().options().model_id, "");
}

}  // namespace
}  // namespace fathom::api
