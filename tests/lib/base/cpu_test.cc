// Tests of base/cpu: the sets contain each other, and the environment is read strictly.
#include "base/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "support/error_check.h"

namespace fathom {

namespace {

// Sets a variable for one test and restores it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    old_ = had_ ? old : "";
    ::setenv(name, value, 1);
  }

  ~ScopedVariable() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

TEST(Cpu, LaterSetsContainEarlierOnes) {
  const CpuFeatures features = detect_cpu();
  EXPECT_TRUE(features.has(Isa::kScalar));
  EXPECT_TRUE(!features.avx512 || features.avx2);
  EXPECT_TRUE(!features.vnni || features.avx512);
  EXPECT_TRUE(!features.amx || features.vnni);
  EXPECT_TRUE(!features.dotprod || features.neon);
  EXPECT_TRUE(!features.i8mm || features.dotprod);
  EXPECT_FALSE(features.neon && features.avx2);
  EXPECT_EQ(features.has(Isa::kNeon), features.neon);
  EXPECT_EQ(features.has(Isa::kDotprod), features.dotprod);
  EXPECT_EQ(features.has(Isa::kI8mm), features.i8mm);
  EXPECT_EQ(features.has(Isa::kAvx2), features.avx2);
  EXPECT_EQ(features.has(Isa::kAvx512), features.avx512);
  EXPECT_EQ(features.has(Isa::kVnni), features.vnni);
  EXPECT_EQ(features.has(Isa::kAmx), features.amx);
}

TEST(Cpu, TilesAreGrantedOnlyWhereTheyAre) {
  const bool is_granted = request_tiles();
  EXPECT_EQ(request_tiles(), is_granted);
  EXPECT_TRUE(!is_granted || detect_cpu().amx);
}

#if defined(__aarch64__)

// The four bits of a register from `first` on: 0 without the feature.
int field(uint64_t word, int first) {
  return static_cast<int>(word >> first & 0xF);
}

// The kernel lets programs read these, and so does an emulator: another way to the same facts.
TEST(Cpu, AgreesWithTheIdRegisters) {
  uint64_t first = 0;
  uint64_t second = 0;
  __asm__("mrs %0, id_aa64isar0_el1" : "=r"(first));
  __asm__("mrs %0, id_aa64isar1_el1" : "=r"(second));
  const CpuFeatures features = detect_cpu();
  EXPECT_TRUE(features.neon);
  const bool is_v8_2 = field(first, 28) > 0 && field(first, 20) > 1 && field(first, 16) > 0;
  EXPECT_EQ(features.dotprod, is_v8_2 && field(first, 44) > 0);
  EXPECT_EQ(features.i8mm, features.dotprod && field(second, 52) > 0);
  EXPECT_EQ(features.arm_bf16, field(second, 44) > 0);
  EXPECT_TRUE(features.model.starts_with("Arm implementer 0x")) << features.model;
}

#else

// The words of the first "flags" line that the kernel prints; empty when there is none.
std::string kernel_flags() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("flags")) {
      return line + " ";
    }
  }
  return {};
}

TEST(Cpu, AgreesWithTheKernel) {
  const std::string flags = kernel_flags();
  if (flags.empty()) {
    GTEST_SKIP() << "/proc/cpuinfo has no flags";
  }
  const auto has = [&](const std::string& word) {
    return flags.find(" " + word + " ") != std::string::npos;
  };
  const CpuFeatures features = detect_cpu();
  const bool avx2 = has("avx2") && has("fma") && has("f16c");
  EXPECT_EQ(features.avx2, avx2);
  const bool avx512 =
      avx2 && has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  EXPECT_EQ(features.avx512, avx512);
  EXPECT_EQ(features.vnni, avx512 && has("avx512_vnni"));
}

#endif

TEST(Cpu, TheCapIsOneOfTheListedNames) {
  for (const Isa isa : kAllIsas) {
    const ScopedVariable cap("FATHOM_ISA", std::string(name_of(isa)).c_str());
    const Environment environment = read_environment();
    EXPECT_TRUE(environment.has_isa_cap);
    EXPECT_EQ(environment.isa_cap, isa);
  }
  {
    const ScopedVariable cap("FATHOM_ISA", "");
    EXPECT_FALSE(read_environment().has_isa_cap);
  }
  for (const char* wrong : {"AVX2", "sse", "avx2 ", "1"}) {
    const ScopedVariable cap("FATHOM_ISA", wrong);
    test::expect_error(
        [] { (void)read_environment(); }, ErrorCode::kInvalidArgument,
        {"FATHOM_ISA", wrong, "scalar, neon, dotprod, i8mm, avx2, avx512, vnni, amx"});
  }
}

TEST(Cpu, NoColorIsSetByAnyText) {
  const ScopedVariable cap("FATHOM_ISA", "");
  {
    const ScopedVariable color("NO_COLOR", "1");
    EXPECT_TRUE(read_environment().no_color);
  }
  const ScopedVariable color("NO_COLOR", "");
  EXPECT_FALSE(read_environment().no_color);
}

}  // namespace

}  // namespace fathom
