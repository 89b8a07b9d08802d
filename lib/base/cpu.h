// What this CPU and this operating system allow, and what FATHOM_ISA caps it to.
// Called by kernels/dispatch, apps. The one place that reads CPUID and environment variables.
#pragma once

#include <string>
#include <string_view>

namespace fathom {

// Instruction sets in rising order; a cap allows itself and all before it.
enum class Isa { kScalar, kAvx2, kAvx512, kVnni, kAmx };

// "scalar", "avx2", "avx512", "vnni", "amx"
std::string_view name_of(Isa isa);

struct CpuFeatures {
  bool avx2 = false;    // AVX2 + FMA + F16C, and the OS saves ymm
  bool avx512 = false;  // F + BW + DQ + VL, and the OS saves zmm
  bool vnni = false;    // avx512 + AVX512_VNNI
  bool amx = false;     // AMX-INT8 + AMX-BF16 and the OS offers the tile state
  std::string model;    // "Intel(R) Xeon(R) Processor"

  [[nodiscard]] bool has(Isa isa) const;
};

// Reads CPUID and XGETBV; no side effects.
CpuFeatures detect_cpu();

// Variables of the environment that Fathom reads; all are listed by --help.
struct Environment {
  bool has_isa_cap = false;
  Isa isa_cap = Isa::kAmx;  // FATHOM_ISA
  bool no_color = false;    // NO_COLOR
};

// Error: kInvalidArgument for a value that is not one of the listed.
Environment read_environment();

}  // namespace fathom
