// Golden bits: hashes that the scalar kernels wrote, met by every set of this machine.
#include "kernels/probe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>

#include "kernels/dispatch.h"
#include "support/test_data.h"

namespace fathom::kernels {
namespace {

const std::string kGoldenPath = fathom::test::test_data("lib/kernels/golden.txt");

std::string hex(uint64_t hash) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

// The golden lines of one entry: "name", and "name.options" where it is called with options.
std::map<std::string, std::string> hashes_of(const Entry& entry, const KernelTable& table) {
  std::map<std::string, std::string> hashes;
  hashes[entry.name()] = hex(hash_words(probe_entry(entry, table)));
  const std::vector<uint32_t> options = probe_options(entry, table);
  if (!options.empty()) {
    hashes[entry.name() + ".options"] = hex(hash_words(options));
  }
  return hashes;
}

// FATHOM_WRITE_GOLDEN=1 writes the file anew, from scalar alone; then the tests compare with it.
void write_golden() {
  std::ofstream file(kGoldenPath);
  file << "# entry, hash of its output words on the probe's data. Written by the scalar kernels "
          "alone:\n"
          "# FATHOM_WRITE_GOLDEN=1 test_kernels --gtest_filter='Golden.*'\n";
  for (const Entry& entry : all_entries()) {
    for (const auto& [name, hash] : hashes_of(entry, scalar_table())) {
      file << name << ' ' << hash << '\n';
    }
  }
}

std::map<std::string, std::string> read_golden() {
  std::map<std::string, std::string> golden;
  std::ifstream file(kGoldenPath);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) {
      std::istringstream fields(line);
      std::string entry;
      fields >> entry >> golden[entry];
    }
  }
  return golden;
}

TEST(Golden, EverySetMeetsTheHashesOfScalar) {
  if (std::getenv("FATHOM_WRITE_GOLDEN") != nullptr) {
    write_golden();
  }
  const std::map<std::string, std::string> golden = read_golden();
  size_t n_lines = 0;
  for (const Entry& entry : all_entries()) {
    n_lines += hashes_of(entry, scalar_table()).size();
  }
  ASSERT_EQ(golden.size(), n_lines);
  const CpuFeatures features = detect_cpu();
  for (const Isa isa : make_dispatch(features, Isa::kAmx, false, false).usable) {
    const Dispatch dispatch = make_dispatch(features, isa, false, false);
    for (const Entry& entry : all_entries()) {
      for (const auto& [name, hash] : hashes_of(entry, dispatch.table)) {
        ASSERT_TRUE(golden.contains(name)) << name;
        EXPECT_EQ(hash, golden.at(name)) << name << " at " << name_of(isa);
      }
    }
  }
}

TEST(Probe, IsTheSameTwice) {
  for (const Entry& entry : all_entries()) {
    EXPECT_EQ(probe_entry(entry, scalar_table()), probe_entry(entry, scalar_table()))
        << entry.name();
  }
}

TEST(Probe, HashesDifferForOneBit) {
  EXPECT_EQ(hash_words({}), 0xCBF29CE484222325ULL);             // FNV-1a of nothing
  EXPECT_EQ(hash_words({0x64636261U}), 0xFC179F83EE0724DDULL);  // of "abcd"
  EXPECT_NE(hash_words({1, 2}), hash_words({2, 1}));
}

}  // namespace
}  // namespace fathom::kernels
