// Opens a model in the order in which each part needs the one before.
// Called by apps. Read next: xray/memory_plan.cc, model/load.h, engine/engine.h.
#include "api/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "api/content_id.h"
#include "api/overrides.h"
#include "base/check.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/log.h"
#include "ops/cpu_backend.h"
#include "xray/page_budget.h"

namespace fathom::api {

namespace {

constexpr int64_t kDefaultContext = 4096;
constexpr int64_t kStackBytes = int64_t{256} * 1024;  // touched by one worker thread
constexpr int64_t kSpareLogits = 7;    // rows of logits for log probabilities of prompts
constexpr int64_t kSamplerBytes = 12;  // of a running sequence, for each id of the vocabulary
constexpr int64_t kLoadWindowBytes = 2 << 20;  // file pages in sight while packing, and tables

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

kernels::Dispatch pick_kernels(std::optional<Isa> isa_cap) {
  const Environment environment = read_environment();
  kernels::Dispatch dispatch =
      kernels::make_dispatch(detect_cpu(), isa_cap.value_or(environment.isa_cap),
                             isa_cap || environment.has_isa_cap, true);
  for (const std::string& message : dispatch.messages) {
    warn(message);
  }
  return dispatch;
}

int64_t pick_context(int64_t wanted, const model::LoadPlan& load) {
  const int64_t n_positions = load.config.n_positions;
  const int64_t most = n_positions > 0 ? n_positions : load.config.max_context;
  if (wanted == -1) {
    return std::min(most, kDefaultContext);
  }
  if (wanted < 1) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("context {} is not a number of tokens; allowed: 1 and more", wanted));
  }
  if (n_positions > 0 && wanted > n_positions) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("context {} is longer than the {} positions that the model has learned; "
                     "allowed: 1 to {}",
                     wanted, n_positions, n_positions));
  }
  if (wanted > load.config.max_context) {
    warn(
        fmt::format("context {} is longer than the {} tokens the model was made for; answers "
                    "degrade beyond them",
                    wanted, load.config.max_context));
  }
  return wanted;
}

// Of the engine, in one step.
int64_t logit_rows(const SessionOptions& options) {
  return options.max_sequences + (options.max_sequences > 1 ? kSpareLogits : 0);
}

engine::EngineOptions engine_options(const SessionOptions& options, int64_t context) {
  return {.max_batched_tokens = options.max_batched_tokens,
          .max_sequences = options.max_sequences,
          .context = context,
          .use_kv_cache = options.use_kv_cache,
          .prefix_cache = options.prefix_cache && options.use_kv_cache,
          .arithmetic = arithmetic_of(options),
          .max_logits = logit_rows(options),
          .priority_aging = options.priority_aging,
          .check_pages = options.check_pages};
}

int n_engines(const SessionOptions& options) {
  return options.use_kv_cache ? 1 : 2;
}

// End tokens that a folder's config files or a file's keys name, where there is no vocabulary.
std::vector<int32_t> config_end_tokens(const weights::Metadata& metadata) {
  std::vector<int32_t> ids;
  const auto add = [&](int64_t id) {
    if (std::in_range<int32_t>(id)) {  // any other names no token
      ids.push_back(static_cast<int32_t>(id));
    }
  };
  for (const char* key :
       {"generation.eos_token_id", "eos_token_id", "tokenizer.ggml.eos_token_id"}) {
    const auto value = metadata.entries().find(key);
    if (value == metadata.entries().end()) {
      (void)metadata.find_int(key);  // refuses an object
      continue;
    }
    if (std::holds_alternative<std::vector<int64_t>>(value->second)) {
      for (const int64_t id : *metadata.find_ints(key)) {
        add(id);
      }
    } else if (const auto id = metadata.find_int(key)) {
      add(*id);
    }
    break;
  }
  return ids;
}

// Opens the vocabulary, where there is one, with what it needs to decode; says what it takes. A
// kind of tokenizer that Fathom does not know is a warning: ids can be given all the same.
void open_vocabulary(Forecast& forecast) {
  const auto start = std::chrono::steady_clock::now();
  const weights::Metadata& metadata = forecast.file->metadata;
  const int64_t before = xray::process_memory().resident_bytes;
  if (codec::has_tokenizer(metadata)) {
    try {
      forecast.tokenizer = codec::make_tokenizer(metadata);
      forecast.tokenizer->start_decoding(false, true);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
      warn(fmt::format("no text, token ids only: {}", error.what()));
    }
  }
  malloc_trim(0);  // what reading the file took for a while
  forecast.input.vocabulary_bytes =
      std::max<int64_t>(0, xray::process_memory().resident_bytes - before);
  forecast.vocab_s = seconds_since(start);
}

// What --arithmetic fast means, and where it would be slower than exact.
void announce_arithmetic(const SessionOptions& options, const kernels::Dispatch& dispatch) {
  if (!options.fast_prompts) {
    return;
  }
  note(
      "arithmetic: fast (int8 per 256) for prompts; answers, the output head and float weights are "
      "exact");
  const bool has_twins = std::ranges::any_of(dispatch.entries, [](const auto& entry) {
    return entry.set != Isa::kScalar && entry.entry.starts_with("matmul_coarse.");
  });
  if (!has_twins) {
    warn(
        "--arithmetic fast has only scalar kernels on this CPU, which are slow; --arithmetic exact "
        "is faster");
  }
}

// What packed weights are made from.
std::string describe_source(const SessionOptions& options, const weights::ModelFile& file) {
  std::string text = model::describe_files(options.model_path);
  for (const auto& part : file.tensors.files()) {
    text += model::describe_files(part->path());
  }
  for (const AdapterPath& adapter : options.adapters) {
    text += fmt::format("adapter {} {}\n{}", adapter.scale, options.merge_adapters,
                        model::describe_files(adapter.folder));
  }
  for (const std::string& change : options.overrides) {
    text += fmt::format("override {}\n", change);
  }
  return text;
}

}  // namespace

uint8_t arithmetic_of(const SessionOptions& options) {
  return options.compute_f32    ? kv::kF32Arithmetic
         : options.fast_prompts ? kv::kFastArithmetic
                                : kv::kExactArithmetic;
}

std::string packed_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const bool has_cache = cache != nullptr && *cache != '\0';
  if (!has_cache && (home == nullptr || *home == '\0')) {
    fail(ErrorCode::kInvalidArgument,
         "packed weights have no place: neither XDG_CACHE_HOME nor HOME is set; set one, or leave "
         "the packed cache off");
  }
  return fmt::format("{}{}/fathom/packed", has_cache ? cache : home, has_cache ? "" : "/.cache");
}

std::unique_ptr<Forecast> make_forecast(const SessionOptions& options) {
  if (options.fast_prompts && options.compute_f32) {
    fail(ErrorCode::kInvalidArgument,
         "--arithmetic fast and --compute f32 were both given; f32 has no int8: give one of them");
  }
  auto forecast = std::make_unique<Forecast>();
  forecast->dispatch = pick_kernels(options.isa_cap);
  forecast->file = weights::open_model(options.model_path);
  apply_overrides(*forecast->file, options.overrides);
  forecast->load_options.as_f32 = options.compute_f32;
  forecast->load_options.fast_prompts = options.fast_prompts;
  forecast->load_options.merge_adapters = options.merge_adapters;
  for (const AdapterPath& path : options.adapters) {
    forecast->adapters.push_back(weights::open_adapter(path.folder));
    forecast->load_options.adapters.push_back({forecast->adapters.back().get(), path.scale});
  }
  if (options.packed_cache) {
    forecast->load_options.cache = {packed_cache_folder(),
                                    describe_source(options, *forecast->file)};
  }
  forecast->load = model::plan_load(*forecast->file, forecast->load_options);
  const int64_t context = pick_context(options.context, forecast->load);
  open_vocabulary(*forecast);
  xray::PlanInput& input = forecast->input;
  input.load = &forecast->load;
  input.page_type =
      options.page_type.value_or(options.compute_f32 ? PageType::kF32 : PageType::kBF16);
  input.context = context;
  input.max_sequences = options.max_sequences;
  input.limits = {.max_tokens = options.max_batched_tokens,
                  .max_logits = std::max(logit_rows(options), options.max_logits),
                  .attention = options.attention};
  input.n_threads = options.n_threads == -1 ? usable_cpus() : options.n_threads;
  const int64_t n_vocab = forecast->load.config.n_vocab;
  input.engine_bytes = n_engines(options) * static_cast<int64_t>(engine::Engine::scratch_bytes(
                                                n_vocab, engine_options(options, context))) +
                       static_cast<int64_t>(MemoryPool::padded_bytes(
                           static_cast<size_t>(options.max_logits * n_vocab) * sizeof(float)));
  const xray::ProcessMemory held = xray::process_memory();
  input.program_bytes = held.resident_bytes - input.vocabulary_bytes + kLoadWindowBytes +
                        input.n_threads * kStackBytes +
                        options.max_sequences * n_vocab * kSamplerBytes;
  forecast->limit = xray::memory_limit(held);
  input.n_pages =
      xray::pick_pages(input, {options.kv_bytes, options.memory_utilization}, forecast->limit);
  forecast->plan = xray::make_plan(input);
  return forecast;
}

// In the order of construction: each part may point to those above it.
struct Session::Parts {
  SessionOptions options;
  std::unique_ptr<Forecast> forecast;
  OpenFigures figures;
  std::vector<int32_t> end_tokens;
  std::unique_ptr<MemoryPool> weight_pool, kv_pool, scratch_pool;
  std::unique_ptr<ThreadPool> threads;
  std::unique_ptr<ops::Exec> exec;
  std::unique_ptr<model::ModelWeights> weights;
  std::unique_ptr<kv::PagePool> pages;
  std::unique_ptr<ops::CpuBackend> backend;
  std::unique_ptr<xray::OpProfile> profile;          // with profile_ops
  std::unique_ptr<xray::ProfilingBackend> measured;  // around backend
  std::unique_ptr<model::Model> model;
  ops::Rows score_rows;
  std::unique_ptr<engine::Engine> engine;         // as the options say
  std::unique_ptr<engine::Engine> cached_engine;  // beside one without a KV cache
  bool use_cached_engine = false;

  void check_tensors();
  void find_end_tokens();
  void open_pools();
  void open_weights();
  void name_contents(engine::EngineOptions& settings) const;
  void open_engine();
};

// Error: kCorruptFile naming every tensor (at most 20) with the row and block of its first NaN or
// infinity.
void Session::Parts::check_tensors() {
  const weights::TensorCheck check =
      weights::check_tensors(*forecast->file, *threads, options.check_progress);
  if (options.check_progress) {
    options.check_progress(1, 1);
  }
  if (check.n_bad == 0) {
    return;
  }
  std::vector<std::string> bad;
  for (const weights::BadTensor& tensor : check.bad) {
    bad.push_back(weights::format_bad_tensor(tensor));
  }
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: {} of {} tensors hold a NaN or infinity: {}{}; the file is damaged, or was "
                   "made from a broken model",
                   options.model_path, check.n_bad, check.n_tensors, fmt::join(bad, "; "),
                   check.n_bad > std::ssize(bad)
                       ? fmt::format("; and {} more", check.n_bad - std::ssize(bad))
                       : std::string()));
}

void Session::Parts::find_end_tokens() {
  end_tokens = forecast->tokenizer ? forecast->tokenizer->end_tokens()
                                   : config_end_tokens(forecast->file->metadata);
  figures.vocab_s = forecast->vocab_s;
}

void Session::Parts::open_pools() {
  const auto make_pool = [&](const char* name) {
    return std::make_unique<MemoryPool>(name, static_cast<size_t>(forecast->plan.bytes_of(name)));
  };
  weight_pool = make_pool("weights");
  kv_pool = make_pool("kv");
  scratch_pool = make_pool("scratch");
}

void Session::Parts::open_weights() {
  const auto start = std::chrono::steady_clock::now();
  if (forecast->load.rounds_f16) {
    note("F16 weights are rounded to BF16; --compute f32 keeps them");
  }
  weights = model::load_weights(*forecast->file, forecast->load, forecast->load_options,
                                *weight_pool, *threads, options.progress);
  figures.load_s = seconds_since(start);
}

// Pages that are kept for later prompts are those of these very weights.
void Session::Parts::name_contents(engine::EngineOptions& settings) const {
  if (!settings.prefix_cache) {
    return;
  }
  settings.model_id = model_content_id(*forecast->file);
  std::vector<AppliedAdapter> applied;
  for (size_t i = 0; i < options.adapters.size(); ++i) {
    applied.push_back({forecast->adapters[i].get(), options.adapters[i].folder,
                       options.adapters[i].scale, options.merge_adapters});
  }
  settings.adapter_id = adapter_content_id(applied);
}

void Session::Parts::open_engine() {
  const xray::PlanInput& input = forecast->input;
  kv_pool->populate(*threads);
  scratch_pool->populate(*threads);
  exec = std::make_unique<ops::Exec>(*threads, forecast->dispatch.table, *scratch_pool);
  pages = std::make_unique<kv::PagePool>(
      *kv_pool, xray::page_shape(forecast->load.config, input.page_type), xray::n_pages_of(input));
  backend = std::make_unique<ops::CpuBackend>(
      *exec, *scratch_pool,
      xray::split_limits(forecast->load.config, input.context, input.max_sequences));
  ops::Backend* used = backend.get();
  if (options.profile_ops) {
    profile = std::make_unique<xray::OpProfile>();
    measured = std::make_unique<xray::ProfilingBackend>(*backend, *profile);
    used = measured.get();
  }
  model = std::make_unique<model::Model>(*weights, *used, *pages, *scratch_pool, input.limits);
  engine::EngineOptions engine_settings = engine_options(options, input.context);
  name_contents(engine_settings);
  engine = std::make_unique<engine::Engine>(*model, *exec, *pages, *scratch_pool, engine_settings);
  if (!options.use_kv_cache) {
    engine_settings.use_kv_cache = true;
    cached_engine =
        std::make_unique<engine::Engine>(*model, *exec, *pages, *scratch_pool, engine_settings);
  }
  if (options.max_logits > 0) {
    const int64_t n_vocab = forecast->load.config.n_vocab;
    const auto values =
        scratch_pool->allocate_array<float>(static_cast<size_t>(options.max_logits * n_vocab));
    score_rows = {
        .data = values.data(), .n_rows = options.max_logits, .n_cols = n_vocab, .stride = n_vocab};
  }
}

std::unique_ptr<Session> Session::open(const SessionOptions& options) {
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->forecast = make_forecast(options);
  const Forecast& forecast = *parts->forecast;
  if (!forecast.fits()) {
    fail(ErrorCode::kOutOfMemory,
         xray::describe_excess(forecast.plan, forecast.limit.bytes, forecast.limit.name,
                               xray::largest_context(forecast.input, forecast.limit.bytes)));
  }
  announce_arithmetic(options, forecast.dispatch);
  parts->threads = std::make_unique<ThreadPool>(forecast.input.n_threads);
  if (options.check_tensors) {
    parts->check_tensors();
  }
  parts->open_pools();
  parts->find_end_tokens();
  parts->open_weights();
  parts->open_engine();
  return std::unique_ptr<Session>(new Session(std::move(parts)));
}

Session::Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Session::~Session() = default;

engine::Engine& Session::engine() {
  return parts_->use_cached_engine ? *parts_->cached_engine : *parts_->engine;
}

xray::OpProfile* Session::op_profile() {
  return parts_->profile.get();
}

void Session::set_kv_cache(bool is_on) {
  FATHOM_CHECK(parts_->cached_engine != nullptr);
  parts_->use_cached_engine = is_on;
}

model::Model& Session::model() {
  return *parts_->model;
}

ops::Exec& Session::exec() {
  return *parts_->exec;
}

const ops::Rows& Session::score_rows() const {
  return parts_->score_rows;
}

ThreadPool& Session::threads() {
  return *parts_->threads;
}

const codec::Tokenizer* Session::tokenizer() const {
  return parts_->forecast->tokenizer.get();
}

const std::vector<int32_t>& Session::end_tokens() const {
  return parts_->end_tokens;
}

const weights::ModelFile& Session::file() const {
  return *parts_->forecast->file;
}

const model::LoadPlan& Session::load_plan() const {
  return parts_->forecast->load;
}

const xray::MemoryPlan& Session::memory_plan() const {
  return parts_->forecast->plan;
}

const kernels::Dispatch& Session::dispatch() const {
  return parts_->forecast->dispatch;
}

kv::PagePool& Session::pages() {
  return *parts_->pages;
}

const OpenFigures& Session::figures() const {
  return parts_->figures;
}

bool Session::fast_prompts() const {
  return parts_->options.fast_prompts;
}

int64_t Session::context() const {
  return parts_->forecast->input.context;
}

std::vector<std::pair<std::string, int64_t>> Session::pool_peaks() const {
  std::vector<std::pair<std::string, int64_t>> peaks;
  for (const MemoryPool* pool :
       {parts_->weight_pool.get(), parts_->kv_pool.get(), parts_->scratch_pool.get()}) {
    peaks.emplace_back(pool->name(), static_cast<int64_t>(pool->peak_bytes()));
  }
  return peaks;
}

}  // namespace fathom::api
