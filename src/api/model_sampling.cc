// One table of keys for both kinds of file.
#include "api/model_sampling.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"

namespace fathom::api {

namespace {

// Reads one number under the name of this kind of file and checks it as an option is checked.
class Reader {
 public:
  explicit Reader(const weights::Metadata& metadata)
      : metadata_(&metadata), is_gguf_(metadata.source() == weights::Source::kGguf) {}

  template <class T>
  std::optional<T> read(const char* folder_key, const char* gguf_key,
                        T sample::SamplingParams::*field) const {
    const std::string key = is_gguf_ ? fmt::format("general.sampling.{}", gguf_key)
                                     : fmt::format("generation.{}", folder_key);
    const std::optional<double> value = metadata_->find_double(key);
    if (!value) {
      return std::nullopt;
    }
    if (!(std::abs(*value) <= static_cast<double>(std::numeric_limits<int32_t>::max()))) {
      fail(ErrorCode::kCorruptFile, fmt::format("{}: key '{}' is {}, expected a number of sampling",
                                                metadata_->path(), key, *value));
    }
    sample::SamplingParams params;
    params.*field = static_cast<T>(*value);
    try {
      sample::check(params, std::numeric_limits<int32_t>::max());
    } catch (const Error& error) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: key '{}' is {}: {}", metadata_->path(), key, *value, error.what()));
    }
    return params.*field;
  }

 private:
  const weights::Metadata* metadata_;
  bool is_gguf_;
};

}  // namespace

ModelSampling read_model_sampling(const weights::Metadata& metadata) {
  using Params = sample::SamplingParams;
  const Reader reader(metadata);
  ModelSampling sampling;
  sampling.temperature = reader.read("temperature", "temp", &Params::temperature);
  sampling.top_k = reader.read("top_k", "top_k", &Params::top_k);
  sampling.top_p = reader.read("top_p", "top_p", &Params::top_p);
  sampling.min_p = reader.read("min_p", "min_p", &Params::min_p);
  sampling.repeat_penalty =
      reader.read("repetition_penalty", "penalty_repeat", &Params::repeat_penalty);
  if (!sampling.temperature && metadata.find_bool("generation.do_sample") == false) {
    sampling.temperature = 0.0F;
  }
  return sampling;
}

}  // namespace fathom::api
