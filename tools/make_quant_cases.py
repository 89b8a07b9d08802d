#!/usr/bin/env python3
"""Writes tests/lib/quant/dequantize_cases.txt: random blocks of every format and their values.

The values come from this file alone, written from ggml's format description and not from our C++: every format is
a function from the bytes of a block to a list of exact rational numbers, rounded to float32 once in the end.
A line is: type, the block in hex, the values as float32 bits in hex (big-endian digits).

    python3 tools/make_quant_cases.py > tests/lib/quant/dequantize_cases.txt
"""

import struct
from fractions import Fraction

IQ4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]


def f16(low, high):
    return Fraction(struct.unpack("<e", bytes([low, high]))[0])


def low(byte):
    return byte % 16


def high(byte):
    return byte // 16


def nibbles(qs):
    """The 32-value formats: low halves first, then high halves."""
    return [low(b) for b in qs] + [high(b) for b in qs]


def with_fifth(codes, qh):
    bits = int.from_bytes(bytes(qh), "little")
    return [c + 16 * (bits >> k & 1) for k, c in enumerate(codes)]


def q4_0(b):
    return [f16(*b[:2]) * (c - 8) for c in nibbles(b[2:])]


def q4_1(b):
    return [f16(*b[:2]) * c + f16(*b[2:4]) for c in nibbles(b[4:])]


def q5_0(b):
    return [f16(*b[:2]) * (c - 16) for c in with_fifth(nibbles(b[6:]), b[2:6])]


def q5_1(b):
    return [f16(*b[:2]) * c + f16(*b[2:4]) for c in with_fifth(nibbles(b[8:]), b[4:8])]


def q8_0(b):
    return [f16(*b[:2]) * (c - 256 if c > 127 else c) for c in b[2:]]


def iq4_nl(b):
    return [f16(*b[:2]) * IQ4[c] for c in nibbles(b[2:])]


def crumbs(qs):
    """Two-bit codes of K-quants: 128 values from 32 bytes, the lowest pair of bits first."""
    out = []
    for start in range(0, len(qs), 32):
        for shift in (1, 4, 16, 64):
            out += [byte // shift % 4 for byte in qs[start : start + 32]]
    return out


def planes(bytes32):
    """One-bit codes of K-quants: bit b of byte l belongs to value 32 b + l."""
    return [byte >> plane & 1 for plane in range(8) for byte in bytes32]


def q2_k(b):
    scales, d, dmin = b[:16], f16(*b[80:82]), f16(*b[82:84])
    return [
        d * low(scales[k // 16]) * c - dmin * high(scales[k // 16])
        for k, c in enumerate(crumbs(b[16:80]))
    ]


def q3_k(b):
    hmask, qs, packed, d = b[:32], b[32:96], b[96:108], f16(*b[108:110])
    # 16 scales of 6 bits: four low bits in the first eight bytes (low halves, then high halves), two high bits in
    # the last four bytes, a pair of bits for each run of four scales.
    low4 = [low(x) for x in packed[:8]] + [high(x) for x in packed[:8]]
    high2 = [packed[8 + g % 4] // 4 ** (g // 4) % 4 for g in range(16)]
    scales = [lo + 16 * hi - 32 for lo, hi in zip(low4, high2, strict=True)]
    # A cleared bit of hmask subtracts 4.
    return [
        d * scales[k // 16] * (c - (0 if bit else 4))
        for k, (c, bit) in enumerate(zip(crumbs(qs), planes(hmask), strict=True))
    ]


def scales_k4(packed):
    scales = [x % 64 for x in packed[:4]] + [
        low(packed[8 + j]) + 16 * (packed[j] // 64) for j in range(4)
    ]
    mins = [x % 64 for x in packed[4:8]] + [
        high(packed[8 + j]) + 16 * (packed[4 + j] // 64) for j in range(4)
    ]
    return scales, mins


def nibbles_k4(qs):
    out = []
    for start in range(0, 128, 32):
        part = qs[start : start + 32]
        out += [low(x) for x in part] + [high(x) for x in part]
    return out


def q4_k(b):
    d, dmin = f16(*b[:2]), f16(*b[2:4])
    scales, mins = scales_k4(b[4:16])
    return [
        d * scales[k // 32] * c - dmin * mins[k // 32] for k, c in enumerate(nibbles_k4(b[16:]))
    ]


def q5_k(b):
    d, dmin = f16(*b[:2]), f16(*b[2:4])
    scales, mins = scales_k4(b[4:16])
    codes = [c + 16 * h for c, h in zip(nibbles_k4(b[48:]), planes(b[16:48]), strict=True)]
    return [d * scales[k // 32] * c - dmin * mins[k // 32] for k, c in enumerate(codes)]


def q6_k(b):
    ql, qh, scales, d = b[:128], b[128:192], b[192:208], f16(*b[208:210])
    codes = []
    for h in range(2):
        part = ql[64 * h : 64 * h + 64]
        codes += [low(x) for x in part] + [high(x) for x in part]
    signed = [s - 256 if s > 127 else s for s in scales]
    return [
        d * signed[k // 16] * (c + 16 * h - 32)
        for k, (c, h) in enumerate(zip(codes, crumbs(qh), strict=True))
    ]


def iq4_xs(b):
    d, high2, low4, qs = f16(*b[:2]), b[2] + 256 * b[3], b[4:8], b[8:]
    out = []
    for j in range(8):
        lo = low(low4[j // 2]) if j % 2 == 0 else high(low4[j // 2])
        scale = lo + 16 * (high2 // 4**j % 4) - 32
        out += [d * scale * IQ4[c] for c in nibbles(qs[16 * j : 16 * j + 16])]
    return out


E2M1 = [Fraction(x, 2) for x in (0, 1, 2, 3, 4, 6, 8, 12)]


def mxfp4(b):
    return [
        Fraction(2) ** (b[0] - 127) * (E2M1[c % 8] if c < 8 else -E2M1[c % 8])
        for c in nibbles(b[1:])
    ]


def f32(b):
    return Fraction(struct.unpack("<f", bytes(b))[0])


def i4_group(b):
    return [f32(b[:4]) * (c - b[4]) for c in nibbles(b[5:])]


def i8_group(b):
    return [f32(b[:4]) * (c - b[4]) for c in b[5:]]


def f8(b, n_fraction, bias):
    """Sign, exponent, fraction; None where the value is no number (the tables say which)."""
    sign, exponent, fraction = (
        b >> 7,
        b >> n_fraction & 2 ** (7 - n_fraction) - 1,
        b % 2**n_fraction,
    )
    if exponent == 0:
        value = Fraction(fraction, 2**n_fraction) * Fraction(2) ** (1 - bias)
    else:
        value = (1 + Fraction(fraction, 2**n_fraction)) * Fraction(2) ** (exponent - bias)
    return -value if sign else value


def f8_e4m3(b):
    return [None if x & 127 == 127 else f8(x, 3, 7) for x in b]


def f8_e5m2(b):
    return [None if x & 127 > 124 else f8(x, 2, 15) for x in b]  # 124 and 252: infinities


# name: (bytes of a block, offsets of its f16 fields, function)
FORMATS = {
    "Q4_0": (18, [0], q4_0),
    "Q4_1": (20, [0, 2], q4_1),
    "Q5_0": (22, [0], q5_0),
    "Q5_1": (24, [0, 2], q5_1),
    "Q8_0": (34, [0], q8_0),
    "Q2_K": (84, [80, 82], q2_k),
    "Q3_K": (110, [108], q3_k),
    "Q4_K": (144, [0, 2], q4_k),
    "Q5_K": (176, [0, 2], q5_k),
    "Q6_K": (210, [208], q6_k),
    "IQ4_NL": (18, [0], iq4_nl),
    "IQ4_XS": (136, [0], iq4_xs),
}


# name: (bytes of a block, offset of its f32 or None, function)
F32_FORMATS = {
    "MXFP4": (17, None, mxfp4),
    "I4_GROUP": (21, 0, i4_group),
    "I8_GROUP": (37, 0, i8_group),
}

F8_FORMATS = {"F8_E4M3": f8_e4m3, "F8_E5M2": f8_e5m2}
INFINITY = {0x7C: 0x7F800000, 0xFC: 0xFF800000}  # of E5M2


def round_f32(x):
    """Nearest float32 of a rational, ties to even, as its bits; None is NaN."""
    if x is None:
        return 0x7FC00000
    if x == 0:
        return 0
    sign, x = (1 << 31 if x < 0 else 0), abs(x)
    exponent = 0
    while x >= 2:
        x, exponent = x / 2, exponent + 1
    while x < 1:
        x, exponent = x * 2, exponent - 1
    assert exponent >= -126, "subnormal results do not occur in these cases"
    return sign | (exponent + 127 << 23) + round((x - 1) * 2**23)  # round() ties to even


class Random:
    """A linear congruential generator, so that the file is the same on every machine."""

    def __init__(self, seed):
        self.state = seed

    def byte(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 56


def random_block(random, n_bytes, halves):
    block = [random.byte() for _ in range(n_bytes)]
    for at in halves:  # exponents from 2^-12 to 2^-5: finite, normal
        block[at + 1] = block[at + 1] & 0x83 | (3 + random.byte() % 8) << 2
    return block


def main():
    print("# Written by tools/make_quant_cases.py: type, block in hex, float32 bits of its values.")
    for seed, (name, (n_bytes, halves, values_of)) in enumerate(FORMATS.items()):
        random = Random(seed + 1)
        for _ in range(2):
            block = random_block(random, n_bytes, halves)
            words = "".join(f"{round_f32(x):08x}" for x in values_of(block))
            print(name, bytes(block).hex(), words)
    for seed, (name, (n_bytes, at, values_of)) in enumerate(F32_FORMATS.items()):
        random = Random(seed + 101)
        for _ in range(3):
            block = [random.byte() for _ in range(n_bytes)]
            if at is None:
                block[0] = block[0] % 64 + 96  # exponents from 2^-31 to 2^32
            else:
                block[at + 3] = block[at + 3] & 0x80 | 0x3C  # scales near 2^-7, of both signs
            words = "".join(f"{round_f32(x):08x}" for x in values_of(block))
            print(name, bytes(block).hex(), words)
    for name, values_of in F8_FORMATS.items():  # every byte
        block = list(range(256))
        words = [round_f32(x) for x in values_of(block)]
        if name == "F8_E5M2":
            words = [INFINITY.get(b, word) for b, word in zip(block, words, strict=True)]
        print(name, bytes(block).hex(), "".join(f"{word:08x}" for word in words))


if __name__ == "__main__":
    main()
