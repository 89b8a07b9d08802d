// fathom inspect: what is in a model file, what a prompt becomes, which kernels would run.
// Read next: weights/model_file.h, kernels/dispatch.h.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/overrides.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/tensor.h"
#include "codec/tokenizer.h"
#include "command.h"
#include "inspect_prompt.h"
#include "kernels/dispatch.h"
#include "options.h"
#include "terminal.h"
#include "weights/model_file.h"

namespace fathom::app {

namespace {

using nlohmann::ordered_json;

struct InspectFlags {
  std::string model;
  bool as_json = false;
  bool show_kernels = false;
  std::string prompt;
  ChatFlags chat;
  WeightFlags weights;
};

std::string dump(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int show_kernels(bool as_json) {
  const Environment environment = read_environment();
  const CpuFeatures cpu = detect_cpu();
  const kernels::Dispatch dispatch =
      kernels::make_dispatch(cpu, environment.isa_cap, environment.has_isa_cap, true);
  AnswerWriter writer;
  if (as_json) {
    ordered_json object = {{"cpu", cpu.model}, {"isa", name_of(dispatch.isa)}};
    for (const Isa set : dispatch.built) {
      object["built"].push_back(name_of(set));
    }
    for (const Isa set : dispatch.usable) {
      object["usable"].push_back(name_of(set));
    }
    for (const kernels::EntryReport& entry : dispatch.entries) {
      object["entries"].push_back(
          {{"entry", entry.entry}, {"set", name_of(entry.set)}, {"disabled", entry.disabled}});
    }
    object["messages"] = dispatch.messages;
    writer.write(dump(object));
    return kExitDone;
  }
  writer.write(fmt::format("{}: {} in use\n", cpu.model, name_of(dispatch.isa)));
  for (const kernels::EntryReport& entry : dispatch.entries) {
    writer.write(fmt::format("{:<28} {}{}\n", entry.entry, name_of(entry.set),
                             entry.disabled ? "  (a faster one failed the self-test)" : ""));
  }
  for (const std::string& message : dispatch.messages) {
    writer.write(message + "\n");
  }
  return kExitDone;
}

// Tensors and bytes of each storage type.
std::map<std::string, std::pair<int64_t, int64_t>> sum_types(const weights::TensorStore& tensors) {
  std::map<std::string, std::pair<int64_t, int64_t>> sums;
  for (const auto& [name, tensor] : tensors.tensors()) {
    auto& [count, bytes] = sums[std::string(name_of(tensor.type))];
    count += 1;
    bytes += std::ssize(tensor.bytes);
  }
  return sums;
}

ordered_json value_json(const weights::MetadataValue& value) {
  return std::visit(
      [](const auto& held) -> ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

int inspect_json(const weights::ModelFile& file) {
  ordered_json object = {{"path", file.metadata.path()}};
  for (const auto& [key, value] : file.metadata.entries()) {
    object["metadata"][key] = value_json(value);
  }
  object["tensors"] = ordered_json::array();
  for (const auto& [name, tensor] : file.tensors.tensors()) {
    object["tensors"].push_back({{"name", name},
                                 {"type", name_of(tensor.type)},
                                 {"shape", tensor.shape},
                                 {"bytes", tensor.bytes.size()}});
  }
  object["total_bytes"] = file.tensors.total_bytes();
  AnswerWriter().write(dump(object));
  return kExitDone;
}

// The tokenizer of the file; nothing, with the reason on the page, when it is of an unknown kind or
// damaged: the rest of the file is shown all the same.
std::unique_ptr<codec::Tokenizer> try_tokenizer(const weights::Metadata& metadata,
                                                AnswerWriter& writer) {
  try {
    return codec::make_tokenizer(metadata);
  } catch (const Error& error) {
    writer.write(fmt::format("\nvocabulary: cannot be used: {}\n", error.what()));
    return nullptr;
  }
}

void print_template(std::string_view source, AnswerWriter& writer) {
  writer.write(source.empty() ? std::string("\nchat template: none\n")
                              : fmt::format("\nchat template:\n{}\n", source));
}

void print_templates(const codec::Vocabulary& vocabulary, AnswerWriter& writer) {
  print_template(vocabulary.chat_template, writer);
  for (const codec::NamedTemplate& entry : vocabulary.named_templates) {
    writer.write(fmt::format("\nchat template '{}':\n{}\n", entry.name, entry.source));
  }
}

// Size and special ids, chat templates; what Fathom would do with them.
void print_vocabulary(const weights::Metadata& metadata, AnswerWriter& writer) {
  if (!codec::has_tokenizer(metadata)) {
    writer.write("\nvocabulary: none; prompts are given as --ids\n");
    return;
  }
  const auto tokenizer = try_tokenizer(metadata, writer);
  if (!tokenizer) {
    print_template(metadata.find_string("tokenizer.chat_template").value_or(""), writer);
    return;
  }
  const codec::Vocabulary& vocabulary = tokenizer->vocabulary();
  writer.write(fmt::format("\nvocabulary: {} tokens, tokenizer '{}', pre-tokenizer '{}'\n",
                           vocabulary.texts.size(), vocabulary.model, vocabulary.pre));
  const auto print_id = [&](const char* name, std::optional<codec::TokenId> id) {
    if (id) {
      writer.write(fmt::format("  {:<4} {:>7}  {}\n", name, *id,
                               vocabulary.texts[static_cast<size_t>(*id)]));
    }
  };
  print_id("bos", vocabulary.bos);
  print_id("eos", vocabulary.eos);
  print_id("eot", vocabulary.eot);
  print_id("eom", vocabulary.eom);
  print_id("unk", vocabulary.unk);
  print_id("pad", vocabulary.pad);
  writer.write(fmt::format("  add_bos {}, add_eos {}\n", vocabulary.add_bos, vocabulary.add_eos));
  for (const codec::TokenId id : tokenizer->end_tokens()) {
    print_id("ends", id);
  }
  print_templates(vocabulary, writer);
}

int inspect_text(const weights::ModelFile& file) {
  AnswerWriter writer;
  const weights::Metadata& metadata = file.metadata;
  writer.write(
      fmt::format("{}\n\nmetadata: {} keys\n", metadata.path(), metadata.entries().size()));
  for (const auto& [key, value] : metadata.entries()) {
    if (!key.starts_with("tokenizer.chat_template")) {
      writer.write(fmt::format("  {:<44} {}\n", key, weights::format_value(value)));
    }
  }
  writer.write(fmt::format("\ntensors: {}, {} bytes\n", file.tensors.tensors().size(),
                           file.tensors.total_bytes()));
  for (const auto& [type, sum] : sum_types(file.tensors)) {
    writer.write(fmt::format("  {:<8} {:>5} tensors {:>14} bytes\n", type, sum.first, sum.second));
  }
  for (const auto& [name, tensor] : file.tensors.tensors()) {
    writer.write(
        fmt::format("  {:<44} {:<8} {}\n", name, name_of(tensor.type), format_shape(tensor.shape)));
  }
  print_vocabulary(metadata, writer);
  const auto license = metadata.find_string("general.license");
  writer.write(fmt::format("\nlicence: {}\n", license.value_or("not stated in the file")));
  return kExitDone;
}

int inspect(const InspectFlags& flags) {
  if (flags.show_kernels) {
    return show_kernels(flags.as_json);
  }
  if (flags.model.empty()) {
    throw UsageError("give -m MODEL, or --kernels");
  }
  if (!flags.prompt.empty()) {
    return inspect_prompt(flags.model, flags.weights.overrides, flags.prompt, flags.chat,
                          flags.as_json);
  }
  const auto file = weights::open_model(flags.model);
  api::apply_overrides(*file, flags.weights.overrides);
  return flags.as_json ? inspect_json(*file) : inspect_text(*file);
}

}  // namespace

void add_inspect(CommandLine& app, Command& command) {
  auto* sub = app.add_subcommand("inspect",
                                 "Show what is in a model file or a prompt, or the kernels in use");
  sub->footer(
      "Examples:\n  fathom inspect -m model.gguf\n"
      "  fathom inspect -m model.gguf --prompt chat.json\n  fathom inspect --kernels");
  auto flags = std::make_shared<InspectFlags>();
  auto* model = sub->add_option("-m,--model", flags->model, "A GGUF file or a Hugging Face folder")
                    ->type_name("MODEL");
  sub->add_flag("--kernels", flags->show_kernels,
                "Show which instruction set filled each entry of the kernel table")
      ->excludes(model);
  auto* prompt = sub->add_option("--prompt", flags->prompt,
                                 "Show this conversation (JSON, or a text) token by token")
                     ->check(require_name)
                     ->needs(model)
                     ->type_name("FILE");
  add_chat_template_flag(*sub, flags->chat)->needs(prompt);
  add_override_flag(*sub, flags->weights)->needs(model);
  add_json(*sub, flags->as_json, "Print one JSON object");
  sub->callback([flags, &command] { command = [flags] { return inspect(*flags); }; });
}

}  // namespace fathom::app
