// A slip of the pen must not pass for a setting, whatever subcommand is called.
// Read next: command_line.cc (take_settings).
#include "environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace fathom::app {

namespace {

constexpr std::string_view kPrefix = "FATHOM_";

// Of this program beside the flags.
constexpr auto kOwn = std::to_array<std::string_view>({"FATHOM_ISA", "FATHOM_API_KEYS"});

// Of builds and tests: whoever works on Fathom has them set, and they are no slips.
constexpr auto kOfBuilds = std::to_array<std::string_view>({
    "FATHOM_ARM_CPU",
    "FATHOM_COVERAGE",
    "FATHOM_DCHECKS",
    "FATHOM_FUZZ",
    "FATHOM_ISAS",
    "FATHOM_MOLD",
    "FATHOM_REFERENCE_OUT",
    "FATHOM_SANITIZE",
    "FATHOM_TESTS",
    "FATHOM_WERROR",
    "FATHOM_WRITE_GOLDEN",
});

// What Kubernetes gives every container beside a service that is named "fathom".
constexpr auto kOfServices = std::to_array<std::string_view>({"FATHOM_SERVICE_", "FATHOM_PORT_"});

bool is_known(std::string_view name, const std::vector<std::string>& settings) {
  return std::ranges::find(settings, name) != settings.end() ||
         std::ranges::find(kOwn, name) != kOwn.end() ||
         std::ranges::find(kOfBuilds, name) != kOfBuilds.end() ||
         std::ranges::any_of(kOfServices,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

// Letters to add, drop or change until one is the other (Levenshtein).
size_t distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest(std::string_view name, std::vector<std::string> candidates) {
  candidates.insert(candidates.end(), kOwn.begin(), kOwn.end());
  return *std::ranges::min_element(
      candidates, {}, [&](const std::string& candidate) { return distance(name, candidate); });
}

}  // namespace

std::string environment_fault(const std::vector<std::string>& settings) {
  std::string first;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with(kPrefix) && !is_known(name, settings) && (first.empty() || name < first)) {
      first = name;
    }
  }
  if (first.empty()) {
    return "";
  }
  return fmt::format(
      "the environment has {}, which is no setting; the nearest one is {}; rename "
      "it or unset it",
      first, nearest(first, settings));
}

}  // namespace fathom::app
