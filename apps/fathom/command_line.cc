// One call of the parser each. Besides main.cc the only source that includes CLI11.
#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/regular_file.h"
#include "command.h"

namespace fathom::app {

namespace {

NamedCheck check_of(const CLI::Validator& validator) {
  return {[validator](const std::string& value) {
            std::string copy = value;
            return validator(copy);
          },
          validator.get_description()};
}

constexpr const char* kConfigFlag = "--config";
constexpr int64_t kMaxConfigBytes = int64_t{1} << 20;

// "--max-sequences" to "FATHOM_MAX_SEQUENCES".
std::string variable_of(const std::string& long_name) {
  std::string name = "FATHOM_";
  for (const char c : long_name) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

// The file of --config, wherever it stands; empty without one.
std::string config_path(const std::vector<std::string>& words) {
  const std::string with_equals = std::string(kConfigFlag) + "=";
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kConfigFlag && i + 1 < words.size()) {
      return words[i + 1];
    }
    if (words[i].starts_with(with_equals)) {
      return words[i].substr(with_equals.size());
    }
  }
  const char* variable = std::getenv(variable_of("config").c_str());
  return variable != nullptr ? variable : "";
}

std::vector<CLI::ConfigItem> read_config(const std::string& path) {
  try {
    std::istringstream text(RegularFile(path).read(kMaxConfigBytes));
    return CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& error) {
    throw UsageError(fmt::format("--config {}: {}", path, error.what()));
  } catch (const Error& error) {
    throw UsageError(fmt::format("--config {}", error.what()));
  }
}

// CLI11 makes one item of a name that follows itself, with all its values.
void require_once(const CLI::Option& option, const CLI::ConfigItem& item, const std::string& path,
                  std::set<std::string>& seen) {
  const bool takes_one = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast;
  if (!seen.insert(item.name).second || (takes_one && item.inputs.size() > 1)) {
    throw UsageError(fmt::format("{}: '{}' has more than one value; give {}", path, item.name,
                                 takes_one ? "one" : "all of them in one list"));
  }
}

// What the file says counts as if it stood at the begin of the line.
void apply_config(CLI::App& app, const std::string& path) {
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : read_config(path)) {
    if (item.name == "++" || item.name == "--") {  // begin and end of a section
      continue;
    }
    CLI::Option* option = app.get_option_no_throw("--" + item.name);
    const bool is_here = item.parents.empty() ||
                         (item.parents.size() == 1 && item.parents.front() == app.get_name());
    if (option == nullptr || !is_here || option->get_envname().empty() ||
        "--" + item.name == kConfigFlag) {
      throw UsageError(fmt::format("{}: '{}' is no setting of {}; `fathom {} --help` lists them",
                                   path, item.fullname(), app.get_name(), app.get_name()));
    }
    require_once(*option, item, path, seen);
    const char* variable = std::getenv(option->get_envname().c_str());
    if (variable != nullptr && *variable != '\0') {
      continue;
    }
    if (option->get_expected_min() == 0) {
      option->add_result(
          option->get_flag_value(item.name, app.get_config_formatter()->to_flag(item)));
    } else {
      option->add_result(item.inputs);
    }
  }
}

}  // namespace

NamedCheck in_range(int64_t lowest, int64_t highest) {
  return check_of(CLI::Range(lowest, highest));
}

NamedCheck in_real_range(double lowest, double highest) {
  NamedCheck check = check_of(CLI::Range(lowest, highest));
  check.check = [in_range = check.check](const std::string& value) {
    double number = 0;  // NaN is below no bound and above none
    return CLI::detail::lexical_cast(value, number) && std::isnan(number)
               ? fmt::format("Value {} is no number", value)
               : in_range(value);
  };
  return check;
}

NamedCheck is_one_of(std::initializer_list<const char*> values) {
  return check_of(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())));
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::group(const std::string& name) {
  option_->group(name);
  return this;
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::check(const Check& check) {
  option_->check(check);
  return this;
}

Option* Option::check(const NamedCheck& check) {
  option_->check(check.check, check.description);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::excludes(const Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::one_per_use() {
  option_->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
  return this;
}

CommandLine::CommandLine(CLI::App* parser, std::vector<std::string> words)
    : parser_(parser), words_(std::move(words)) {}

CommandLine::~CommandLine() = default;

Option* CommandLine::keep(CLI::Option* option) {
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  CLI::App* added = parser_->add_subcommand(name, help);
  return subcommands_.emplace_back(std::make_unique<CommandLine>(added, words_)).get();
}

template <class T>
Option* CommandLine::add_option(const std::string& names, T& value, const std::string& help) {
  return keep(parser_->add_option(names, value, help));
}

template Option* CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option* CommandLine::add_option(const std::string&, int&, const std::string&);
template Option* CommandLine::add_option(const std::string&, int64_t&, const std::string&);
template Option* CommandLine::add_option(const std::string&, uint64_t&, const std::string&);
template Option* CommandLine::add_option(const std::string&, float&, const std::string&);
template Option* CommandLine::add_option(const std::string&, double&, const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                         const std::string&);

Option* CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(parser_->add_flag(names, value, help));
}

Option* CommandLine::add_option_function(const std::string& names,
                                         const std::function<void(const std::string&)>& take,
                                         const std::string& help) {
  return keep(parser_->add_option_function<std::string>(names, take, help));
}

Option* CommandLine::add_list_function(
    const std::string& names, const std::function<void(const std::vector<std::string>&)>& take,
    const std::string& help) {
  return keep(parser_->add_option_function<std::vector<std::string>>(names, take, help));
}

void CommandLine::take_settings() {
  parser_
      ->add_option_function<std::string>(
          kConfigFlag, [](const std::string&) {},
          "A TOML file with any of these options, without dashes")
      ->type_name("FILE");
  for (CLI::Option* option : parser_->get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || option == parser_->get_help_ptr()) {
      continue;
    }
    option->envname(variable_of(names.front()));
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  parser_->preparse_callback([parser = parser_, words = words_](size_t) {
    if (const std::string path = config_path(words); !path.empty()) {
      apply_config(*parser, path);
    }
  });
}

void CommandLine::waives(const std::string& parent_option) {
  parser_->preparse_callback([option = parser_->get_parent()->get_option(parent_option)](size_t) {
    option->required(false);
  });
}

void CommandLine::footer(const std::string& text) {
  parser_->footer(text);
}

void CommandLine::callback(const std::function<void()>& call) {
  parser_->callback(call);
}

size_t CommandLine::count(const std::string& name) const {
  return parser_->count(name);
}

}  // namespace fathom::app
