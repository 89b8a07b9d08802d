// The command line of a subcommand, without the headers of the parser: those take longer to compile
// than everything else here.
// Called by apps/fathom/*.cc. Read next: command_line.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fathom::app {

// Refuses a value by a text that says why; an empty text lets it pass.
using Check = std::function<std::string(const std::string& value)>;

// A check that --help shows beside the option.
struct NamedCheck {
  Check check;
  std::string description;
};

NamedCheck in_range(int64_t lowest, int64_t highest);
NamedCheck in_real_range(double lowest, double highest);
NamedCheck is_one_of(std::initializer_list<const char*> values);

// An option or flag. Lives as long as its command line; all functions give the option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // What --help calls the value.
  Option* type_name(const std::string& name);
  Option* group(const std::string& name);
  Option* required();
  Option* check(const Check& check);
  Option* check(const NamedCheck& check);

  // --help names the value that the variable has now.
  Option* capture_default_str();

  // Wrong usage together with `other`, or without it.
  Option* excludes(const Option* other);
  Option* needs(const Option* other);

  // Of an option with a list of values: each use takes the one text behind it, also one in
  // brackets; what follows is not swallowed.
  Option* one_per_use();

 private:
  CLI::Option* option_;
};

class CommandLine {
 public:
  // `words`: all of the line, of the program's name on.
  CommandLine(CLI::App* parser, std::vector<std::string> words);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Lives as long as this one.
  CommandLine* add_subcommand(const std::string& name, const std::string& help);

  // `names`: "-m,--model", or a name without dashes for a text that stands by itself. T:
  // std::string, int, int64_t, uint64_t, float, double, std::optional<std::string>,
  // std::vector<std::string>.
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& help);

  Option* add_flag(const std::string& names, bool& value, const std::string& help);

  // Calls `take` with what was given, after the checks. It refuses by UsageError.
  Option* add_option_function(const std::string& names,
                              const std::function<void(const std::string&)>& take,
                              const std::string& help);
  Option* add_list_function(const std::string& names,
                            const std::function<void(const std::vector<std::string>&)>& take,
                            const std::string& help);

  // From here on options also come from FATHOM_<FLAG> and from the TOML file that --config names,
  // which may have a section of the subcommand's name. The line beats the environment, which beats
  // the file. Call it after all options were added.
  // Errors while the line is read: UsageError for a key that is no option, a file that is no TOML.
  void take_settings();

  // With this subcommand its parent's required option may be left out.
  void waives(const std::string& parent_option);

  // Below the options in --help.
  void footer(const std::string& text);

  // Called after the line is read, if this subcommand was given.
  void callback(const std::function<void()>& call);

  // How often an option was given.
  [[nodiscard]] size_t count(const std::string& name) const;

  // For what has no name here.
  [[nodiscard]] CLI::App& parser() { return *parser_; }

 private:
  Option* keep(CLI::Option* option);

  CLI::App* parser_;
  std::vector<std::string> words_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<CommandLine>> subcommands_;
};

}  // namespace fathom::app
