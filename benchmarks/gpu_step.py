"""A step of training by noisy gradients in torch, and what must hold before its speed means anything. For gpu.py."""

from __future__ import annotations

import importlib
import os
import sys
import types
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
SIZES = (600, 128, 100)
CLIP, NOISE, RATE = 1.0, 1.0, 1e-3
SLACK = 1 - 2.0**-8  # TF32 rounds both factors of a product by up to 2^-11 each
DEVIATIONS = 8  # more units than that many deviations above the mean have no place: once in 10^15 steps


CONSTANTS = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]  # of ChaCha20


def chacha(torch: Any, key: Any, counter: Any, blocks: int) -> Any:
    """`blocks` blocks of 16 words of ChaCha20, as int32 of shape (16, blocks); `counter` is the number of the first.

    `key` is the four constants and the eight words of a key. The last two words of the nonce are 0."""
    numbers = counter + torch.arange(blocks, device=key.device)
    low = (((numbers & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000).to(torch.int32)
    high = (numbers >> 32).to(torch.int32)
    begin = [one.expand(blocks) for one in key] + [low, high, torch.zeros_like(low), torch.zeros_like(low)]
    a, b, c, d = (torch.stack(begin[4 * row : 4 * row + 4]) for row in range(4))

    def turned(x: Any, by: int) -> Any:
        return (x << by) | ((x >> (32 - by)) & ((1 << by) - 1))

    def quarters(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, ...]:
        for first, second in ((16, 12), (8, 7)):
            a = a + b
            d = turned(d ^ a, first)
            c = c + d
            b = turned(b ^ c, second)
        return a, b, c, d

    for _ in range(10):
        a, b, c, d = quarters(a, b, c, d)
        b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)
        a, b, c, d = quarters(a, b, c, d)
        b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
    return torch.cat([a, b, c, d]) + torch.stack(begin)


class Stream:
    """Words that nobody has seen: ChaCha20 under a fresh key, or torch's generator."""

    def __init__(self, torch: Any, device: str, cipher: bool) -> None:
        self.torch, self.device, self.cipher = torch, device, cipher
        self.key = torch.tensor([*CONSTANTS, *np.frombuffer(os.urandom(32), np.int32).tolist()], dtype=torch.int32)
        self.key = self.key.to(device)
        self.counter = torch.zeros((), dtype=torch.int64, device=device)
        self.blocks = chacha
        if device != "cpu" and cipher:
            try:
                from gpu_words import chacha_kernel  # noqa: PLC0415

                self.blocks = chacha_kernel
            except ImportError:  # no Triton
                pass

    def words(self, size: int) -> Any:
        """`size` uniform int32, a multiple of 16."""
        if not self.cipher:
            return self.torch.randint(-(2**31), 2**31, (size,), dtype=self.torch.int32, device=self.device)
        found = self.blocks(self.torch, self.key, self.counter, size // 16)
        self.counter += size // 16
        return found.reshape(-1)


def normals(torch: Any, words: Any) -> Any:
    """Half as many standard normal numbers as words, by Box and Muller, with 53 bits."""
    pairs = words.view(torch.int64)
    shares = ((pairs >> 11) & ((1 << 53) - 1)).to(torch.float64) * 2.0**-53
    half = len(shares) // 2
    length, angle = torch.sqrt(-2 * torch.log1p(-shares[:half])), 2 * np.pi * shares[half:]
    return torch.cat([length * torch.cos(angle), length * torch.sin(angle)]).to(torch.float32)


@dataclass
class Task:
    """Rows on the device, and the sizes."""

    torch: Any
    device: str
    rows: Any
    targets: Any
    lengths: Any  # |row|² + 1
    batch: int

    @classmethod
    def of(cls, torch: Any, device: str, units: int, batch: int) -> Task:
        generator = torch.Generator(device).manual_seed(1)
        rows = (torch.rand((units, SIZES[0]), generator=generator, device=device) < 0.3).to(torch.float32)
        teacher = torch.randn((SIZES[0], SIZES[-1]), generator=generator, device=device)
        targets = ((rows - 0.3) @ teacher).argmax(1)
        return cls(torch, device, rows, targets, (rows * rows).sum(1) + 1, batch)

    @property
    def coin(self) -> int:
        return self.batch * (1 << 32) // len(self.rows)

    @property
    def capacity(self) -> int:
        return -(-int(self.batch + DEVIATIONS * self.batch**0.5) // 64) * 64


class Weights:
    """All weights in one vector, its gradient in another, and Adam's moments."""

    def __init__(self, task: Task) -> None:
        torch = task.torch
        shapes = [(one + 1, other) for one, other in pairwise(SIZES)]
        sizes = [one * other for one, other in shapes]
        self.size, self.padded = sum(sizes), -(-sum(sizes) // 64) * 64
        generator = torch.Generator(task.device).manual_seed(2)
        self.flat = torch.randn(self.padded, generator=generator, device=task.device) / 20
        self.first, self.second = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.count = torch.zeros((), device=task.device)
        parts = self.flat[: self.size].split(sizes)
        self.layers = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def gradient(torch: Any, layers: list[Any], batch: tuple[Any, ...], clip: float | None) -> Any:
    """The sum over rows of clipped gradients, one vector. `batch`: rows, |row|² + 1, targets, 1 if it counts."""
    rows, lengths, targets, kept = batch
    values = [rows]
    for place, layer in enumerate(layers):
        out = torch.addmm(layer[-1], values[-1], layer[:-1])
        values.append(out if place == len(layers) - 1 else torch.relu(out))
    classes = torch.arange(SIZES[-1], device=rows.device)
    derivatives = [torch.softmax(values[-1], 1) - (targets[:, None] == classes).to(torch.float32)]
    for place in range(len(layers) - 1, 0, -1):
        derivatives.insert(0, (derivatives[0] @ layers[place][:-1].T) * (values[place] > 0))
    factor = kept
    if clip is not None:
        entered = [lengths, *((value * value).sum(1) + 1 for value in values[1:-1])]
        squares = sum(a * (d * d).sum(1) for a, d in zip(entered, derivatives, strict=True))
        factor = kept * torch.clamp(clip * SLACK / torch.sqrt(squares), max=1.0)
    sums = []
    for value, derivative in zip(values[:-1], derivatives, strict=True):
        lasting = derivative * factor[:, None]
        sums += [(value.T @ lasting).reshape(-1), lasting.sum(0)]
    return torch.cat(sums)


def adam(torch: Any, weights: Weights, gradients: Any) -> None:
    weights.count += 1
    weights.first.mul_(0.9).add_(gradients, alpha=0.1)
    weights.second.mul_(0.99).addcmul_(gradients, gradients, value=0.01)
    mean = weights.first / (1 - 0.9**weights.count)
    weights.flat.sub_(RATE * mean / (torch.sqrt(weights.second / (1 - 0.99**weights.count)) + 1e-12))


def checks(task: Task) -> dict[str, Any]:
    """What must hold before a speed means anything."""
    torch = task.torch
    return {
        "words": same_words(torch, task.device),
        **same_gradients(task),
        **same_sums(task),
        **taken_units(task),
        **moments(task),
    }


def same_words(torch: Any, device: str) -> str:
    """The words of a stream beside ChaCha20 in torch, a published block and, if it is there, `cryptography`."""
    key = torch.tensor([*CONSTANTS, *[0] * 8], dtype=torch.int32, device=device)
    start = torch.zeros((), dtype=torch.int64, device=device)
    published = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"  # RFC 8439, A.1, the first half
    stream = Stream(torch, device, cipher=True)
    stream.counter += 2**32 - 8  # the counter needs its second word soon
    expected = chacha(torch, stream.key, stream.counter, 64)
    found = stream.words(16 * 64).view(16, 64)
    if _bytes(chacha(torch, key, start, 1)).hex()[:64] != published or not torch.equal(found, expected):
        return "WRONG"
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: PLC0415
    except ImportError:
        return "equal; cryptography is not installed"
    beside = b""
    for first, blocks in ((2**32 - 8, 8), (2**32, 56)):
        nonce = first.to_bytes(8, "little") + bytes(8)
        beside += (
            Cipher(algorithms.ChaCha20(_bytes(stream.key[4:]), nonce), None).encryptor().update(bytes(64 * blocks))
        )
    return "equal" if _bytes(found.T) == beside else "WRONG"


def _bytes(words: Any) -> bytes:
    return bytes(words.contiguous().cpu().numpy().tobytes())


def definition() -> Any:
    """`privet.learn.network`. The room's front page needs scikit-learn, which a machine with a GPU may lack."""
    if "privet.learn" not in sys.modules:
        room = types.ModuleType("privet.learn")
        room.__path__ = [str(ROOT / "src" / "privet" / "learn")]
        sys.modules["privet.learn"] = room
    return importlib.import_module("privet.learn.network")


def same_sums(task: Task) -> dict[str, float]:
    """The sums of device="cuda" beside those of NumPy: both in 53 bits."""
    network = definition()
    from privet.learn.cuda import OnDevice  # noqa: PLC0415
    from privet.learn.descent import Units, clipped_sums  # noqa: PLC0415

    rows, targets = (one[:2000].cpu().double().numpy() for one in (task.rows, task.targets))
    layers = [layer.cpu().double().numpy() for layer in Weights(task).layers]
    units, places = Units.of(rows, targets, None), np.arange(0, len(rows), 2)
    recipe: Any = types.SimpleNamespace(clip=CLIP, kind=network.Kind(activation="relu", classes=SIZES[-1]))
    found, exact = (one(layers, units, places, recipe) for one in (OnDevice(task.torch, task.device), clipped_sums))
    away = sum(float(((one - other) ** 2).sum()) for one, other in zip(found, exact, strict=True)) ** 0.5
    return {"estimator_relative_error": away / sum(float((one**2).sum()) for one in exact) ** 0.5}


def same_gradients(task: Task) -> dict[str, float]:
    """Our sum beside `privet.learn.network.clipped_sum` in double precision; the largest norm of one row's share."""
    network = definition()
    torch, weights, size = task.torch, Weights(task), min(512, len(task.rows))
    rows, targets, lengths = task.rows[:size], task.targets[:size], task.lengths[:size]
    ones = torch.ones(size, device=task.device)
    found = gradient(torch, weights.layers, (rows, lengths, targets, ones), CLIP).cpu().double().numpy()
    layers = [layer.cpu().double().numpy() for layer in weights.layers]
    kind = network.Kind(activation="relu", classes=SIZES[-1])
    taken = network.Taken(rows.cpu().double().numpy(), targets.cpu().numpy(), np.ones(size, np.int64))
    exact = network.clipped_sum(layers, taken, CLIP * SLACK, kind)
    expected = np.concatenate([one.reshape(-1) for one in exact])
    shares = []
    for one in range(64):
        alone = tuple(part[one : one + 1] for part in (rows, lengths, targets, ones))
        shares.append(float(torch.linalg.norm(gradient(torch, weights.layers, alone, CLIP).double())))
    away = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return {"gradient_relative_error": away, "largest_share_of_a_row": max(shares)}


def taken_units(task: Task) -> dict[str, float]:
    """Units taken in some steps, in deviations from the mean of all of them, and the largest number in one step."""
    torch, units = task.torch, len(task.rows)
    stream, coins = Stream(torch, task.device, cipher=True), -(-len(task.rows) // 16) * 16
    counts = [
        int((stream.words(coins)[:units] < task.coin - (1 << 31)).sum()) for _ in range(32 if units > 10_000 else 8)
    ]
    rate = task.coin / (1 << 32)
    deviation = (rate * (1 - rate) * units * len(counts)) ** 0.5
    return {"taken_deviations": (sum(counts) - rate * units * len(counts)) / deviation, "capacity": task.capacity}


def moments(task: Task) -> dict[str, float]:
    """Mean and variance of a million normal numbers, in deviations from 0 and 1."""
    found = normals(task.torch, Stream(task.torch, task.device, cipher=True).words(1 << 21)).double()
    size = len(found) ** 0.5
    return {"normal_mean": float(found.mean()) * size, "normal_variance": (float(found.var()) - 1) * size / 2**0.5}
