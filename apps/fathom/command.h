// The subcommands: each adds itself to the command line and names the function to run.
// Called by apps/fathom/main.cc. Read next: run.cc.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "command_line.h"

namespace fathom::app {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

// The command line asks for something that cannot be: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Set by the subcommand that was given; returns the exit status.
using Command = std::function<int()>;

void add_run(CommandLine& app, Command& command);
void add_logits(CommandLine& app, Command& command);
void add_perplexity(CommandLine& app, Command& command);
void add_tokenize(CommandLine& app, Command& command);
void add_template(CommandLine& app, Command& command);
void add_inspect(CommandLine& app, Command& command);
void add_plan(CommandLine& app, Command& command);
void add_verify(CommandLine& app, Command& command);
void add_bench(CommandLine& app, Command& command);
void add_serve(CommandLine& app, Command& command);

// The commit of the sources; its definition is written at every build, see cmake/commit.cmake.
const char* commit();

// "1.2.3".
const char* version();

// What --version prints: version, commit, compiler, instruction sets built and usable.
std::string version_text();

}  // namespace fathom::app
