// The command line's border: parses, runs one subcommand, turns errors into messages and statuses.
// Read next: run.cc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "command.h"
#include "environment.h"
#include "signals.h"
#include "token_text.h"

namespace fathom::app {

namespace {

constexpr const char* kFooter = R"(Examples:
  fathom run -m model.gguf -p "Why is the sky blue?"
  echo "Sum up: ..." | fathom run -m model.gguf --temp 0
  fathom run -m model.gguf                        a chat: /exit /clear /save FILE
  fathom run -m folder --lora adapter=0.5 -p Hi   with half of a LoRA adapter
  fathom plan -m model.gguf -c 8192               the memory it will take
  fathom verify -m model.gguf                     the same bits in every way of computing
  fathom bench -m model.gguf -p 512 -n 128 -t 2   speed, and how near to the machine's limits
  fathom perplexity -m model.gguf -f book.txt     how well it predicts a text
  fathom tokenize -m model.gguf "Hello world"     the tokens of a text
  fathom template -m model.gguf "Hello"           the prompt that a chat template makes
  fathom inspect -m model.gguf                    what is in the file
  fathom serve -m model.gguf --port 8080          a server for OpenAI clients

Environment:
  FATHOM_ISA   scalar, avx2, avx512, vnni or amx (x86-64), neon, dotprod or i8mm (Arm): the highest
               instruction set to use
  NO_COLOR     no colours on the terminal
  `fathom serve` takes every option also as FATHOM_<OPTION>; a name of this form that is none is
  refused.

Exit status: 0 done; 1 failed; 2 wrong usage; 130 interrupted.)";

void report(const std::string& message) {
  std::fprintf(stderr, "fathom: error: %s\n", one_line(message).c_str());
}

int usage_error(const CLI::App& app, const std::string& message) {
  const auto chosen = app.get_subcommands();
  report(message);
  std::fprintf(stderr, "fathom: `fathom %s--help` lists what there is\n",
               chosen.empty() ? "" : (chosen.front()->get_name() + " ").c_str());
  return kExitUsage;
}

// The variables that CommandLine::take_settings has given to options, of all subcommands.
std::vector<std::string> variables_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_envname().empty()) {
      names.push_back(option->get_envname());
    }
  }
  for (const CLI::App* subcommand : app.get_subcommands(nullptr)) {
    const std::vector<std::string> more = variables_of(*subcommand);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

int run_main(int argc, const char* const* argv) {
  CLI::App app("Fathom runs large language models and shows how.", "fathom");
  CommandLine line(&app, {argv, argv + argc});
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text, "Version, commit, compiler, instruction sets");
  Command command;
  add_run(line, command);
  add_logits(line, command);
  add_perplexity(line, command);
  add_tokenize(line, command);
  add_template(line, command);
  add_inspect(line, command);
  add_plan(line, command);
  add_verify(line, command);
  add_bench(line, command);
  add_serve(line, command);
  const std::string fault = environment_fault(variables_of(app));
  try {
    app.parse(argc, argv);
    if (!fault.empty()) {
      throw UsageError(fault);
    }
    return command();
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::RequiredError& error) {
    if (!fault.empty()) {  // what is missing may be what was misspelled
      return usage_error(app, fault);
    }
    const std::vector<std::string> unknown = app.remaining();  // of the line without a subcommand
    return usage_error(app, app.get_subcommands().empty() && !unknown.empty()
                                ? fmt::format("'{}' is no subcommand", unknown.front())
                                : error.what());
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  } catch (const UsageError& error) {
    return usage_error(app, error.what());
  } catch (const Error& error) {
    report(error.what());
  } catch (const std::bad_alloc&) {
    report("out of memory; `fathom plan` shows what is needed, a smaller -c takes less");
  } catch (const std::exception& error) {
    report(fmt::format("unexpected: {}", error.what()));
  }
  return kExitFailed;
}

}  // namespace

}  // namespace fathom::app

int main(int argc, char** argv) {
  try {
    fathom::app::open_standard_streams();
    fathom::app::install_signals();
    return fathom::app::run_main(argc, argv);
  } catch (...) {  // while reporting another error: no memory for its message
    std::fputs("fathom: error: out of memory\n", stderr);
    return fathom::app::kExitFailed;
  }
}
