// Option tables, and how DIR=SCALE is read.
// Read next: api/session.h.
#include "weight_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "command.h"
#include "model/lora.h"
#include "options.h"
#include "terminal.h"

namespace fathom::app {

namespace {

std::string check_adapter(const std::string& text) {
  try {
    parse_adapter(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

std::string check_override(const std::string& text) {
  const size_t equals = text.find('=');
  return equals == std::string::npos || equals == 0
             ? fmt::format("'{}' is not KEY=VALUE, as in rope_theta=20000", text)
             : std::string();
}

}  // namespace

api::AdapterPath parse_adapter(const std::string& text) {
  api::AdapterPath path{text};
  const size_t equals = text.rfind('=');
  if (equals != std::string::npos) {
    double scale = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + equals + 1, end, scale);
    if (result.ec == std::errc() && result.ptr == end) {
      if (!(std::abs(scale) <= model::kMaxAdapterScale)) {
        throw UsageError(fmt::format("'{}': found the scale {}, expected {:g} to {:g}", text, scale,
                                     -model::kMaxAdapterScale, model::kMaxAdapterScale));
      }
      path = {text.substr(0, equals), scale};
    }
  }
  if (path.folder.empty()) {
    throw UsageError(fmt::format("'{}' is not DIR or DIR=SCALE, as in adapter=0.5", text));
  }
  return path;
}

Option* add_override_flag(CommandLine& app, WeightFlags& flags) {
  return app
      .add_option("--override", flags.overrides,
                  "Set a key of the file, spelled as `fathom inspect` prints it (null: take "
                  "it away); may be given several times")
      ->one_per_use()
      ->check(check_override)
      ->type_name("KEY=VALUE");
}

void add_weight_flags(CommandLine& app, WeightFlags& flags) {
  auto* lora = app.add_option("--lora", flags.adapters,
                              "A folder with a LoRA adapter as peft saves it, and a "
                              "factor for its scale; may be given several times")
                   ->one_per_use()
                   ->check(check_adapter)
                   ->type_name("DIR[=SCALE]");
  app.add_flag("--merge-lora", flags.merge_adapters,
               "Add adapters to the weights while loading (F32, F16 and BF16 weights only)")
      ->needs(lora);
  add_override_flag(app, flags);
  app.add_flag("--check-tensors", flags.check_tensors,
               "Look at every value of the file before loading; name NaN, infinities and broken "
               "scales");
  app.add_flag("--packed-cache", flags.packed_cache,
               "Keep the packed weights in ~/.cache/fathom/packed, for a faster start next time");
}

void set_weight_options(const WeightFlags& flags, api::SessionOptions& options) {
  for (const std::string& text : flags.adapters) {
    options.adapters.push_back(parse_adapter(text));
  }
  options.merge_adapters = flags.merge_adapters;
  options.overrides = flags.overrides;
  options.check_tensors = flags.check_tensors;
  options.packed_cache = flags.packed_cache;
  if (!flags.check_tensors) {
    return;
  }
  const auto bar = std::make_shared<std::optional<LoadBar>>();
  bar->emplace("checking");
  options.check_progress = [bar](int64_t done, int64_t total) {
    if (bar->has_value()) {
      (*bar)->show(done, total);
    }
    if (done >= total) {
      bar->reset();  // takes the bar off the terminal
    }
  };
}

}  // namespace fathom::app
