// Steps that look at one token alone run once over the vocabulary; the others are linked and pass
// parts on. Called by codec/text_tokenizer. Read next: codec/detokenizer.cc.
#include "codec/decode_chain.h"

#include <utility>

namespace fathom::codec {

DecodeChain::DecodeChain(std::vector<DecodeStepPtr> steps, size_t n_vocab,
                         const AppendText& append_text)
    : steps_(std::move(steps)) {
  while (n_mapped_ < steps_.size() && steps_[n_mapped_]->map("").has_value()) {
    fused_by_map_ = fused_by_map_ || steps_[n_mapped_]->fuses();
    ++n_mapped_;
    if (fused_by_map_) {
      break;  // what comes after sees one token only
    }
  }
  arena_.reserve(n_vocab * 8);  // what entries of large vocabularies have on average
  offsets_.reserve(n_vocab + 1);
  offsets_.push_back(0);
  std::string text;
  for (size_t id = 0; id < n_vocab; ++id) {
    if (n_mapped_ == 0) {
      append_text(id, arena_);
    } else {
      text.clear();
      append_text(id, text);
      for (size_t i = 0; i < n_mapped_; ++i) {
        text = *steps_[i]->map(text);
      }
      arena_ += text;
    }
    offsets_.push_back(arena_.size());
  }
}

// A step's flow, and the place where it puts what it gives: the next link.
class DecodeChain::Flow::Link final : public DecodeSink {
 public:
  Link(Flow& owner, size_t next, std::unique_ptr<DecodeFlow> flow)
      : owner_(owner), next_(next), flow_(std::move(flow)) {}

  void put(std::string_view token) override { owner_.run(next_, token); }

  void take(std::string_view token) { flow_->put(token, *this); }

  void finish() { flow_->finish(*this); }

 private:
  Flow& owner_;
  size_t next_;  // position in links_
  std::unique_ptr<DecodeFlow> flow_;
};

DecodeChain::Flow::Flow(const DecodeChain& chain, bool at_start) : chain_(&chain) {
  bool fused = chain.fused_by_map_;
  for (size_t i = chain.n_mapped_; i < chain.steps_.size(); ++i) {
    const DecodeStep& step = *chain.steps_[i];
    links_.push_back(std::make_unique<Link>(*this, links_.size() + 1, step.start(at_start, fused)));
    fused = fused || step.fuses();
  }
}

DecodeChain::Flow::~Flow() = default;

void DecodeChain::Flow::run(size_t step, std::string_view token) {
  if (step == links_.size()) {
    out_->append(token);
  } else {
    links_[step]->take(token);
  }
}

void DecodeChain::Flow::push(TokenId id, std::string& out) {
  out_ = &out;
  run(0, chain_->text_of(id));
}

void DecodeChain::Flow::finish(std::string& out) {
  out_ = &out;
  for (const std::unique_ptr<Link>& link : links_) {
    link->finish();
  }
}

std::string DecodeChain::bytes_of(TokenId id) const {
  const std::string_view text = text_of(id);
  if (n_mapped_ < steps_.size() && fused_by_map_) {
    return std::string(text);  // raw bytes, before they are repaired
  }
  std::string out;
  Flow flow(*this, false);
  flow.push(id, out);
  flow.finish(out);
  return out;
}

}  // namespace fathom::codec
