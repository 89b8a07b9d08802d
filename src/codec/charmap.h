// SentencePiece's precompiled character map: a double array over UTF-8 prefixes to their
// replacements. Called by codec/normalizer. Source: Aoe, IEEE TSE 15 (1989); darts-clone's units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::codec {

class Charmap {
 public:
  Charmap() = default;

  // Error: kCorruptFile, `where` naming file and key, for a blob whose sizes do not fit. Units that
  // point out of the array are found while matching and end a match.
  Charmap(std::string_view blob, std::string_view where);

  [[nodiscard]] bool is_empty() const { return units_.empty(); }

  struct Match {
    size_t size = 0;  // bytes of the text
    std::string_view replacement;
  };

  // The longest or the shortest beginning of `text` that is in the map.
  [[nodiscard]] std::optional<Match> find_longest(std::string_view text) const;
  [[nodiscard]] std::optional<Match> find_shortest(std::string_view text) const;

 private:
  template <class F>
  void walk(std::string_view text, F on_match) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace fathom::codec
