// UnicodeScripts: a word begins where the script changes. Blanks and characters without a script go
// with what stands before them; Japanese counts as one script.
// Called by codec/json_steps. Read next: codec/pre_tokenizer.cc.
#include <string>
#include <string_view>

#include "codec/pattern.h"
#include "codec/pre_tokenizer.h"

namespace fathom::codec {

namespace {

// The names of PCRE2's script tables (Unicode 14), but for the three that count as Han.
constexpr std::string_view kScripts[] = {"Adlam",
                                         "Ahom",
                                         "Anatolian_Hieroglyphs",
                                         "Arabic",
                                         "Armenian",
                                         "Avestan",
                                         "Balinese",
                                         "Bamum",
                                         "Bassa_Vah",
                                         "Batak",
                                         "Bengali",
                                         "Bhaiksuki",
                                         "Bopomofo",
                                         "Brahmi",
                                         "Braille",
                                         "Buginese",
                                         "Buhid",
                                         "Canadian_Aboriginal",
                                         "Carian",
                                         "Caucasian_Albanian",
                                         "Chakma",
                                         "Cham",
                                         "Cherokee",
                                         "Chorasmian",
                                         "Common",
                                         "Coptic",
                                         "Cuneiform",
                                         "Cypriot",
                                         "Cypro_Minoan",
                                         "Cyrillic",
                                         "Deseret",
                                         "Devanagari",
                                         "Dives_Akuru",
                                         "Dogra",
                                         "Duployan",
                                         "Egyptian_Hieroglyphs",
                                         "Elbasan",
                                         "Elymaic",
                                         "Ethiopic",
                                         "Georgian",
                                         "Glagolitic",
                                         "Gothic",
                                         "Grantha",
                                         "Greek",
                                         "Gujarati",
                                         "Gunjala_Gondi",
                                         "Gurmukhi",
                                         "Hangul",
                                         "Hanifi_Rohingya",
                                         "Hanunoo",
                                         "Hatran",
                                         "Hebrew",
                                         "Imperial_Aramaic",
                                         "Inherited",
                                         "Inscriptional_Pahlavi",
                                         "Inscriptional_Parthian",
                                         "Javanese",
                                         "Kaithi",
                                         "Kannada",
                                         "Kayah_Li",
                                         "Kharoshthi",
                                         "Khitan_Small_Script",
                                         "Khmer",
                                         "Khojki",
                                         "Khudawadi",
                                         "Lao",
                                         "Latin",
                                         "Lepcha",
                                         "Limbu",
                                         "Linear_A",
                                         "Linear_B",
                                         "Lisu",
                                         "Lycian",
                                         "Lydian",
                                         "Mahajani",
                                         "Makasar",
                                         "Malayalam",
                                         "Mandaic",
                                         "Manichaean",
                                         "Marchen",
                                         "Masaram_Gondi",
                                         "Medefaidrin",
                                         "Meetei_Mayek",
                                         "Mende_Kikakui",
                                         "Meroitic_Cursive",
                                         "Meroitic_Hieroglyphs",
                                         "Miao",
                                         "Modi",
                                         "Mongolian",
                                         "Mro",
                                         "Multani",
                                         "Myanmar",
                                         "Nabataean",
                                         "Nandinagari",
                                         "New_Tai_Lue",
                                         "Newa",
                                         "Nko",
                                         "Nushu",
                                         "Nyiakeng_Puachue_Hmong",
                                         "Ogham",
                                         "Ol_Chiki",
                                         "Old_Hungarian",
                                         "Old_Italic",
                                         "Old_North_Arabian",
                                         "Old_Permic",
                                         "Old_Persian",
                                         "Old_Sogdian",
                                         "Old_South_Arabian",
                                         "Old_Turkic",
                                         "Old_Uyghur",
                                         "Oriya",
                                         "Osage",
                                         "Osmanya",
                                         "Pahawh_Hmong",
                                         "Palmyrene",
                                         "Pau_Cin_Hau",
                                         "Phags_Pa",
                                         "Phoenician",
                                         "Psalter_Pahlavi",
                                         "Rejang",
                                         "Runic",
                                         "Samaritan",
                                         "Saurashtra",
                                         "Sharada",
                                         "Shavian",
                                         "Siddham",
                                         "SignWriting",
                                         "Sinhala",
                                         "Sogdian",
                                         "Sora_Sompeng",
                                         "Soyombo",
                                         "Sundanese",
                                         "Syloti_Nagri",
                                         "Syriac",
                                         "Tagalog",
                                         "Tagbanwa",
                                         "Tai_Le",
                                         "Tai_Tham",
                                         "Tai_Viet",
                                         "Takri",
                                         "Tamil",
                                         "Tangsa",
                                         "Tangut",
                                         "Telugu",
                                         "Thaana",
                                         "Thai",
                                         "Tibetan",
                                         "Tifinagh",
                                         "Tirhuta",
                                         "Toto",
                                         "Ugaritic",
                                         "Vai",
                                         "Vithkuqi",
                                         "Wancho",
                                         "Warang_Citi",
                                         "Yezidi",
                                         "Yi",
                                         "Zanabazar_Square"};

std::string make_regex() {
  // U+30FC is common to Hiragana and Katakana and counts as Han too; the blank is of any script.
  const std::string han = R"(\p{sc:Han}\p{sc:Hiragana}\p{sc:Katakana}\x{30FC})";
  std::string regex = "[" + han + "][" + han + R"(\x20\p{sc:Unknown}]*)";
  for (const std::string_view script : kScripts) {
    const std::string kind = R"(\p{sc:)" + std::string(script) + "}";
    const bool is_common = script == "Common";
    const std::string one = is_common ? R"((?![\x20\x{30FC}])\p{sc:Common})" : kind;
    regex.append("|").append(one).append("(?:").append(one);
    regex += R"(|[\x20\p{sc:Unknown}])*)";
  }
  return regex;
}

class ScriptStep final : public PreTokenizerStep {
 public:
  void apply(Words& words, bool /*at_start*/) const override {
    for (const std::string_view word : words.coarser) {
      Pattern::Walk walk(pattern_, word);
      while (const auto match = walk.next()) {
        words.list.push_back(word.substr(match->begin, match->end - match->begin));
      }
    }
  }

 private:
  Pattern pattern_{make_regex()};
};

}  // namespace

PreTokenizerStepPtr make_script_step() {
  return std::make_unique<ScriptStep>();
}

}  // namespace fathom::codec
