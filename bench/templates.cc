// Measures chat templates: the time to render one conversation of 100 messages with each.
// Run by hand: bench_templates [ROUNDS] FILE.jinja...; without files the built-in formats.
// Read next: codec/chat_template.h.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codec/chat_template.h"
#include "codec/tokenizer.h"

namespace {

using fathom::codec::ChatTemplate;
using fathom::codec::Conversation;
using fathom::codec::Message;

constexpr int kMessages = 100;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// User and assistant in turns, 40 words each.
Conversation make_long_conversation() {
  std::vector<Message> messages;
  for (int i = 0; i < kMessages; ++i) {
    std::string text;
    for (int word = 0; word < 40; ++word) {
      text += fmt::format("{}word{}", word == 0 ? "" : " ", (i * 7 + word * 3) % 50);
    }
    messages.push_back({i % 2 == 0 ? "user" : "assistant", text});
  }
  return fathom::codec::make_conversation(messages);
}

// The fastest of `rounds` runs in milliseconds of this process; below 0 where the template refuses.
double best_ms(const ChatTemplate& chat, const Conversation& conversation, int rounds) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double begin = cpu_seconds();
    if (chat.render(conversation).text.empty()) {
      return -1;
    }
    best = std::min(best, cpu_seconds() - begin);
  }
  return best * 1e3;
}

void measure(const std::string& name, const ChatTemplate& chat, int rounds) {
  try {
    fmt::print("{:8.3f} ms  {}\n", best_ms(chat, make_long_conversation(), rounds), name);
  } catch (const std::exception& error) {
    fmt::print("       -     {}: {}\n", name, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_rounds = argc > 1 && std::atoi(argv[1]) > 0;
  const int rounds = has_rounds ? std::atoi(argv[1]) : 20;
  fathom::codec::Vocabulary vocabulary;
  try {
    for (int i = has_rounds ? 2 : 1; i < argc; ++i) {
      std::ifstream in(argv[i], std::ios::binary);
      const std::string source((std::istreambuf_iterator<char>(in)), {});
      measure(argv[i], ChatTemplate::of_source(vocabulary, source, argv[i]), rounds);
    }
    if (argc == (has_rounds ? 2 : 1)) {
      for (const char* name : {"chatml", "llama3", "mistral", "gemma"}) {
        measure(name, ChatTemplate::of_model(vocabulary, name), rounds);
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
