// Runs the compiled kernels of amx where the CPU has no tiles: every tile instruction is an illegal
// one there, and the signal's handler does what it says on ModelTiles. Called by
// matmul_isa_test.cc, attend_isa_test.cc.
//
// Machine code of all of them: C4, two bytes of prefix (inverted bits that extend register numbers,
// the map 0F38, W = 0; vvvv, L = 0, the pp that stands for 66, F3 or F2), opcode, ModRM.
#pragma once

#include <optional>
#include <vector>

#include "lib/kernels/isa_tables.h"

#if defined(__x86_64__)

#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "lib/kernels/model_tiles.h"

namespace fathom::kernels::isa_test {

namespace {

class TileTrap {
 public:
  static constexpr bool kIsPossible = true;

  TileTrap() {
    struct sigaction action = {};
    action.sa_sigaction = on_illegal;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
    n_trapped = 0;
  }

  ~TileTrap() { sigaction(SIGILL, &before_, nullptr); }

  TileTrap(const TileTrap&) = delete;
  TileTrap& operator=(const TileTrap&) = delete;

  // Instructions since the trap was set, of this thread.
  [[nodiscard]] static int64_t count() { return n_trapped; }

 private:
  enum Prefix : uint8_t { kNone, k66, kF3, kF2 };

  struct Instruction {
    uint8_t opcode;
    Prefix prefix;
    int mod;
    int reg;
    int rm;
    int second;      // vvvv
    int size;        // bytes
    std::byte* at;   // memory operand: base + displacement
    int64_t stride;  // its scaled index
  };

  static int64_t register_of(const ucontext_t* context, int number) {
    static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    return context->uc_mcontext.gregs[kOrder[number]];
  }

  // The memory operand behind ModRM at p.
  static void read_memory(const ucontext_t* context, const uint8_t* code, uint8_t extensions,
                          Instruction* out) {
    const uint8_t* p = code + out->size;
    const int base_extension = (extensions & 0x20) == 0 ? 8 : 0;
    int base = out->rm | base_extension;
    bool has_base = out->mod != 0 || out->rm != 5;
    if (out->rm == 4) {
      const uint8_t sib = *p++;
      const int index = (sib >> 3 & 7) | ((extensions & 0x40) == 0 ? 8 : 0);
      base = (sib & 7) | base_extension;
      has_base = out->mod != 0 || (sib & 7) != 5;
      out->stride = index == 4 ? 0 : register_of(context, index) << (sib >> 6);
    }
    int64_t address = has_base ? register_of(context, base) : 0;
    if (out->mod == 1) {
      address += static_cast<int8_t>(*p++);
    } else if (out->mod == 2 || !has_base) {
      int32_t displacement;
      std::memcpy(&displacement, p, sizeof displacement);
      p += sizeof displacement;
      address += displacement;
    }
    out->size = static_cast<int>(p - code);
    if (!has_base && out->rm == 5) {  // relative to the next instruction
      address += reinterpret_cast<int64_t>(p);
    }
    out->at = reinterpret_cast<std::byte*>(address);
  }

  static bool read_instruction(const ucontext_t* context, const uint8_t* code, Instruction* out) {
    if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x84) != 0) {
      return false;
    }
    out->prefix = static_cast<Prefix>(code[2] & 3);
    out->second = 15 - (code[2] >> 3 & 15);
    out->opcode = code[3];
    out->mod = code[4] >> 6;
    out->reg = code[4] >> 3 & 7;
    out->rm = code[4] & 7;
    out->size = 5;
    if (out->mod != 3) {
      read_memory(context, code, code[1], out);
    }
    return true;
  }

  // False for what is no tile instruction of ours.
  static bool run(const Instruction& code) {
    const bool has_memory = code.mod != 3;
    if (code.opcode == 0x49 && has_memory && code.prefix == kNone) {  // ldtilecfg
      TileConfig config;
      std::memcpy(&config, code.at, sizeof config);
      return tiles.configure(config);
    }
    if (code.opcode == 0x49 && has_memory && code.prefix == k66) {  // sttilecfg
      std::memcpy(code.at, &tiles.config(), sizeof(TileConfig));
    } else if (code.opcode == 0x49 && code.prefix == kNone) {
      tiles.release();
    } else if (code.opcode == 0x49 && code.prefix == kF2) {
      tiles.zero(code.reg);
    } else if (code.opcode == 0x4B && code.prefix == kF2) {
      tiles.load(code.reg, code.at, code.stride);
    } else if (code.opcode == 0x4B && code.prefix == kF3) {
      tiles.store(code.reg, code.at, code.stride);
    } else if (code.opcode == 0x5E && code.prefix == kF2) {  // tdpbssd
      tiles.add_int8<int8_t>(code.reg, code.rm, code.second);
    } else if (code.opcode == 0x5E && code.prefix == kF3) {  // tdpbsud
      tiles.add_int8<uint8_t>(code.reg, code.rm, code.second);
    } else if (code.opcode == 0x5C && code.prefix == kF3) {  // tdpbf16ps
      tiles.add_bf16(code.reg, code.rm, code.second);
    } else {
      return false;
    }
    return true;
  }

  static void on_illegal(int /*signal*/, siginfo_t* /*info*/, void* context) {
    auto* const state = static_cast<ucontext_t*>(context);
    auto& next = state->uc_mcontext.gregs[REG_RIP];
    Instruction code = {};
    if (!read_instruction(state, reinterpret_cast<const uint8_t*>(next), &code) || !run(code)) {
      std::abort();
    }
    next += code.size;
    ++n_trapped;
  }

  static inline thread_local ModelTiles tiles;
  static inline thread_local int64_t n_trapped = 0;
  struct sigaction before_ = {};
};

}  // namespace

}  // namespace fathom::kernels::isa_test

#else

namespace fathom::kernels::isa_test {

namespace {

class TileTrap {
 public:
  static constexpr bool kIsPossible = false;

  [[nodiscard]] static int64_t count() { return 0; }
};

}  // namespace

}  // namespace fathom::kernels::isa_test

#endif

namespace fathom::kernels::isa_test {

// The sets of this CPU; amx as compiled, caught as long as the trap lives, in place of a missing
// one.
inline std::vector<IsaTable> tables_and_caught_tiles(std::optional<TileTrap>* trap) {
  std::vector<IsaTable> tables = tables_of_this_cpu();
  const CpuFeatures features = detect_cpu();
  for (const KernelSet& set : built_sets()) {
    if (set.isa == Isa::kAmx && features.vnni && !features.amx && TileTrap::kIsPossible) {
      trap->emplace();
      KernelTable table = make_dispatch(features, Isa::kVnni, false, false).table;
      set.fill(table);
      tables.push_back({"amx, caught", table});
    }
  }
  return tables;
}

}  // namespace fathom::kernels::isa_test
