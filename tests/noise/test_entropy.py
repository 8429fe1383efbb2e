"""The keystream: the right cipher, never the same word twice, not even in another process."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.racing import race

from privet.core.laws import DiscreteLaplace
from privet.noise import entropy
from privet.noise.entropy import KEY_BYTES, NONCE_BYTES, REKEY_BYTES, Bits, Keystream
from privet.noise.fast import FIRST_POOL, Sampler, sampler


def words(stream: Keystream, count: int) -> list[int]:
    out = np.empty(count, np.uint64)
    stream.fill(out)
    return [int(word) for word in out]


def test_is_aes_256_ctr() -> None:
    """NIST SP 800-38A, F.5.5: plaintext XOR ciphertext of the first two blocks."""
    stream = Keystream()
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    stream._set_key(key + bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"))
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    cipher = bytes.fromhex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5")
    expected = bytes(a ^ b for a, b in zip(plain, cipher, strict=True))
    out = np.empty(4, np.uint64)
    stream.fill(out)
    assert out.tobytes() == expected


def test_the_key_changes_after_64_mib_and_comes_from_the_stream() -> None:
    material = bytes(range(KEY_BYTES + NONCE_BYTES))
    stream, shadow = Keystream(), Keystream()
    stream._set_key(material)
    shadow._set_key(material)
    stream.fill(np.empty(REKEY_BYTES // 8, np.uint64))
    first = stream._cipher
    shadow.fill(np.empty(REKEY_BYTES // 8, np.uint64))
    shadow._set_key(shadow._cipher.update(bytes(KEY_BYTES + NONCE_BYTES)))
    assert words(stream, 3) == words(shadow, 3)
    assert stream._cipher is not first


def test_large_and_empty_requests() -> None:
    stream = Keystream()
    out = np.zeros(3 * len(entropy.ZEROS) // 8 + 5, np.uint64)
    stream.fill(out)
    assert len(np.unique(out)) == len(out)
    stream.fill(np.empty(0, np.uint64))


def test_threads_never_share_a_word() -> None:
    stream, results = Keystream(), []

    def work() -> None:
        results.extend(word for _ in range(200) for word in words(stream, 50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(set(results)) == 80_000


FORK = """
    import os, sys
    import numpy as np
    import privet as pv
    from privet.noise.entropy import KEYSTREAM

    def draw(label):
        words = np.empty(500, np.uint64)
        KEYSTREAM.fill(words)
        large = pv.noise.discrete_laplace(2**40, 100_000)
        small = np.concatenate([pv.noise.discrete_gaussian(2**40, 1) for _ in range(300)])
        np.savez(f"{sys.argv[1]}/{label}.npz", words=words, large=large, small=small)

    pv.noise.discrete_gaussian(2**40, 1)  # fills the pool of small requests before the fork
    children = []
    for label in ("child1", "child2"):
        pid = os.fork()
        if pid == 0:
            draw(label)
            if label == "child1" and os.fork() == 0:
                draw("grandchild")
                os._exit(0)
            os._exit(0) if label == "child2" else (os.wait(), os._exit(0))
        children.append(pid)
    draw("parent")
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_never_share_a_draw(tmp_path: Path) -> None:
    """At scale 2**40 two fresh draws agree with probability below 1e-12, so agreement means shared words."""
    subprocess.run([sys.executable, "-c", textwrap.dedent(FORK), str(tmp_path)], check=True, timeout=120)
    loaded = [np.load(f"{tmp_path}/{who}.npz") for who in ("parent", "child1", "child2", "grandchild")]
    for kind in ("words", "large", "small"):
        for i, one in enumerate(loaded):
            for other in loaded[:i]:
                assert not np.any(one[kind] == other[kind])
                assert kind == "large" or not np.intersect1d(one[kind], other[kind]).size
    everything = np.concatenate([part["words"] for part in loaded])
    assert len(np.unique(everything)) == len(everything)


def test_a_fork_that_python_was_not_told_of_is_noticed() -> None:
    stream = Keystream()
    sampler = Sampler(DiscreteLaplace(Fraction(2**40)), stream)
    pooled = sampler.draw(1)
    left_in_pool = sampler._pool.copy()
    before = stream.epoch
    stream._pid = -1
    assert not np.any(sampler.draw(FIRST_POOL) == left_in_pool[:FIRST_POOL])
    assert stream.epoch == before + 1
    assert pooled.shape == (1,)


def test_a_failed_reseed_is_tried_again_and_never_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python swallows what a fork hook raises. The process id is only taken over after a new key is in place."""
    stream = Keystream()
    monkeypatch.setattr(stream, "_pid", -1)  # as in a child
    cipher = stream._cipher

    def no_entropy(_count: int) -> bytes:
        raise OSError("no entropy")

    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", no_entropy)
        for attempt in (stream._reseed, lambda: stream.epoch, lambda: words(stream, 1)):
            with pytest.raises(OSError, match="no entropy"):
                attempt()
    assert stream._cipher is cipher
    words(stream, 1)
    assert stream._cipher is not cipher


def test_a_child_forked_off_in_the_middle_of_a_draw_starts_over() -> None:
    """A signal handler may fork. Here the process id changes while a batch is being drawn."""
    stream = Keystream()
    sampler = Sampler(DiscreteLaplace(Fraction(2**40)), stream)
    drawn = []

    def draw_and_fork(size: int) -> np.ndarray:
        drawn.append(Sampler._draw(sampler, size))
        if len(drawn) == 1:
            stream._pid = -1
        return drawn[-1]

    sampler._draw = draw_and_fork  # type: ignore[method-assign]
    result = sampler.draw(40)
    assert len(drawn) == 2
    assert np.array_equal(result, drawn[1])
    assert not np.any(np.isin(drawn[0], drawn[1]))


def test_systems_without_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    assert len(set(words(Keystream(), 100))) == 100


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_cannot_be_copied_or_pickled(duplicate: Callable[[object], object]) -> None:
    stream = Keystream()
    pooled = Sampler(DiscreteLaplace(Fraction(2**40)), stream)
    pooled.draw(1)
    bits = Bits(stream)
    bits.take(1)
    for one in (stream, pooled, bits, sampler(DiscreteLaplace(Fraction(2**40)))):
        with pytest.raises(TypeError, match="two copies would draw the same noise"):
            duplicate(one)


def test_bits_left_over_are_thrown_away_after_a_fork() -> None:
    """The other process has them too: 60 bits agree by chance with probability 2**-60."""
    stream = Keystream()
    bits = Bits(stream)
    bits.take(4)
    left = bits._pool
    stream._pid = -1  # as in a child
    assert bits.take(60) != left


def test_bits_in_use_are_left_alone() -> None:
    """As in a thread or a signal handler, or in a child whose parent's thread was taking bits."""
    bits = Bits(Keystream())
    bits.take(4)
    left = bits._pool
    with bits._lock:
        assert bits.take(60) != left
    assert bits.take(60) == left


def test_threads_never_share_a_bit() -> None:
    class Counting:
        epoch = 0
        words = iter(range(10**9))

        def fill(self, out: np.ndarray) -> None:
            out[:] = [next(self.words) for _ in out]

    bits, results = Bits(Counting()), []

    def work() -> None:
        results.extend([bits.take(64) for _ in range(2_000)])

    race(work)
    assert len(results) == len(set(results)) == 16_000


def test_bits_are_the_words_in_order() -> None:
    class Scripted:
        epoch = 0
        words = iter([0x0123456789ABCDEF, 0xFEDCBA9876543210, 5])

        def fill(self, out: np.ndarray) -> None:
            out[:] = [next(self.words) for _ in out]

    bits = Bits(Scripted())
    assert [bits.take(4) for _ in range(3)] == [0, 1, 2]
    assert bits.take(0) == 0
    assert bits.take(64) == 0x3456789ABCDEFFED
    assert bits.take(100) == (0xCBA9876543210 << 48) | 0
    assert bits.take(16) == 5
