#!/usr/bin/env python3
"""Fits the polynomials of lib/kernels/math_constants.h (exp, tanh, erf) and prints them as f32 hex.

Needs mpmath. Remez exchange in 60 digits: each polynomial P minimises the largest weight(x) * |P(x) - f(x)|, where the
weight turns the error of P into a relative error of the whole function. Read next: docs/numbers.md, "Functions".
"""

import struct

import mpmath as mp

mp.mp.dps = 60


def solve(f, weight, nodes):
    """Coefficients and the levelled error for alternating errors at the nodes."""
    n = len(nodes) - 1
    matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
        matrix[i, n] = (-1) ** i / weight(x)
        right[i] = f(x)
    solution = mp.lu_solve(matrix, right)
    return [solution[j] for j in range(n)], abs(solution[n])


def extrema(error, low, high):
    """Points of largest error, one for each run of one sign."""
    points = []
    for i in range(601):
        x = low + (high - low) * mp.mpf(i) / 600
        e = error(x)
        if points and points[-1][1] * e > 0:
            if abs(e) > abs(points[-1][1]):
                points[-1] = (x, e)
        else:
            points.append((x, e))
    return points


def remez(f, weight, degree, low, high):
    """Minimax coefficients, lowest first, and the largest weighted error."""
    count = degree + 2
    nodes = [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)
    ]
    while True:
        c, level = solve(f, weight, nodes)
        points = extrema(lambda x, c=c: weight(x) * (mp.polyval(c[::-1], x) - f(x)), low, high)
        largest = max(abs(e) for _, e in points)
        while len(points) > count:
            points.pop(0 if abs(points[0][1]) < abs(points[-1][1]) else -1)
        if len(points) < count or largest < level * mp.mpf("1.001"):
            return c, largest
        nodes = [x for x, _ in points]


def show(name, fit):
    c, error = fit
    words = [struct.unpack("f", struct.pack("f", float(x)))[0].hex() for x in c]
    print(f"{name}: error {mp.nstr(error, 3)}")
    print("   ", *words)


def main():
    tiny = mp.mpf(10) ** -14
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.001")
    exp_rest = lambda r: (mp.exp(r) - 1 - r) / r**2 if abs(r) > tiny else mp.mpf(1) / 2 + r / 6  # noqa: E731
    show(
        "exp",
        remez(exp_rest, lambda r: r * r / mp.exp(r) + mp.mpf(10) ** -30, 4, -half_ln2, half_ln2),
    )

    def tanh_ratio(z):
        return mp.tanh(mp.sqrt(z)) / mp.sqrt(z) if z > tiny else 1 - z / 3

    def tanh_rest(z):
        return (tanh_ratio(z) - 1) / z if z > tiny else -mp.mpf(1) / 3 + z * 2 / 15

    show(
        "tanh",
        remez(
            tanh_rest,
            lambda z: z / tanh_ratio(z) + mp.mpf(10) ** -30,
            4,
            mp.mpf(0),
            mp.mpf("0.625") ** 2,
        ),
    )

    def erf_ratio(z):
        return mp.erf(mp.sqrt(z)) / mp.sqrt(z) if z > tiny else 2 / mp.sqrt(mp.pi) * (1 - z / 3)

    show(
        "erf small",
        remez(
            lambda z: erf_ratio(z) - 1,
            lambda z: 1 / erf_ratio(z),
            5,
            mp.mpf(0),
            mp.mpf("0.9") ** 2,
        ),
    )
    show(
        "erf large",
        remez(
            lambda t: -mp.log(mp.erfc(t)) / t - 1,
            lambda t: mp.erfc(t) * t,
            6,
            mp.mpf("0.875"),
            mp.mpf("3.95"),
        ),
    )


if __name__ == "__main__":
    main()
