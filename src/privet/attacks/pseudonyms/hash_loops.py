"""Hashes of generated ids, compiled. Importing this file imports numba, so `hash_search` does it late.

A sweep spells ids one after the other into one block, hashes the block and looks the first 64 bits up. Only short
messages, of one block, are hashed here; what is found is hashed again by `hashlib` before anybody believes it.
Constants are computed as their standards define them (RFC 1321; FIPS 180-4 and 202; RFC 7693).
"""

from __future__ import annotations

from math import isqrt, sin
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.machine_code import compiled
from privet.typing import Integers

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.uint64]

MD5, SHA1, SHA256, SHA512, CRC32, SHA3 = range(6)
BLOCK = 144  # bytes, of the widest block
LOW32 = 0xFFFFFFFF


def _cube_root(number: int) -> int:
    root = 1 << (-(-number.bit_length() // 3))
    while root**3 > number:
        root = (2 * root + number // root**2) // 3
    return root


PRIMES = [n for n in range(2, 410) if all(n % d for d in range(2, n))]
MD5_K = np.array([int(abs(sin(i + 1)) * 2**32) for i in range(64)], np.uint32)
MD5_TURNS = np.array([(7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21)], np.uint32)
SHA512_K = np.array([_cube_root(p << 192) & (2**64 - 1) for p in PRIMES], np.uint64)
SHA256_K = (SHA512_K[:64] >> np.uint64(32)).astype(np.uint32)
ROOTS = [isqrt(p << 128) & (2**64 - 1) for p in PRIMES[:16]]
SHA1_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
STARTS = {
    "md5": SHA1_START[:4], "sha1": SHA1_START, "sha256": [root >> 32 for root in ROOTS[:8]],
    "sha224": [root & LOW32 for root in ROOTS[8:]], "sha512": ROOTS[:8], "sha384": ROOTS[8:],
}  # fmt: skip


def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)  # noqa: PLW2901
        table.append(number)
    return table


def _keccak() -> tuple[list[int], list[int]]:
    """The round constants, from the linear feedback register of FIPS 202, and how far the lanes are turned."""
    bit, constants = 1, []
    for _ in range(24):
        constant = 0
        for place in range(7):
            constant |= (bit & 1) << (2**place - 1)
            bit = bit << 1 ^ (0x171 if bit & 0x80 else 0)
        constants.append(constant)
    turns, x, y = [0] * 25, 1, 0
    for step in range(24):
        turns[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return constants, turns


CRC_TABLE = np.array(_crc_table(), np.uint32)
KECCAK_K, KECCAK_TURNS = (np.array(numbers, np.uint64) for numbers in _keccak())


@compiled
def left(word: Any, by: Any) -> Any:
    """32 bits turned to the left, by 1 to 31."""
    return np.uint32(np.uint32(word << np.uint32(by)) | np.uint32(word >> np.uint32(np.uint32(32) - np.uint32(by))))


@compiled
def right64(word: Any, by: Any) -> Any:
    """64 bits turned to the right, by 1 to 63."""
    return np.uint64(word >> np.uint64(by)) | np.uint64(word << np.uint64(np.uint64(64) - np.uint64(by)))


@compiled
def swapped(word: Any) -> Any:
    """The four bytes of a word in the other order."""
    once = np.uint32(left(word, 8) & np.uint32(0x00FF00FF))
    return np.uint32(once | np.uint32(left(word, 24) & np.uint32(0xFF00FF00)))


@compiled
def md5(state: Longs, words: Words) -> None:
    """Four parts of 16 steps; a loop for each is twice as fast as one with four cases."""
    a, b, c, d = np.uint32(state[0]), np.uint32(state[1]), np.uint32(state[2]), np.uint32(state[3])
    for i in range(16):
        total = np.uint32(a + np.uint32((b & c) | (~b & d)) + MD5_K[i] + words[i])
        a, d, c, b = d, c, b, np.uint32(b + left(total, MD5_TURNS[0, i & 3]))
    for i in range(16):
        total = np.uint32(a + np.uint32((d & b) | (~d & c)) + MD5_K[16 + i] + words[(5 * i + 1) & 15])
        a, d, c, b = d, c, b, np.uint32(b + left(total, MD5_TURNS[1, i & 3]))
    for i in range(16):
        total = np.uint32(a + np.uint32(b ^ c ^ d) + MD5_K[32 + i] + words[(3 * i + 5) & 15])
        a, d, c, b = d, c, b, np.uint32(b + left(total, MD5_TURNS[2, i & 3]))
    for i in range(16):
        total = np.uint32(a + np.uint32(c ^ (b | ~d)) + MD5_K[48 + i] + words[(7 * i) & 15])
        a, d, c, b = d, c, b, np.uint32(b + left(total, MD5_TURNS[3, i & 3]))
    for place, number in enumerate((a, b, c, d)):
        state[place] = np.uint32(np.uint32(state[place]) + number)


@compiled
def sha1(state: Longs, words: Words, room: Words) -> None:
    for i in range(16):
        room[i] = words[i]
    for i in range(16, 80):
        room[i] = left(np.uint32(room[i - 3] ^ room[i - 8] ^ room[i - 14] ^ room[i - 16]), 1)
    a, b, c = np.uint32(state[0]), np.uint32(state[1]), np.uint32(state[2])
    d, e = np.uint32(state[3]), np.uint32(state[4])
    for i in range(80):
        if i < 20:
            mixed, constant = np.uint32((b & c) | (~b & d)), np.uint32(0x5A827999)
        elif i < 40:
            mixed, constant = np.uint32(b ^ c ^ d), np.uint32(0x6ED9EBA1)
        elif i < 60:
            mixed, constant = np.uint32((b & c) | (b & d) | (c & d)), np.uint32(0x8F1BBCDC)
        else:
            mixed, constant = np.uint32(b ^ c ^ d), np.uint32(0xCA62C1D6)
        total = np.uint32(left(a, 5) + mixed + e + constant + room[i])
        e, d, c, b, a = d, c, left(b, 30), a, total
    for place, number in enumerate((a, b, c, d, e)):
        state[place] = np.uint32(np.uint32(state[place]) + number)


@compiled
def sha256(state: Longs, words: Words, room: Words) -> None:
    for i in range(16):
        room[i] = words[i]
    for i in range(16, 64):
        one, two = room[i - 15], room[i - 2]
        one = np.uint32(left(one, 25) ^ left(one, 14) ^ (one >> np.uint32(3)))
        two = np.uint32(left(two, 15) ^ left(two, 13) ^ (two >> np.uint32(10)))
        room[i] = np.uint32(room[i - 16] + one + room[i - 7] + two)
    a, b, c, d = np.uint32(state[0]), np.uint32(state[1]), np.uint32(state[2]), np.uint32(state[3])
    e, f, g, h = np.uint32(state[4]), np.uint32(state[5]), np.uint32(state[6]), np.uint32(state[7])
    for i in range(64):
        turned = np.uint32(left(e, 26) ^ left(e, 21) ^ left(e, 7))
        first = np.uint32(h + turned + np.uint32((e & f) ^ (~e & g)) + SHA256_K[i] + room[i])
        turned = np.uint32(left(a, 30) ^ left(a, 19) ^ left(a, 10))
        second = np.uint32(turned + np.uint32((a & b) ^ (a & c) ^ (b & c)))
        h, g, f, e = g, f, e, np.uint32(d + first)
        d, c, b, a = c, b, a, np.uint32(first + second)
    for place, number in enumerate((a, b, c, d, e, f, g, h)):
        state[place] = np.uint32(np.uint32(state[place]) + number)


@compiled
def sha512(state: Longs, longs: Longs, room: Longs) -> None:
    for i in range(16):
        room[i] = longs[i]
    for i in range(16, 80):
        one, two = room[i - 15], room[i - 2]
        one = right64(one, 1) ^ right64(one, 8) ^ (one >> np.uint64(7))
        two = right64(two, 19) ^ right64(two, 61) ^ (two >> np.uint64(6))
        room[i] = room[i - 16] + one + room[i - 7] + two
    a, b, c, d, e, f, g, h = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    for i in range(80):
        turned = right64(e, 14) ^ right64(e, 18) ^ right64(e, 41)
        first = h + turned + ((e & f) ^ (~e & g)) + SHA512_K[i] + room[i]
        turned = right64(a, 28) ^ right64(a, 34) ^ right64(a, 39)
        second = turned + ((a & b) ^ (a & c) ^ (b & c))
        h, g, f, e, d, c, b, a = g, f, e, d + first, c, b, a, first + second
    for place, number in enumerate((a, b, c, d, e, f, g, h)):
        state[place] += number


@compiled
def keccak(lanes: Longs, room: Longs) -> None:
    """24 rounds over 25 lanes; room for 25 lanes and 5 columns."""
    for number in range(24):
        for x in range(5):
            room[25 + x] = lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]
        for x in range(5):
            parity = room[25 + (x + 4) % 5] ^ right64(room[25 + (x + 1) % 5], 63)
            for y in range(5):
                lane, by = lanes[x + 5 * y] ^ parity, KECCAK_TURNS[x + 5 * y]
                room[y + 5 * ((2 * x + 3 * y) % 5)] = right64(lane, np.uint64(64) - by) if by else lane
        for y in range(0, 25, 5):
            for x in range(5):
                lanes[y + x] = room[y + x] ^ (~room[y + (x + 1) % 5] & room[y + (x + 2) % 5])
        lanes[0] ^= KECCAK_K[number]


@compiled
def crc32(block: Bytes, end: int) -> Any:
    total = np.uint32(0xFFFFFFFF)
    for place in range(end):
        low = np.uint32(total ^ np.uint32(block[place])) & np.uint32(0xFF)
        total = np.uint32(CRC_TABLE[low] ^ (total >> np.uint32(8)))
    return np.uint32(~total)


@compiled
def compress(algorithm: int, state: Longs, block: Bytes, room: Longs) -> None:
    """One block into the state, of the hashes that are made like this."""
    if algorithm == MD5:
        md5(state, block.view(np.uint32))
    elif algorithm == SHA1:
        sha1(state, block.view(np.uint32), room.view(np.uint32))
    elif algorithm == SHA256:
        sha256(state, block.view(np.uint32), room.view(np.uint32))
    else:
        sha512(state, block.view(np.uint64), room)


@compiled
def close(algorithm: int, block: Bytes, old: int, end: int, before: int) -> None:
    """Behind a message of `end` bytes: a one bit, zeros where an older one was, and how many bits there are, with so
    many `before` this block."""
    swap = 0 if algorithm in (MD5, CRC32, SHA3) else 7 if algorithm == SHA512 else 3
    for place in range(end, old + 1):
        block[place ^ swap] = 0
    if algorithm == SHA3:
        block[end] = 0x06
    elif algorithm != CRC32:
        block[end ^ swap] = 0x80
        bits = np.uint64(8 * (end + before))
        if algorithm == SHA512:
            block.view(np.uint64)[15] = bits
        else:
            block.view(np.uint32)[14 if algorithm == MD5 else 15] = np.uint32(bits)


@compiled
def leading(algorithm: int, state: Longs) -> Any:
    """The first 64 bits of the digest."""
    if algorithm == SHA512:
        return state[0]
    one, two = np.uint32(state[0]), np.uint32(state[1])
    if algorithm == MD5:
        one, two = swapped(one), swapped(two)
    return (np.uint64(one) << np.uint64(32)) | np.uint64(two)


@compiled
def absorbed(block: Bytes, rate: int, room: Longs) -> Any:
    """The first 64 bits of SHA-3 of one block."""
    lanes, longs = np.zeros(25, np.uint64), block.view(np.uint64)
    for place in range(rate // 8):
        lanes[place] = longs[place]
    lanes[rate // 8 - 1] ^= np.uint64(1) << np.uint64(63)
    keccak(lanes, room)
    low, high = np.uint32(lanes[0] & np.uint64(LOW32)), np.uint32(lanes[0] >> np.uint64(32))
    return (np.uint64(swapped(low)) << np.uint64(32)) | np.uint64(swapped(high))


@compiled
def hashed(how: Any, block: Bytes, end: int, rooms: Any) -> Any:
    """The first 64 bits of the digest of the message in the block. With `outer`, that of a keyed HMAC."""
    algorithm, inner, outer, words, rate = how
    state, room, second = rooms
    if algorithm == CRC32:
        return np.uint64(crc32(block, end)) << np.uint64(32)
    if algorithm == SHA3:
        return absorbed(block, rate, room)
    state[:] = inner
    current = block
    for turn in range(2 if len(outer) else 1):  # one call of compress: each is compiled once more
        if turn == 1:
            current = second
            size = 8 if algorithm == SHA512 else 4
            for place in range(words):
                if size == 8:
                    second.view(np.uint64)[place] = state[place]
                else:
                    second.view(np.uint32)[place] = np.uint32(state[place])
            close(algorithm, second, size * words, size * words, 16 * size)
            state[:] = outer
        compress(algorithm, state, current, room)
    return leading(algorithm, state)


@compiled
def listed(key: Any, table: Any) -> bool:
    """Whether the bits are wanted: first by a map of bits, which says no to most, then by halving."""
    bitmap, shift, wanted, mask = table
    bits = key & mask
    slot = bits >> shift
    if not (bitmap[slot >> np.uint64(6)] >> (slot & np.uint64(63))) & np.uint64(1):
        return False
    place = np.searchsorted(wanted, bits)
    return bool(place < len(wanted) and wanted[place] == bits)


@compiled
def spell(text: Any, wheel: Any, changed: int, swap: int, block: Bytes) -> int:
    """Write the id from the slot that changed on, then what follows it; say where it ends."""
    letters, starts, firsts, _, after = text
    digits, places = wheel
    end = places[changed]
    for slot in range(changed, len(digits)):
        places[slot] = end
        choice = firsts[slot] + digits[slot]
        for place in range(starts[choice], starts[choice + 1]):
            block[end ^ swap] = letters[place]
            end += 1
    for place in range(len(after)):
        block[end ^ swap] = after[place]
        end += 1
    return int(end)


@compiled
def sweep(how: Any, text: Any, table: Any, start: int, hits: Integers) -> int:
    """The numbers of those of the next len(hits) ids whose hash is wanted, into `hits`; says how many."""
    algorithm, _, outer, _, _ = how
    _, _, firsts, before, _ = text
    swap = 0 if algorithm in (MD5, CRC32, SHA3) else 7 if algorithm == SHA512 else 3
    key_block = 0 if not len(outer) else 128 if algorithm == SHA512 else 64
    block = np.zeros(BLOCK, np.uint8)
    rooms = np.zeros(8, np.uint64), np.zeros(80, np.uint64), np.zeros(BLOCK, np.uint8)
    slots = len(firsts) - 1
    digits, places = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    rest = start
    for slot in range(slots - 1, -1, -1):
        size = firsts[slot + 1] - firsts[slot]
        digits[slot], rest = rest % size, rest // size
    for place in range(len(before)):
        block[place ^ swap] = before[place]
    places[0] = len(before)
    changed, end, found = 0, 0, 0
    for turn in range(len(hits)):
        old, end = end, spell(text, (digits, places), changed, swap, block)
        close(algorithm, block, old, end, key_block)
        if listed(hashed(how, block, end, rooms), table):
            hits[found] = start + turn
            found += 1
        changed = slots - 1
        while changed > 0 and digits[changed] == firsts[changed + 1] - firsts[changed] - 1:
            digits[changed] = 0
            changed -= 1
        digits[changed] += 1
    return found
