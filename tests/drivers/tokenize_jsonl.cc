// The tokenizer behind JSON lines, without the rest of the program: for corpora and measurements.
// Called by tools/check_corpus.py. Read next: codec/jsonl_protocol.h.
//   tokenize_jsonl --vocab FILE-OR-FOLDER < requests > answers
#include <exception>
#include <iostream>
#include <string_view>

#include "codec/jsonl_protocol.h"
#include "codec/tokenizer_files.h"

int main(int argc, char** argv) {
  const std::string_view option = argc == 3 ? argv[1] : "";
  if (option != "--vocab") {
    std::cerr << "usage: tokenize_jsonl --vocab FILE-OR-FOLDER < requests > answers\n";
    return 2;
  }
  try {
    std::ios::sync_with_stdio(false);
    const auto tokenizer = fathom::codec::open_tokenizer(argv[2]);
    return fathom::codec::serve_jsonl(*tokenizer, std::cin, std::cout);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
