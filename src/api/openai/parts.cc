// Joins news of a choice in their order.
// Called by api/openai/answer.
#include "api/openai/parts.h"

#include <iterator>
#include <utility>

namespace fathom::api::openai {

namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

}  // namespace

void ChoiceNews::add(ChoiceNews&& later) {
  text += later.text;
  append(tokens, std::move(later.tokens));
  append(prompt, std::move(later.prompt));
  append(times, std::move(later.times));
  if (later.end) {
    end = std::move(later.end);
  }
}

}  // namespace fathom::api::openai
