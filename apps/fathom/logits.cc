// fathom logits: what the model says after every token, as a NumPy file.
// Read next: api/score.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "api/score.h"
#include "command.h"
#include "options.h"
#include "signals.h"
#include "weights/npy.h"

namespace fathom::app {

namespace {

constexpr int64_t kMaxRows = 64;  // rows of logits at once

struct LogitsFlags {
  ModelFlags model;
  std::vector<int32_t> ids;
  std::string out;
};

// Ctrl-C while the file is being written: ends the work in order, so that no half of it stays.
struct Interrupted {};

void write_logits(const LogitsFlags& flags) {
  api::SessionOptions options = session_options(flags.model);
  const auto n_tokens = std::ssize(flags.ids);
  options.max_logits = std::min<int64_t>(kMaxRows, n_tokens);
  const auto session = api::Session::open(options);
  const int64_t n_vocab = session->load_plan().config.n_vocab;
  const StopScope scope;
  weights::NpyWriter file(flags.out, n_tokens, n_vocab);
  api::score(*session, flags.ids, [&](int64_t, const ops::Rows& rows) {
    for (int64_t row = 0; row < rows.n_rows; ++row) {
      file.write({rows.row(row), static_cast<size_t>(rows.n_cols)});
    }
    if (StopScope::is_stopped()) {
      throw Interrupted();
    }
  });
  file.commit();
}

int logits(const LogitsFlags& flags) {
  try {
    write_logits(flags);
  } catch (const Interrupted&) {
    return kExitInterrupted;
  }
  return kExitDone;
}

}  // namespace

void add_logits(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("logits", "Write the logits [n_tokens, n_vocab] of token ids");
  sub->footer("Example:\n  fathom logits -m model.gguf --ids 1,2,3 --compute f32 --out out.npy");
  auto flags = std::make_shared<LogitsFlags>();
  add_model_flags(*sub, flags->model);
  add_cache_flags(*sub, flags->model);
  add_attention_flag(*sub, flags->model);
  add_ids(*sub, flags->ids)->required();
  sub->add_option("--out", flags->out, "The file to write (NumPy, float32)")
      ->required()
      ->check(require_name)
      ->type_name("FILE.npy");
  sub->callback([flags, &command] { command = [flags] { return logits(*flags); }; });
}

}  // namespace fathom::app
