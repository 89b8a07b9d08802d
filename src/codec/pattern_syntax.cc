// Regular expressions of tokenizer files in PCRE2's words, one atom at a time.
// Called by codec/pattern. Source: Oniguruma's doc/RE, section by section; pcre2pattern(3).
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/pattern.h"

namespace fathom::codec {

namespace {

// Oniguruma's \w: letters, marks, decimal and letter numbers, connectors; outside of a class also
// six numbers of Latin-1.
constexpr std::string_view kWordSet = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc})";
constexpr std::string_view kLatinNumbers = R"(\xB2\xB3\xB9\xBC-\xBE)";

// Intersections of classes in one expression. Each is a call inside of the one before.
constexpr size_t kMostClasses = 100;

class Translator {
 public:
  Translator(std::string_view regex, bool is_foreign) : regex_(regex), is_foreign_(is_foreign) {}

  std::string run() {
    while (at_ < regex_.size()) {
      translate_atom();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < regex_.size() ? regex_[at_ + ahead] : '\0';
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::kUnsupported,
         fmt::format("regular expression '{}', byte {}: {} is not supported", regex_, at_, what));
  }

  void translate_atom() {
    const char c = peek();
    if (c == '\\') {
      atom_ = out_.size();
      out_ += translate_escape(false);
    } else if (c == '[') {
      atom_ = out_.size();
      out_ += translate_class();
    } else if (c == '(') {
      groups_.push_back(out_.size());
      copy(1);
    } else if (c == ')') {
      if (!groups_.empty()) {
        atom_ = groups_.back();
        groups_.pop_back();
      }
      copy(1);
    } else if (c == '{' && is_foreign_) {
      translate_interval();
    } else if (c == '*' || c == '+' || c == '?' || c == '|') {
      copy(1);
    } else {
      atom_ = out_.size();
      copy(1);
      while ((static_cast<unsigned char>(peek()) & 0xC0u) == 0x80) {
        copy(1);  // the later bytes of the same character
      }
    }
  }

  void copy(size_t n) {
    out_.append(regex_, at_, n);
    at_ += n;
  }

  // X{n,m}+ is no possessive interval in Ruby but a repeated one.
  void translate_interval() {
    const size_t end = regex_.find('}', at_);
    copy(end == std::string_view::npos ? 1 : end + 1 - at_);
    if (end != std::string_view::npos && peek() == '+') {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  std::string translate_escape(bool in_class) {
    const char c = peek(1);
    const auto give = [&](std::string_view text) {
      at_ += 2;
      return std::string(text);
    };
    switch (c) {
      case 's':
        return give(R"(\p{White_Space})");
      case 'S':
        return give(R"(\P{White_Space})");
      default:
        break;
    }
    if (is_foreign_) {
      if (c == 'w') {
        return in_class ? give(kWordSet) : give(fmt::format("[{}{}]", kWordSet, kLatinNumbers));
      }
      if (c == 'W' && !in_class) {
        return give(fmt::format("[^{}{}]", kWordSet, kLatinNumbers));
      }
      if (c == 'h') {
        return in_class ? give("0-9A-Fa-f") : give("[0-9A-Fa-f]");
      }
      if (c == 'W' || c == 'H' || c == 'y' || c == 'Y' || c == 'O' || c == 'K') {
        refuse(fmt::format("\\{}", c));
      }
      if (c == 'u') {
        const std::string digits(regex_.substr(at_ + 2, 4));
        at_ += 6;
        return fmt::format("\\x{{{}}}", digits);
      }
    }
    if ((c == 'p' || c == 'P' || c == 'x') && peek(2) == '{') {
      const size_t end = regex_.find('}', at_);
      std::string whole(regex_.substr(at_, end == std::string_view::npos ? end : end + 1 - at_));
      at_ += whole.size();
      return whole;
    }
    std::string pair(regex_.substr(at_, 2));
    at_ += pair.size();
    return pair;
  }

  // One class. In Ruby [a&&[^b]] is an intersection: here (?=[a])[^b].
  std::string translate_class() {
    std::string whole;
    std::string part = "[";
    ++at_;
    if (peek() == '^') {
      part += '^';
      ++at_;
    }
    bool is_first = true;
    while (at_ < regex_.size() && (peek() != ']' || is_first)) {
      if (peek() == '\\') {
        part += translate_escape(true);
      } else if (is_foreign_ && peek() == '&' && peek(1) == '&') {
        at_ += 2;
        whole.append("(?=").append(part).append("])");
        if (part[1] == '^' || peek() != '[' || ++n_classes_ > kMostClasses) {
          refuse("this intersection of classes");
        }
        part = translate_class();
        if (peek() != ']') {
          refuse("this intersection of classes");
        }
        ++at_;
        whole.insert(0, "(?:");
        return whole.append(part).append(")");
      } else if (is_foreign_ && peek() == '[' && peek(1) != ':') {
        refuse("a class inside a class");
      } else {
        part += peek();
        ++at_;
      }
      is_first = false;
    }
    if (at_ >= regex_.size()) {
      refuse("a class without its end");
    }
    ++at_;
    return part + "]";
  }

  std::string_view regex_;
  bool is_foreign_;
  size_t at_ = 0;
  std::string out_;
  size_t n_classes_ = 0;        // second operands of intersections so far
  size_t atom_ = 0;             // where the last atom begins in out_
  std::vector<size_t> groups_;  // where the open groups begin
};

}  // namespace

std::string translate_regex(std::string_view regex, bool is_foreign) {
  return Translator(regex, is_foreign).run();
}

}  // namespace fathom::codec
