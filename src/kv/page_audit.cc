// A second account of the pages, by names instead of counts.
#include "kv/page_audit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"

namespace fathom::kv {

namespace {

std::string owner_name(PageOwner owner) {
  if (owner == kCacheOwner) {
    return "the prefix cache";
  }
  return owner == kAnonymous ? std::string("a table outside the engine")
                             : fmt::format("request {}", owner);
}

}  // namespace

bool PageAudit::holds(int32_t page, PageOwner owner) const {
  return std::ranges::find(holders_.at(static_cast<size_t>(page)), owner) !=
         holders_[static_cast<size_t>(page)].end();
}

std::string PageAudit::describe(int32_t page) const {
  std::string names;
  for (const PageOwner owner : holders_.at(static_cast<size_t>(page))) {
    names += (names.empty() ? "" : " and ") + owner_name(owner);
  }
  return names.empty() ? "nobody" : names;
}

void PageAudit::on_allocate(int32_t page, PageOwner owner) {
  auto& holders = holders_.at(static_cast<size_t>(page));
  if (!holders.empty()) {
    fail(ErrorCode::kInternal,
         fmt::format("KV page {} was handed to {} as a free one while {} holds it; this is a fault "
                     "of Fathom, please report it",
                     page, owner_name(owner), describe(page)));
  }
  holders.push_back(owner);
}

void PageAudit::on_share(int32_t page, PageOwner owner) {
  holders_.at(static_cast<size_t>(page)).push_back(owner);
}

bool PageAudit::on_release(int32_t page, PageOwner owner) {
  auto& holders = holders_.at(static_cast<size_t>(page));
  const auto found = std::ranges::find(holders, owner);
  if (found == holders.end()) {
    warn(
        fmt::format("{} gave back KV page {}, which {} holds; this is a fault of Fathom, please "
                    "report it",
                    owner_name(owner), page, describe(page)));
    return false;
  }
  holders.erase(found);
  return true;
}

void PageAudit::check_read(std::span<const int32_t> pages, PageOwner reader) const {
  for (const int32_t page : pages) {
    if (!holds(page, reader)) {
      fail(ErrorCode::kInternal,
           fmt::format("{} was about to read KV page {}, which {} holds; the request was ended "
                       "before it; this is a fault of Fathom, please report it",
                       owner_name(reader), page, describe(page)));
    }
  }
}

void PageAudit::check_write(std::span<const int32_t> pages, PageOwner writer) const {
  check_read(pages, writer);
  for (const int32_t page : pages) {
    if (holders_.at(static_cast<size_t>(page)).size() != 1) {
      fail(ErrorCode::kInternal,
           fmt::format("{} was about to write KV page {}, which {} hold; the request was ended "
                       "before it; this is a fault of Fathom, please report it",
                       owner_name(writer), page, describe(page)));
    }
  }
}

}  // namespace fathom::kv
