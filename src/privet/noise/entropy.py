"""TRUSTED: uniform 64-bit words from an AES-256-CTR keystream that the operating system seeds."""

from __future__ import annotations

import os
import threading
from typing import NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from privet.core.claim import claim
from privet.typing import Words

KEY_BYTES, NONCE_BYTES = 32, 16
REKEY_BYTES = 1 << 26  # a stolen key tells nothing of what came before the last change of key


class Source(Protocol):
    """Where words come from. `epoch` changes when words handed out before must not be used again."""

    @property
    def epoch(self) -> int: ...
    def fill(self, out: Words) -> None: ...


@claim("keystream")
class Keystream:
    """Uniform words. Safe across threads, and across forks: a child never repeats its parent's words."""

    def __init__(self) -> None:
        self._epoch = 0
        self._pid = -1
        self._reseed()
        os_fork_hook = getattr(os, "register_at_fork", None)  # absent on Windows, which does not fork
        if os_fork_hook is not None:
            os_fork_hook(after_in_child=self._reseed)

    @property
    def epoch(self) -> int:
        if os.getpid() != self._pid:  # a fork that Python was not told of
            self._reseed()
        return self._epoch

    def fill(self, out: Words) -> None:
        """Overwrite `out` with words that nobody has seen."""
        _ = self.epoch
        view = out.view(np.uint8).data
        with self._lock:
            for start in range(0, len(view), len(ZEROS)):
                self._encrypt(view[start : start + len(ZEROS)])

    def _encrypt(self, part: memoryview) -> None:
        if self._left < len(part):
            self._set_key(self._cipher.update(bytes(KEY_BYTES + NONCE_BYTES)))
        self._left -= len(part)
        self._cipher.update_into(ZEROS[: len(part)], part)

    def _reseed(self) -> None:
        """Take a new key. The process id comes last: if anything fails before it, the next use tries again."""
        material = os.urandom(KEY_BYTES + NONCE_BYTES)
        self._lock = threading.RLock()  # the parent's lock may be held by a thread that the child lacks
        self._set_key(material)
        self._epoch += 1
        self._pid = os.getpid()

    def _set_key(self, material: bytes) -> None:
        key, nonce = material[:KEY_BYTES], material[KEY_BYTES:]
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        self._left = REKEY_BYTES

    def __reduce__(self) -> NoReturn:
        raise TypeError("a keystream cannot be copied or pickled: two copies would draw the same noise")


ZEROS = memoryview(bytes(1 << 17))
KEYSTREAM = Keystream()


class Bits:
    """Uniform integers of any width, from a source of words. No bit is handed out twice, whoever asks."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._word = np.empty(1, np.uint64)
        self._pool = 0
        self._left = 0
        self._epoch = source.epoch

    def take(self, count: int) -> int:
        """A uniform integer below 2**count."""
        # A thread, a signal handler or a forked child that finds the bits in use takes new words: never waits.
        if not self._lock.acquire(blocking=False):
            return Bits(self._source).take(count)
        try:
            return self._take(count)
        finally:
            self._lock.release()

    def _take(self, count: int) -> int:
        if self._epoch != self._source.epoch:  # forked: the other process has the same bits
            self._pool, self._left, self._epoch = 0, 0, self._source.epoch
        while self._left < count:
            self._source.fill(self._word)
            self._pool = self._pool << 64 | int(self._word[0])
            self._left += 64
        self._left -= count
        bits, self._pool = self._pool >> self._left, self._pool & ((1 << self._left) - 1)
        return bits

    def __reduce__(self) -> NoReturn:
        raise TypeError("bits cannot be copied or pickled: two copies would draw the same noise")
