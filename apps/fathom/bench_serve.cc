// A level for each number of clients, or each rate of arrivals; then the report.
// Read next: api/load_run.h, api/load_report.h.
#include "bench_serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/load_report.h"
#include "api/load_run.h"
#include "base/error.h"
#include "base/output_file.h"
#include "options.h"
#include "serve_flags.h"
#include "terminal.h"

namespace fathom::app {

namespace {

constexpr const char* kFooter = R"(Examples:
  fathom bench serve http://localhost:8080 --clients 1,4,16,64 --html report.html
  fathom bench serve http://localhost:8080 --rate 0.5,1,2 --prompt-words 50-500 --max-tokens 16-256
  fathom bench serve http://localhost:8080 --chat --shared-words 700 --clients 64
  fathom bench serve https://host --ca-file ca.pem

Any server with OpenAI's streamed completions will do; an API key is taken from OPENAI_API_KEY.)";

struct BenchServeFlags {
  std::string url;
  std::string clients = "16";
  std::string rates;
  std::string prompt_words = "230";
  std::string max_tokens = "128";
  std::string html_path;
  std::string ca_path;
  bool insecure = false;
  bool as_json = false;
  api::LoadPlan plan;
};

template <class T>
bool read_all(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// "N" or "LOWEST-HIGHEST". Error: UsageError.
api::CountRange parse_range(const std::string& text, const char* flag) {
  constexpr int64_t kMost = 1'000'000;
  api::CountRange range;
  const size_t dash = text.find('-');
  const bool is_read = dash == std::string::npos
                           ? read_all(text, range.lowest) && read_all(text, range.highest)
                           : read_all(text.substr(0, dash), range.lowest) &&
                                 read_all(text.substr(dash + 1), range.highest);
  if (!is_read || range.lowest < 1 || range.highest < range.lowest || range.highest > kMost) {
    throw UsageError(fmt::format("{}: '{}' is no count from 1 to {}, nor a range such as 50-500",
                                 flag, text, kMost));
  }
  return range;
}

// Numbers between commas, each above 0. Error: UsageError.
template <class T>
std::vector<T> parse_levels(const std::string& text, const char* flag, T most) {
  std::vector<T> levels;
  for (const std::string& part : split_list(text)) {
    T value{};
    if (!read_all(part, value) || !(value > T{0}) || value > most) {
      throw UsageError(fmt::format("{}: '{}' is no number above 0 and up to {}", flag, part, most));
    }
    levels.push_back(value);
  }
  if (levels.empty()) {
    throw UsageError(fmt::format("{}: found no number; expected some, such as 1,4,16", flag));
  }
  return levels;
}

// The begin of what a server sent, on one line.
std::string shown_begin(std::string text) {
  constexpr size_t kShownBytes = 200;
  if (text.empty()) {
    return "nothing";
  }
  text.resize(std::min(text.size(), kShownBytes));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

// What is wrong with the answer of /v1/models; empty: nothing, and `id` is the first one's.
std::string models_fault(const api::LoadAnswer& answer, std::string& id) {
  if (answer.status == 401 || answer.status == 403) {
    return fmt::format("status {}: the server wants another API key; set OPENAI_API_KEY",
                       answer.status);
  }
  const std::string shown = shown_begin(answer.body);
  if (answer.status != 200) {
    return fmt::format("expected status 200, found {}: {}", answer.status, shown);
  }
  const auto models = nlohmann::json::parse(answer.body, nullptr, false);
  if (models.is_discarded()) {
    return fmt::format("expected JSON, found: {}", shown);
  }
  const auto data = models.is_object() ? models.find("data") : models.end();
  if (data == models.end() || !data->is_array()) {
    return fmt::format("expected an object with a list \"data\", found: {}", shown);
  }
  if (data->empty()) {
    return "the list of models is empty; is one loaded?";
  }
  const nlohmann::json& first = data->front();
  const auto found = first.is_object() ? first.find("id") : first.end();
  if (found == first.end() || !found->is_string() || found->get_ref<const std::string&>().empty()) {
    return fmt::format("expected models with a text \"id\", found: {}", shown);
  }
  id = found->get<std::string>();
  return {};
}

std::string first_model(const api::LoadTarget& target) {
  constexpr const char* kPath = "/v1/models";
  std::string id;
  const std::string fault = models_fault(api::get_answer(target, kPath), id);
  if (!fault.empty()) {
    fail(ErrorCode::kPeerLost,
         fmt::format("GET {}{}: {}; or give the model's name with --model-name, then no list is "
                     "asked for",
                     target.prefix, kPath, fault));
  }
  return id;
}

// One plan for each level.
std::vector<api::LoadPlan> plans_of(const BenchServeFlags& flags) {
  std::vector<api::LoadPlan> plans;
  if (!flags.rates.empty()) {
    for (const double rate : parse_levels<double>(flags.rates, "--rate", 1e5)) {
      plans.push_back(flags.plan);
      plans.back().rate_per_s = rate;
    }
    return plans;
  }
  for (const int64_t n : parse_levels<int64_t>(flags.clients, "--clients", 4096)) {
    plans.push_back(flags.plan);
    plans.back().n_clients = n;
  }
  return plans;
}

std::vector<api::LoadFigures> run_levels(const BenchServeFlags& flags,
                                         const std::vector<api::LoadPlan>& plans) {
  std::vector<api::LoadFigures> figures;
  for (const api::LoadPlan& plan : plans) {
    LoadBar bar(plan.rate_per_s > 0 ? fmt::format("{:g} requests/s:", plan.rate_per_s)
                                    : fmt::format("{} clients:", plan.n_clients));
    figures.push_back(api::figures_of(
        api::run_load(plan, [&](int64_t n_done) { bar.show(n_done, plan.n_requests); })));
    if (!flags.as_json) {
      AnswerWriter().write((figures.size() == 1 ? api::load_table_head() : std::string()) +
                           api::load_table_row(figures.back()));
    }
  }
  return figures;
}

int bench_serve(BenchServeFlags flags) {
  api::LoadPlan& plan = flags.plan;
  plan.target = api::parse_url(flags.url);
  if (plan.target.is_https) {
    plan.target.trust = api::open_trust(flags.ca_path, flags.insecure);
  } else if (!flags.ca_path.empty() || flags.insecure) {
    throw UsageError("--ca-file and --insecure are for https:// only");
  }
  const char* key = std::getenv("OPENAI_API_KEY");
  plan.target.key = key != nullptr ? key : "";
  plan.prompt_words = parse_range(flags.prompt_words, "--prompt-words");
  plan.max_tokens = parse_range(flags.max_tokens, "--max-tokens");
  std::vector<api::LoadPlan> plans = plans_of(flags);
  if (plan.model.empty()) {
    plan.model = first_model(plan.target);
  }
  for (api::LoadPlan& level : plans) {
    level.model = plan.model;
  }
  const std::vector<api::LoadFigures> figures = run_levels(flags, plans);
  if (flags.as_json) {
    AnswerWriter().write(api::load_json(plan, figures) + "\n");
  }
  if (!flags.html_path.empty()) {
    OutputFile file(flags.html_path);
    file.write(api::load_html(plan, figures));
    file.commit();
  }
  for (const api::LoadFigures& level : figures) {
    if (level.n_failed > 0) {
      fail(ErrorCode::kPeerLost,
           fmt::format("{} requests failed; the first: {}", level.n_failed, level.first_error));
    }
  }
  return kExitDone;
}

}  // namespace

void add_bench_serve(CommandLine& bench, Command& command) {
  auto* sub = bench.add_subcommand("serve", "Measure a server under load");
  sub->footer(kFooter);
  sub->waives("--model");
  auto flags = std::make_shared<BenchServeFlags>();
  const auto counts = in_range(1, 1'000'000);
  sub->add_option("url", flags->url, "http://HOST:PORT or https://HOST:PORT of the server")
      ->required();
  auto* clients = sub->add_option("--clients", flags->clients,
                                  "Clients that each wait for their answer: levels, with commas")
                      ->capture_default_str()
                      ->type_name("LIST");
  sub->add_option("--rate", flags->rates,
                  "Instead: requests a second at random times (Poisson): levels, with commas")
      ->excludes(clients)
      ->type_name("LIST");
  sub->add_option("--requests", flags->plan.n_requests, "Requests of each level")
      ->check(counts)
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--prompt-words", flags->prompt_words, "Words of a prompt, drawn evenly")
      ->capture_default_str()
      ->type_name("N|A-B");
  sub->add_option("--max-tokens", flags->max_tokens, "Tokens of an answer at most, drawn evenly")
      ->capture_default_str()
      ->type_name("N|A-B");
  sub->add_option("--shared-words", flags->plan.shared_words,
                  "Words at the begin of every prompt, the same for all")
      ->check(in_range(0, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  sub->add_flag("--chat", flags->plan.is_chat, "Use /v1/chat/completions");
  sub->add_flag("--ignore-eos", flags->plan.ignore_eos,
                "Ask for answers of full length, where the server knows the field ignore_eos");
  sub->add_option("--model-name", flags->plan.model, "Name in requests (default: the first served)")
      ->type_name("NAME");
  sub->add_option("--seed", flags->plan.seed, "Draws prompts, lengths and times")
      ->capture_default_str()
      ->type_name("N");
  sub->add_option("--html", flags->html_path, "Write a report with pictures")
      ->check(require_name)
      ->type_name("FILE");
  Option* authorities = sub->add_option("--ca-file", flags->ca_path,
                                        "https: believe certificates that these have signed (PEM; "
                                        "default: those that the system trusts)")
                            ->check(require_name)
                            ->type_name("FILE");
  sub->add_flag("--insecure", flags->insecure, "https: take any certificate, unseen")
      ->excludes(authorities);
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return bench_serve(*flags); }; });
}

}  // namespace fathom::app
