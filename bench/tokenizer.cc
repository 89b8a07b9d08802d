// Measures a tokenizer on a text: ready after loading; encoding and decoding, on one thread.
// Run by hand: bench_tokenizer VOCABULARY TEXT [ROUNDS]; bench/compare_tokenizers.py runs the
// tokenizers package on the same. Read next: codec/text_tokenizer.h.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "codec/tokenizer_files.h"

namespace {

using fathom::codec::TokenId;
using fathom::codec::Tokenizer;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The fastest of `rounds` runs. In seconds of this process what the machine's other users take is
// left out; loading uses several threads, so there seconds of the wall count.
template <class F>
double best_of(int rounds, F run, clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double begin = seconds_of(clock);
    run();
    best = std::min(best, seconds_of(clock) - begin);
  }
  return best;
}

int measure(const std::string& vocabulary, const std::string& path, int rounds) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::unique_ptr<Tokenizer> tokenizer;
  const double load = best_of(
      rounds, [&] { tokenizer = fathom::codec::open_tokenizer(vocabulary); }, CLOCK_MONOTONIC);
  std::vector<TokenId> ids;
  const double encode = best_of(rounds, [&] { ids = tokenizer->encode(text, {}); });
  std::string back;
  const double decode = best_of(rounds, [&] { back = tokenizer->decode(ids, true); });
  const double mb = static_cast<double>(text.size()) / 1e6;
  fmt::print(
      "{{\"load_ms\": {:.1f}, \"bytes\": {}, \"tokens\": {}, \"encode_mb_per_s\": {:.1f}, "
      "\"decode_mb_per_s\": {:.1f}, \"same_text\": {}}}\n",
      load * 1e3, text.size(), ids.size(), mb / encode, mb / decode, back == text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_tokenizer VOCABULARY TEXT [ROUNDS]\n");
    return 2;
  }
  try {
    return measure(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 5);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
