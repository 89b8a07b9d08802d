// One call of the parser each. Besides main.cc the only source that includes CLI11.
#include "command_line.h"

#include <CLI/CLI.hpp>
#include <optional>

namespace fathom::app {

namespace {

NamedCheck check_of(const CLI::Validator& validator) {
  return {[validator](const std::string& value) {
            std::string copy = value;
            return validator(copy);
          },
          validator.get_description()};
}

}  // namespace

NamedCheck in_range(int64_t lowest, int64_t highest) {
  return check_of(CLI::Range(lowest, highest));
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

CommandLine::CommandLine(CLI::App* parser) : parser_(parser) {}

CommandLine::~CommandLine() = default;

Option* CommandLine::keep(CLI::Option* option) {
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  CLI::App* added = parser_->add_subcommand(name, help);
  return subcommands_.emplace_back(std::make_unique<CommandLine>(added)).get();
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
