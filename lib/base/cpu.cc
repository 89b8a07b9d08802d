// CPUID, XGETBV, the auxiliary vector and the environment.
#include "base/cpu.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace fathom {

namespace {

constexpr std::array<std::string_view, std::size(kAllIsas)> kIsaNames = {
    "scalar", "neon", "dotprod", "i8mm", "avx2", "avx512", "vnni", "amx"};

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) {
    return {};
  }
  return r;
}

// XCR0: which register states the operating system saves.
uint64_t saved_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool bit(uint32_t word, int index) {
  return ((word >> index) & 1U) != 0;
}

std::string brand_string() {
  std::array<char, 49> text{};
  for (uint32_t i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002U + i, 0);
    std::memcpy(text.data() + size_t{16} * i, &r, 16);
  }
  std::string brand(text.data());
  return brand.substr(0, brand.find_last_not_of(' ') + 1);
}

CpuFeatures read_cpu() {
  CpuFeatures features;
  features.model = brand_string();
  const Registers one = cpuid(1, 0);
  const Registers seven = cpuid(7, 0);
  const bool os_saves = bit(one.ecx, 27);  // OSXSAVE
  const uint64_t states = os_saves ? saved_states() : 0;
  const bool ymm = (states & 0x6) == 0x6;
  const bool zmm = (states & 0xe6) == 0xe6;
  const bool tiles = (states & 0x60000) == 0x60000;
  features.avx2 = ymm && bit(one.ecx, 12) && bit(one.ecx, 29) && bit(seven.ebx, 5);
  features.avx512 = features.avx2 && zmm && bit(seven.ebx, 16) && bit(seven.ebx, 17) &&
                    bit(seven.ebx, 30) && bit(seven.ebx, 31);
  features.vnni = features.avx512 && bit(seven.ecx, 11);
  features.amx =
      features.vnni && tiles && bit(seven.edx, 22) && bit(seven.edx, 24) && bit(seven.edx, 25);
  return features;
}

bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the state component's number
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#elif defined(__aarch64__)

bool ask_for_tiles() {
  return false;
}

// The main id register, which the kernel lets a program read where HWCAP_CPUID says so.
std::string core_name(unsigned long capabilities) {
  if ((capabilities & HWCAP_CPUID) == 0) {
    return "Arm";
  }
  uint64_t id = 0;
  __asm__("mrs %0, midr_el1" : "=r"(id));
  return fmt::format("Arm implementer {:#04x}, part {:#05x}", id >> 24 & 0xFF, id >> 4 & 0xFFF);
}

CpuFeatures read_cpu() {
  CpuFeatures features;
  const unsigned long first = getauxval(AT_HWCAP);
  const unsigned long second = getauxval(AT_HWCAP2);
  const auto all_of = [](unsigned long word, unsigned long bits) { return (word & bits) == bits; };
  features.model = core_name(first);
  features.neon = all_of(first, HWCAP_ASIMD);
  // What -march=armv8.2-a+dotprod lets the compiler use, see cmake/isa.cmake.
  features.dotprod =
      features.neon && all_of(first, HWCAP_ASIMDDP | HWCAP_ASIMDRDM | HWCAP_ATOMICS | HWCAP_CRC32);
  features.i8mm = features.dotprod && all_of(second, HWCAP2_I8MM);
  features.arm_bf16 = features.neon && all_of(second, HWCAP2_BF16);
  return features;
}

#else

CpuFeatures read_cpu() {
  return {};
}

bool ask_for_tiles() {
  return false;
}

#endif

std::string listed_names() {
  std::string names;
  for (const std::string_view name : kIsaNames) {
    names += names.empty() ? "" : ", ";
    names += name;
  }
  return names;
}

}  // namespace

std::string_view name_of(Isa isa) {
  return kIsaNames[static_cast<size_t>(isa)];
}

bool CpuFeatures::has(Isa isa) const {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kNeon:
      return neon;
    case Isa::kDotprod:
      return dotprod;
    case Isa::kI8mm:
      return i8mm;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx512;
    case Isa::kVnni:
      return vnni;
    case Isa::kAmx:
      return amx;
  }
  return false;
}

CpuFeatures detect_cpu() {
  return read_cpu();
}

bool request_tiles() {
  static const bool kIsGranted = ask_for_tiles();
  return kIsGranted;
}

Environment read_environment() {
  Environment environment;
  const char* no_color = std::getenv("NO_COLOR");
  environment.no_color = no_color != nullptr && *no_color != '\0';
  const char* isa = std::getenv("FATHOM_ISA");
  if (isa == nullptr || *isa == '\0') {
    return environment;
  }
  for (size_t i = 0; i < kIsaNames.size(); ++i) {
    if (kIsaNames[i] == isa) {
      environment.has_isa_cap = true;
      environment.isa_cap = static_cast<Isa>(i);
      return environment;
    }
  }
  fail(ErrorCode::kInvalidArgument,
       fmt::format("FATHOM_ISA: '{}' is not one of {}", isa, listed_names()));
}

}  // namespace fathom
