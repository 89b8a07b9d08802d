// The account of names: what is in order passes, each kind of violation is named.
#include "kv/page_audit.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/error_check.h"

namespace fathom::kv {
namespace {

TEST(PageAudit, HoldersMayReadAndTheOnlyOneMayWrite) {
  PageAudit audit(4);
  audit.on_allocate(2, 7);
  const std::vector<int32_t> pages = {2};
  audit.check_read(pages, 7);
  audit.check_write(pages, 7);
  audit.on_share(2, kCacheOwner);
  audit.check_read(pages, 7);
  test::expect_error([&] { audit.check_write(pages, 7); }, ErrorCode::kInternal,
                     {"request 7", "write KV page 2", "the prefix cache"});
  audit.on_release(2, kCacheOwner);
  audit.check_write(pages, 7);
}

TEST(PageAudit, ReadingThePageOfAnotherIsFound) {
  PageAudit audit(4);
  audit.on_allocate(0, 7);
  audit.on_allocate(1, 8);
  const std::vector<int32_t> pages = {0, 1};
  test::expect_error([&] { audit.check_read(pages, 7); }, ErrorCode::kInternal,
                     {"request 7", "read KV page 1", "request 8"});
  const std::vector<int32_t> free_page = {3};
  test::expect_error([&] { audit.check_read(free_page, 7); }, ErrorCode::kInternal,
                     {"page 3", "nobody"});
}

TEST(PageAudit, APageIsHandedOutOnce) {
  PageAudit audit(2);
  audit.on_allocate(1, 7);
  test::expect_error([&] { audit.on_allocate(1, 8); }, ErrorCode::kInternal,
                     {"page 1", "request 8", "request 7"});
}

TEST(PageAudit, OnlyHoldersGiveBack) {
  PageAudit audit(2);
  audit.on_allocate(1, 7);
  EXPECT_FALSE(audit.on_release(1, 8));
  EXPECT_TRUE(audit.on_release(1, 7));
  EXPECT_FALSE(audit.on_release(1, 7));
}

}  // namespace
}  // namespace fathom::kv
