// Opening a model: the forecast, refusals, pools; and several requests in one step.
// Read next: api/session.cc.
#include "api/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <map>

#include "api/generator.h"
#include "base/error.h"
#include "support/default_model.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/test_data.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

SessionOptions tiny_options(const test::TempFolder& folder) {
  SessionOptions options;
  options.model_path = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  options.context = 128;
  options.n_threads = 2;
  return options;
}

TEST(SessionTest, OpensWithinThePlan) {
  const test::TempFolder folder;
  const auto session = Session::open(tiny_options(folder));
  EXPECT_EQ(session->context(), 128);
  EXPECT_EQ(session->threads().n_threads(), 2);
  ASSERT_NE(session->tokenizer(), nullptr);
  EXPECT_THAT(session->end_tokens(), testing::Contains(test::kTinyEnd));
  EXPECT_EQ(session->pages().n_pages(), 2);
  for (const auto& [pool, bytes] : session->pool_peaks()) {
    EXPECT_EQ(bytes, session->memory_plan().bytes_of(pool)) << pool;  // nothing too much
  }
}

TEST(SessionTest, ContextDefaultsToTheModelsUpTo4096) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  options.context = -1;
  EXPECT_EQ(make_forecast(options)->plan.context, 4096);
  options.context = 0;
  test::expect_error([&] { make_forecast(options); }, ErrorCode::kInvalidArgument, {"context 0"});
}

TEST(SessionTest, TooLargeAContextIsRefusedBeforeAllocation) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  options.context = int64_t{1} << 40;
  test::expect_error([&] { Session::open(options); }, ErrorCode::kOutOfMemory,
                     {"kv", "largest context that fits is -c "});
}

TEST(SessionTest, F32PagesFollowFromTheReferenceArithmetic) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  options.compute_f32 = true;
  EXPECT_EQ(make_forecast(options)->input.page_type, PageType::kF32);
  options.page_type = PageType::kBF16;
  EXPECT_EQ(make_forecast(options)->input.page_type, PageType::kBF16);
}

TEST(SessionTest, FilesWithoutAVocabularyTakeIds) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  options.model_path = test::tiny_gguf({}).write(folder.path_of("bare.gguf"));
  EXPECT_EQ(Session::open(options)->tokenizer(), nullptr);
}

// What is measured is what is computed: the same ids, and every weight read once a step.
TEST(SessionTest, AProfileChangesNothingAndMissesNothing) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  GenerateOptions request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 4;
  request.ignore_eos = true;
  const auto plain = Session::open(options);
  EXPECT_EQ(plain->op_profile(), nullptr);
  options.profile_ops = true;
  const auto measured = Session::open(options);
  EXPECT_EQ(generate(*plain, request).tokens, generate(*measured, request).tokens);
  double bytes = 0;
  for (const xray::OpLine& line : measured->op_profile()->lines()) {
    bytes += line.op == "linear" || line.op == "gated_linear" ? line.bytes : 0;
  }
  // Four steps, of which each reads every matrix: the packed weights but the embedding.
  EXPECT_NEAR(bytes, 4.0 * static_cast<double>(measured->load_plan().token_bytes), 0.05 * bytes);
}

// Ids can be given to a model whose kind of tokenizer is not known; a damaged vocabulary is an
// error.
TEST(SessionTest, AnUnknownKindOfTokenizerIsAWarning) {
  const test::TempFolder folder;
  SessionOptions options = tiny_options(folder);
  options.model_path = test::tiny_chat_gguf()
                           .remove("tokenizer.ggml.pre")
                           .set("tokenizer.ggml.pre", "nosuch")
                           .write(folder.path_of("odd.gguf"));
  const auto session = Session::open(options);
  EXPECT_EQ(session->tokenizer(), nullptr);
  EXPECT_THAT(session->end_tokens(), testing::ElementsAre(test::kTinyEnd));
  options.model_path = test::tiny_chat_gguf()
                           .remove("tokenizer.ggml.token_type")
                           .set("tokenizer.ggml.token_type", std::vector<int32_t>{1})
                           .write(folder.path_of("bad.gguf"));
  test::expect_error([&] { Session::open(options); }, ErrorCode::kCorruptFile, {"token_type"});
}

// A Hugging Face folder brings its tokenizer and its template along.
TEST(SessionTest, AFolderWithATokenizerTakesText) {
  const test::TempFolder folder;
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(test::test_data("parity/models/qwen2/") + name, folder.path_of(name));
  }
  folder.write("tokenizer.json",
               R"({"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"[UNK]":2},"unk_token":"[UNK]"},
                   "pre_tokenizer":{"type":"Whitespace"},"added_tokens":[]})");
  folder.write("tokenizer_config.json", R"({"eos_token":"b","chat_template":"{{ bos_token }}"})");
  SessionOptions options;
  options.model_path = folder.path();
  options.context = 64;
  options.n_threads = 1;
  const auto session = Session::open(options);
  ASSERT_NE(session->tokenizer(), nullptr);
  EXPECT_EQ(session->tokenizer()->encode("b a", {}), (std::vector<int32_t>{1, 0}));
  EXPECT_THAT(session->end_tokens(), testing::Contains(1));
  EXPECT_EQ(session->tokenizer()->vocabulary().chat_template, "{{ bos_token }}");
  EXPECT_GT(session->figures().vocab_s, 0.0);
}

// What one request gave: ids, and the bits of every log-probability.
struct Record {
  std::vector<int32_t> ids;
  std::vector<uint32_t> bits;

  bool operator==(const Record&) const = default;
};

class RecordSink final : public engine::TextSink {
 public:
  bool on_token(const engine::TokenEvent& event) override {
    record.ids.push_back(event.id);
    record.bits.push_back(std::bit_cast<uint32_t>(event.sampled->logprob));
    for (const sample::TokenLogprob& entry : event.sampled->best) {
      record.bits.push_back(std::bit_cast<uint32_t>(entry.logprob));
    }
    return true;
  }

  void on_finish(engine::FinishReason reason, const engine::Usage&, std::string_view) override {
    EXPECT_EQ(reason, engine::FinishReason::kLength);
  }

  Record record;
};

// Runs all requests at once; one new one is submitted every `spacing` steps.
std::vector<Record> run_all(Session& session, const std::vector<engine::Request>& requests,
                            int spacing) {
  std::vector<RecordSink> sinks(requests.size());
  size_t n_submitted = 0;
  bool goes_on = true;
  for (int step = 0; goes_on || n_submitted < requests.size(); ++step) {
    while (n_submitted < requests.size() &&
           (spacing == 0 || step >= static_cast<int>(n_submitted) * spacing)) {
      session.engine().submit(requests[n_submitted], sinks[n_submitted]);
      ++n_submitted;
    }
    goes_on = session.engine().step();
  }
  std::vector<Record> records;
  for (const RecordSink& sink : sinks) {
    records.push_back(sink.record);
  }
  return records;
}

class DefaultModelBatchTest : public test::DefaultModelFixture {
 protected:
  std::unique_ptr<Session> open(int n_threads, int64_t chunk, int64_t max_sequences) {
    SessionOptions options;
    options.model_path = model();
    options.context = 192;
    options.n_threads = n_threads;
    options.max_batched_tokens = chunk;
    options.max_sequences = max_sequences;
    return Session::open(options);
  }
};

std::vector<engine::Request> texts(const Session& session, float temperature) {
  std::vector<engine::Request> requests;
  for (const char* text :
       {"Monday, Tuesday, Wednesday,", "2 4 6 8 10 12 14", "The largest planet is",
        "A short letter to my neighbour, whose cat has been sleeping in our kitchen all week:",
        "x"}) {
    engine::Request request;
    request.prompt = session.tokenizer()->encode(text, {});
    request.sampling.temperature = temperature;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1.0F;
    request.sampling.min_p = 0.0F;
    request.sampling.seed = 42;
    request.sampling.n_logprobs = 5;
    request.max_tokens = 24;
    requests.push_back(std::move(request));
  }
  return requests;
}

// Alone, together, in any chunk, with any number of threads: the same bits.
TEST_F(DefaultModelBatchTest, NeighboursChunksAndThreadsChangeNothing) {
  for (const float temperature : {0.0F, 1.2F}) {
    std::vector<Record> alone;
    {
      const auto session = open(1, 512, 1);
      for (const engine::Request& request : texts(*session, temperature)) {
        alone.push_back(run_all(*session, {request}, 0).front());
      }
    }
    for (const auto& [n_threads, chunk, spacing] :
         {std::tuple{1, 512, 0}, {2, 512, 2}, {2, 32, 1}, {2, 1, 0}}) {
      const auto session = open(n_threads, std::max<int64_t>(chunk, 1), chunk == 1 ? 1 : 8);
      std::vector<engine::Request> requests = texts(*session, temperature);
      const size_t n_texts = requests.size();
      for (size_t i = 0; i < n_texts; ++i) {
        requests.push_back(requests[i]);  // twice each
      }
      const auto records = run_all(*session, requests, spacing);
      for (size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i], alone[i % n_texts])
            << "request " << i << ", threads " << n_threads << ", chunk " << chunk;
      }
      EXPECT_EQ(session->pages().n_free(), session->pages().n_pages());
    }
  }
}

TEST_F(DefaultModelBatchTest, SeedsDecideAndChoicesDiffer) {
  const auto session = open(2, 512, 8);
  engine::Request request = texts(*session, 1.2F).front();
  std::vector<engine::Request> requests(8, request);
  requests[1].sampling.seed = 43;
  requests[2].choice = 1;
  const auto records = run_all(*session, requests, 0);
  EXPECT_EQ(records[0], records[3]);
  EXPECT_EQ(records[0], records[7]);
  EXPECT_NE(records[0].ids, records[1].ids);
  EXPECT_NE(records[0].ids, records[2].ids);
}

}  // namespace
}  // namespace fathom::api
