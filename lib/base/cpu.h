// What this CPU and this operating system allow, and what FATHOM_ISA caps it to.
// Called by kernels/dispatch, apps. The one place that reads CPUID, the auxiliary vector and
// environment variables.
#pragma once

#include <string>
#include <string_view>

namespace fathom {

// Instruction sets: scalar, then those of Arm and those of x86-64, each in rising order. A program
// has sets of one of the two; a cap allows itself and all before it.
enum class Isa { kScalar, kNeon, kDotprod, kI8mm, kAvx2, kAvx512, kVnni, kAmx };

inline constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kNeon,   Isa::kDotprod, Isa::kI8mm,
                                   Isa::kAvx2,   Isa::kAvx512, Isa::kVnni,    Isa::kAmx};

// The highest set that is taken without being asked for: all.
inline constexpr Isa kAutomaticIsa = Isa::kAmx;

// "scalar", "neon", "dotprod", "i8mm", "avx2", "avx512", "vnni", "amx"
std::string_view name_of(Isa isa);

struct CpuFeatures {
  bool avx2 = false;      // AVX2 + FMA + F16C, and the OS saves ymm
  bool avx512 = false;    // F + BW + DQ + VL, and the OS saves zmm
  bool vnni = false;      // avx512 + AVX512_VNNI
  bool amx = false;       // AMX-INT8 + AMX-BF16 and the OS offers the tile state
  bool neon = false;      // Advanced SIMD
  bool dotprod = false;   // neon + Armv8.2-A with its dot products
  bool i8mm = false;      // dotprod + int8 matrix products
  bool arm_bf16 = false;  // reported only: its products round otherwise (docs/numbers.md)
  std::string model;      // "Intel(R) Xeon(R) Processor", "Arm implementer 0x41, part 0xd0c"

  [[nodiscard]] bool has(Isa isa) const;
};

// Reads CPUID and XGETBV, or the auxiliary vector and the id register; no side effects.
CpuFeatures detect_cpu();

// Asks the operating system, once in a process, to let all its threads use the tiles of AMX:
// without that their first use is an illegal instruction. False where it refuses or has none. Any
// thread.
bool request_tiles();

// Variables of the environment that Fathom reads; all are listed by --help.
struct Environment {
  bool has_isa_cap = false;
  Isa isa_cap = kAutomaticIsa;  // FATHOM_ISA
  bool no_color = false;        // NO_COLOR
};

// Error: kInvalidArgument for a value that is not one of the listed.
Environment read_environment();

}  // namespace fathom
