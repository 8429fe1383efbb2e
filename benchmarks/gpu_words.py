"""ChaCha20 as one Triton kernel. For gpu.py, which compares it with another implementation."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def turned(x, by: tl.constexpr):
    return (x << by) | (x >> (32 - by))


@triton.jit
def quarter(a, b, c, d):
    a = a + b
    d = turned(d ^ a, 16)
    c = c + d
    b = turned(b ^ c, 12)
    a = a + b
    d = turned(d ^ a, 8)
    c = c + d
    b = turned(b ^ c, 7)
    return a, b, c, d


@triton.jit
def kernel(key, counter, out, blocks, size: tl.constexpr):
    place = tl.program_id(0) * size + tl.arange(0, size)
    inside = place < blocks
    number = tl.load(counter) + place.to(tl.int64)
    low, high = (number & 0xFFFFFFFF).to(tl.uint32), (number >> 32).to(tl.uint32)
    nothing = low ^ low
    k0, k1, k2, k3 = (tl.load(key + 0).to(tl.uint32), tl.load(key + 1).to(tl.uint32),
                      tl.load(key + 2).to(tl.uint32), tl.load(key + 3).to(tl.uint32))  # fmt: skip
    k4, k5, k6, k7 = (tl.load(key + 4).to(tl.uint32), tl.load(key + 5).to(tl.uint32),
                      tl.load(key + 6).to(tl.uint32), tl.load(key + 7).to(tl.uint32))  # fmt: skip
    k8, k9, k10, k11 = (tl.load(key + 8).to(tl.uint32), tl.load(key + 9).to(tl.uint32),
                        tl.load(key + 10).to(tl.uint32), tl.load(key + 11).to(tl.uint32))  # fmt: skip
    x0, x1, x2, x3 = nothing + k0, nothing + k1, nothing + k2, nothing + k3
    x4, x5, x6, x7 = nothing + k4, nothing + k5, nothing + k6, nothing + k7
    x8, x9, x10, x11 = nothing + k8, nothing + k9, nothing + k10, nothing + k11
    x12, x13, x14, x15 = low, high, nothing, nothing
    for _ in range(10):
        x0, x4, x8, x12 = quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = quarter(x3, x4, x9, x14)
    tl.store(out + place, (x0 + k0).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + blocks, (x1 + k1).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 2 * blocks, (x2 + k2).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 3 * blocks, (x3 + k3).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 4 * blocks, (x4 + k4).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 5 * blocks, (x5 + k5).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 6 * blocks, (x6 + k6).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 7 * blocks, (x7 + k7).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 8 * blocks, (x8 + k8).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 9 * blocks, (x9 + k9).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 10 * blocks, (x10 + k10).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 11 * blocks, (x11 + k11).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 12 * blocks, (x12 + low).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 13 * blocks, (x13 + high).to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 14 * blocks, x14.to(tl.int32, bitcast=True), mask=inside)
    tl.store(out + place + 15 * blocks, x15.to(tl.int32, bitcast=True), mask=inside)


def chacha_kernel(torch: Any, key: Any, counter: Any, blocks: int) -> Any:
    """As `gpu_step.chacha`."""
    out = torch.empty((16, blocks), dtype=torch.int32, device=key.device)
    kernel[(triton.cdiv(blocks, BLOCK),)](key, counter, out, blocks, BLOCK)
    return out
