// Two layouts of config.json (before and since transformers 5), and GGUF.
#include "model/arch/rope_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/det_math.h"
#include "base/error.h"

namespace fathom::model {

namespace {

using weights::Metadata;

// Keys of one scaling dictionary.
class Scaling {
 public:
  Scaling(const ConfigReader& reader, std::string prefix)
      : reader_(&reader), prefix_(std::move(prefix)) {}

  [[nodiscard]] std::optional<double> find(std::string_view name) const {
    return reader_->metadata().find_double(prefix_ + std::string(name));
  }

  [[nodiscard]] double get(std::string_view name) const {
    return reader_->metadata().get_double(prefix_ + std::string(name));
  }

  [[nodiscard]] bool flag(std::string_view name, bool otherwise) const {
    return reader_->metadata().find_bool(prefix_ + std::string(name)).value_or(otherwise);
  }

  [[nodiscard]] std::vector<double> list(std::string_view name) const {
    const auto* values = reader_->metadata().find_doubles(prefix_ + std::string(name));
    return values != nullptr ? *values : std::vector<double>{};
  }

  [[nodiscard]] std::string kind() const {
    const Metadata& md = reader_->metadata();
    std::string kind = md.find_string(prefix_ + "rope_type").value_or("");
    if (kind.empty()) {
      kind = md.find_string(prefix_ + "type").value_or("");
    }
    if (kind.empty() && (find("factor") || !list("long_factor").empty())) {
      fail(
          ErrorCode::kCorruptFile,
          fmt::format("{}: '{}' has a factor and no 'rope_type'; expected linear, dynamic, llama3, "
                      "yarn, longrope or proportional",
                      md.path(), prefix_.substr(0, prefix_.size() - 1)));
    }
    kind = kind.empty() ? "default" : kind;
    const bool renamed = kind == "su" || (kind == "yarn" && !list("long_factor").empty());
    return renamed ? "longrope" : kind;
  }

  [[nodiscard]] double original_context() const {
    return find("original_max_position_embeddings")
        .value_or(reader_->real({"original_max_position_embeddings|max_position_embeddings"}, 0));
  }

  [[nodiscard]] double longest() const {
    return reader_->real({"max_position_embeddings|n_positions"}, 2048);
  }

 private:
  const ConfigReader* reader_;
  std::string prefix_;
};

void read_yarn(const Scaling& scaling, RopeOptions& rope) {
  rope.original_context = scaling.original_context();
  rope.factor = scaling.find("factor").value_or(scaling.longest() / rope.original_context);
  rope.beta_fast = scaling.find("beta_fast").value_or(rope.beta_fast);
  rope.beta_slow = scaling.find("beta_slow").value_or(rope.beta_slow);
  rope.truncate = scaling.flag("truncate", true);
  const double mscale = scaling.find("mscale").value_or(0);
  const double mscale_all = scaling.find("mscale_all_dim").value_or(0);
  rope.magnitude = yarn_mscale(rope.factor, 1.0);
  if (mscale != 0 && mscale_all != 0) {
    rope.magnitude = yarn_mscale(rope.factor, mscale) / yarn_mscale(rope.factor, mscale_all);
  }
  rope.magnitude = scaling.find("attention_factor").value_or(rope.magnitude);
}

double longrope_magnitude(double stretch, double original_context) {
  return stretch <= 1.0 ? 1.0 : std::sqrt(1.0 + det_log(stretch) / det_log(original_context));
}

void read_longrope(const Scaling& scaling, RopeOptions& rope) {
  rope.original_context = scaling.original_context();
  rope.short_factors = scaling.list("short_factor");
  rope.long_factors = scaling.list("long_factor");
  const double stretch = scaling.find("factor").value_or(scaling.longest() / rope.original_context);
  rope.magnitude =
      scaling.find("attention_factor").value_or(longrope_magnitude(stretch, rope.original_context));
}

void read_scaling(const ConfigReader& reader, const Scaling& scaling, RopeOptions& rope) {
  const std::string kind = scaling.kind();
  if (kind == "default") {
    return;
  }
  if (kind == "linear") {
    rope.scaling = RopeScaling::kLinear;
    rope.factor = scaling.get("factor");
  } else if (kind == "dynamic") {
    rope.scaling = RopeScaling::kDynamic;
    rope.factor = scaling.get("factor");
    rope.original_context = scaling.longest();
  } else if (kind == "llama3") {
    rope.scaling = RopeScaling::kLlama3;
    rope.factor = scaling.get("factor");
    rope.low_freq_factor = scaling.get("low_freq_factor");
    rope.high_freq_factor = scaling.get("high_freq_factor");
    rope.original_context = scaling.get("original_max_position_embeddings");
  } else if (kind == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    read_yarn(scaling, rope);
  } else if (kind == "longrope") {
    rope.scaling = RopeScaling::kLongRope;
    read_longrope(scaling, rope);
  } else if (kind == "proportional") {
    rope.scaling = RopeScaling::kProportional;
    rope.factor = scaling.find("factor").value_or(1.0);
  } else {
    reader.refuse(fmt::format("rope scaling '{}'", kind));
  }
}

RopeOptions read_hf(const ConfigReader& reader, int head_dim, std::string_view prefix) {
  RopeOptions rope;
  const bool nested = has_rope_dictionary(reader, prefix);
  const Scaling scaling(reader, nested ? std::string(prefix) : "rope_scaling.");
  rope.theta = (nested ? scaling.find("rope_theta") : std::nullopt)
                   .value_or(reader.real({"rope_theta|rotary_emb_base"}, rope.theta));
  const double partial = (nested ? scaling.find("partial_rotary_factor") : std::nullopt)
                             .value_or(reader.real({"partial_rotary_factor|rotary_pct"}, 1.0));
  if (!Range{0, 1}.holds(partial)) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}partial_rotary_factor' is {}, expected 0 to 1",
                     reader.metadata().path(), nested ? prefix : "", partial));
  }
  read_scaling(reader, scaling, rope);
  if (rope.scaling == RopeScaling::kProportional) {
    rope.partial = partial;
    rope.rotary_dim = head_dim;
  } else {
    rope.rotary_dim = static_cast<int>(head_dim * partial);
  }
  return rope;
}

// The tensors rope_factors_long and _short tell longrope, whatever the type key says.
RopeOptions read_gguf(const ConfigReader& reader, int head_dim) {
  RopeOptions rope;
  rope.theta = reader.real({{}, "rope.freq_base"}, rope.theta);
  rope.rotary_dim =
      static_cast<int>(reader.size({{}, "rope.dimension_count"}, int64_t{1} << 20, head_dim));
  const std::string kind = reader.text({{}, "rope.scaling.type"}, "none");
  rope.factor = reader.real({{}, "rope.scaling.factor"}, 1.0);
  const double longest = reader.real({{}, "context_length"}, 2048);
  rope.original_context = reader.real({{}, "rope.scaling.original_context_length"}, longest);
  if (reader.has_tensor("rope_factors_long.weight")) {
    rope.scaling = RopeScaling::kLongRope;
    rope.file_long_factors = true;
    rope.magnitude =
        reader.real({{}, "rope.scaling.attn_factor"},
                    longrope_magnitude(longest / rope.original_context, rope.original_context));
  } else if (kind == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (kind == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    rope.beta_fast = reader.real({{}, "rope.scaling.yarn_beta_fast"}, rope.beta_fast);
    rope.beta_slow = reader.real({{}, "rope.scaling.yarn_beta_slow"}, rope.beta_slow);
    // The first is config.json's attention_factor, the whole of it; the second multiplies.
    rope.magnitude =
        reader.real({{}, "rope.scaling.yarn_attn_factor"}, yarn_mscale(rope.factor, 1.0)) *
        reader.real({{}, "rope.scaling.attn_factor"}, 1.0);
  } else if (kind != "none" && kind != "longrope") {
    reader.refuse(fmt::format("rope scaling '{}'", kind));
  }
  return rope;
}

}  // namespace

bool has_rope_dictionary(const ConfigReader& reader, std::string_view prefix) {
  const auto find = [&](std::string_view name) { return std::string(prefix) + std::string(name); };
  return reader.metadata().find_double(find("rope_theta")) ||
         reader.metadata().find_string(find("rope_type"));
}

double yarn_mscale(double factor, double scale) {
  return factor <= 1.0 ? 1.0 : 0.1 * scale * det_log(factor) + 1.0;
}

RopeOptions read_rope(const ConfigReader& reader, int head_dim, std::string_view prefix) {
  return reader.is_gguf() ? read_gguf(reader, head_dim) : read_hf(reader, head_dim, prefix);
}

void set_rope_pairs(ModelConfig& config) {
  for (RopeOptions& rope : config.ropes) {
    rope.style = kernels::RopeStyle::kPairs;
  }
}

}  // namespace fathom::model
