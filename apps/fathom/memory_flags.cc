// --kv-memory and --memory-utilization. Read next: xray/page_budget.cc (the arithmetic).
#include "memory_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "command.h"

namespace fathom::app {

namespace {

// The power of 1024 that a unit stands for; -1 for a text that is no unit.
int power_of(const std::string& unit) {
  if (unit.empty() || unit == "B") {
    return 0;
  }
  const size_t power = std::string("KMGT").find(unit.front());
  const std::string rest = unit.substr(1);
  const bool is_unit = power != std::string::npos && (rest.empty() || rest == "B" || rest == "iB");
  return is_unit ? static_cast<int>(power) + 1 : -1;
}

double parse_share(const std::string& text) {
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share > 0.0 && share <= 1.0)) {
    throw UsageError(fmt::format("--memory-utilization '{}' is not above 0 and up to 1", text));
  }
  return share;
}

}  // namespace

int64_t parse_size(const std::string& text, const std::string& option) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const int power = power_of(end);
  const double bytes = std::floor(std::ldexp(number, 10 * std::max(0, power)));
  if (end == text.c_str() || power < 0 || !(bytes >= 1.0 && bytes < 0x1p62)) {
    throw UsageError(
        fmt::format("{} '{}' is not a size such as 512M, 1.5G or 1000000 (bytes)", option, text));
  }
  return static_cast<int64_t>(bytes);
}

void add_memory_flags(CommandLine& app, MemoryFlags& flags) {
  Option* bytes = app.add_option_function(
      "--kv-memory",
      [&flags](const std::string& text) { flags.kv_bytes = parse_size(text, "--kv-memory"); },
      "Memory of the KV cache that all requests share");
  bytes->type_name("SIZE");
  app.add_option_function(
         "--memory-utilization",
         [&flags](const std::string& text) { flags.utilization = parse_share(text); },
         fmt::format("The same from the whole: the share of the memory limit that the process may "
                     "take (serve: {})",
                     kDefaultUtilization))
      ->type_name("F")
      ->excludes(bytes);
}

void add_check_pages(CommandLine& app, bool& check_pages) {
  app.add_flag("--check-pages", check_pages,
               "Check before every step that each request reads and writes its own KV pages only "
               "(slower)");
}

void set_memory_options(const MemoryFlags& flags, std::optional<double> fallback,
                        api::SessionOptions& options) {
  options.kv_bytes = flags.kv_bytes;
  options.memory_utilization = flags.utilization;
  if (!flags.kv_bytes && !flags.utilization) {
    options.memory_utilization = fallback;
  }
}

}  // namespace fathom::app
