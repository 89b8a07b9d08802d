// Rearranging codes of one to eight bits for 16 rows at a time.
// Called by quant/pack_legacy.cc, pack_group32.cc, pack_kquants.cc. Read next: quant/packed.h
// (high1, high2, codes2, nibbles).
#pragma once

#include "quant/pack_tile.h"

namespace fathom::quant {

// Bytes of codes: code + 128 of Q8_0 flips the top bit; nibble bytes stay as they are (byte j of qs
// holds codes j and j + 16, as `nibbles` wants them).
template <int kVectors, uint32_t kFlip>
inline void move_codes(const PackTile& tile, ptrdiff_t offset, int b) {
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int v = 0; v < kVectors; v += 4) {
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad, offset + ptrdiff_t{4} * v, word);
      for (int i = 0; i < 4; ++i) {
        store_vector(word[i] ^ kFlip, b * kVectors + v + i, quad, tile.out + tile.layout.codes);
      }
    }
  }
}

// Nibbles in K-quant order: 32 bytes at `offset` whose low halves are 32-block `low` and high
// halves 32-block `high`. In `nibbles` k and k + 16 of one block share a byte.
inline void move_nibbles(const PackTile& tile, ptrdiff_t offset, int low, int high) {
  std::byte* section = tile.out + tile.layout.codes;
  for (int quad = 0; quad < kQuads; ++quad) {
    Words first[4];
    Words second[4];
    load_turned(tile.rows + ptrdiff_t{quad} * kQuad, offset, first);        // k = 0..15
    load_turned(tile.rows + ptrdiff_t{quad} * kQuad, offset + 16, second);  // k = 16..31
    for (int v = 0; v < 4; ++v) {
      store_vector((first[v] & kLow4) | (second[v] & kLow4) << 4, 4 * low + v, quad, section);
      store_vector((first[v] >> 4 & kLow4) | (second[v] & ~kLow4), 4 * high + v, quad, section);
    }
  }
}

// Four words of 2-bit fields: field j of word f trades places with field f of word j.
inline void transpose_fields2(Words (&word)[4]) {
  for (int i = 0; i < 4; i += 2) {  // single fields between neighbours
    const Words swap = ((word[i] >> 2) ^ word[i + 1]) & 0x33333333U;
    word[i + 1] ^= swap;
    word[i] ^= swap << 2;
  }
  for (int i = 0; i < 2; ++i) {  // pairs of fields between words 2 apart
    const Words swap = ((word[i] >> 4) ^ word[i + 2]) & kLow4;
    word[i + 2] ^= swap;
    word[i] ^= swap << 4;
  }
}

// 64 bytes at `offset` of 2-bit fields in K-quant order (byte 32 h + l, field j: k = 128 h + 32 j +
// l) into the order of codes2 and high2.
inline void move_fields2(const PackTile& tile, ptrdiff_t offset, std::byte* section) {
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int part = 0; part < 4; ++part) {  // 16 bytes: half `part % 2` of h = part / 2
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad, offset + ptrdiff_t{16} * part, word);
      transpose_fields2(word);
      for (int j = 0; j < 4; ++j) {
        const int block = 4 * (part / 2) + j;
        store_vector(word[j], 2 * block + part % 2, quad, section);
      }
    }
  }
}

// Sixteen bytes as two columns of 8 x 8 bits.
using Lanes64 [[gnu::vector_size(16)]] = uint64_t;

// In each half: bit j of byte i trades places with bit i of byte j.
inline Lanes64 transpose_bits8(Lanes64 x) {
  Lanes64 swap = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x ^= swap ^ (swap << 7);
  swap = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x ^= swap ^ (swap << 14);
  swap = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ swap ^ (swap << 28);
}

// 8 x 8 bytes: byte j of row i trades places with byte i of row j.
inline void transpose_bytes8(uint64_t (&row)[8]) {
  const auto exchange = [&](int i, int j, int shift, uint64_t mask) {
    const uint64_t swap = ((row[i] >> shift) ^ row[j]) & mask;
    row[j] ^= swap;
    row[i] ^= swap << shift;
  };
  for (int i = 0; i < 8; i += 2) {
    exchange(i, i + 1, 8, 0x00FF00FF00FF00FFULL);
  }
  for (const int i : {0, 1, 4, 5}) {
    exchange(i, i + 2, 16, 0x0000FFFF0000FFFFULL);
  }
  for (int i = 0; i < 4; ++i) {
    exchange(i, i + 4, 32, 0x00000000FFFFFFFFULL);
  }
}

// 32 bytes at `offset`, byte l holding the top bits of value l of the eight 32-blocks (bit b), into
// high1: once four bytes of 16 rows lie side by side, bit b of these 64 bytes is mask v of block b.
inline void move_bit_planes(const PackTile& tile, ptrdiff_t offset) {
  for (int half = 0; half < 2; ++half) {
    // [v][two rows each]; after the transpose byte b holds 8 bits of mask v of block b.
    uint64_t columns[4][8];
    for (int quad = 0; quad < kQuads; ++quad) {
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad, offset + ptrdiff_t{16} * half, word);
      for (int v = 0; v < 4; ++v) {
        Lanes64 x;
        std::memcpy(&x, &word[v], sizeof x);
        x = transpose_bits8(x);
        std::memcpy(&columns[v][ptrdiff_t{2} * quad], &x, sizeof x);
      }
    }
    for (int v = 0; v < 4; ++v) {
      transpose_bytes8(columns[v]);
      for (int b = 0; b < 8; ++b) {
        std::byte* masks = tile.out + tile.layout.high + b * kVectorBytes;
        std::memcpy(masks + ptrdiff_t{4 * half + v} * 8, &columns[v][b], 8);
      }
    }
  }
}

// bits[r]: bit k is the top bit of code k of row r in one 32-block. Writes its eight masks: mask v
// holds the four bits 4v.. of row r at 4r..4r+3.
inline void store_masks(const uint32_t (&bits)[kGroupRows], std::byte* masks) {
  // Nibbles of two rows by turns: bytes 0..3 for v = 0, 2, 4, 6, then the odd ones.
  uint64_t pair[8];
  for (int i = 0; i < 8; ++i) {
    const uint32_t a = bits[ptrdiff_t{2} * i];
    const uint32_t b = bits[ptrdiff_t{2} * i + 1];
    const uint32_t even = (a & kLow4) | (b & kLow4) << 4;
    const uint32_t odd = (a >> 4 & kLow4) | (b & ~kLow4);
    pair[i] = even | uint64_t{odd} << 32;
  }
  transpose_bytes8(pair);
  for (int i = 0; i < 8; ++i) {
    const int v = i < 4 ? 2 * i : 2 * (i - 4) + 1;
    std::memcpy(masks + ptrdiff_t{v} * 8, &pair[i], 8);
  }
}

}  // namespace fathom::quant
