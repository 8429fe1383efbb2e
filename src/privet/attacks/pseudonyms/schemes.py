"""How an id may have been hashed: what a column of pseudonyms looks like, and which hashes write such texts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from privet.core.rational import show
from privet.errors import InvalidInputError

Place = Literal["before", "after"]
BITS = {
    "md5": 128, "sha1": 160, "sha256": 256, "sha512": 512, "sha224": 224, "sha384": 384, "sha3_256": 256,
    "sha3_512": 512, "sha3_224": 224, "sha3_384": 384, "blake2b": 512, "blake2s": 256, "blake2b-256": 256,
    "blake2b-160": 160, "blake2b-128": 128, "crc32": 32,
}  # fmt: skip
LONGEST = 1024  # letters of a pseudonym; no hash writes more
SHORTEST = 8  # letters; below that everything collides with everything
RFC2104 = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")  # hashes that HMAC is used with
MOST_OTHERS = 0.1  # of the values may look different
SURE = 60  # letters that are all digits are no hexadecimal numbers: (10/16)^60 < 1e-12
HEX = re.compile(r"(?:0[xX]|\\x)?([0-9a-f]+|[0-9A-F]+)")
BASE64 = re.compile(r"([A-Za-z0-9+/_-]+)(=*)")


@dataclass(frozen=True, slots=True)
class HashReading:
    """How the pseudonyms are written: so many letters of hex or base64."""

    alphabet: Literal["hex", "base64"]
    letters: int

    @property
    def bits(self) -> int:
        """How many leading bits of a digest the letters tell, whole bytes of them for base64."""
        return 4 * self.letters if self.alphabet == "hex" else 8 * (6 * self.letters // 8)

    def normal(self, text: str) -> str | None:
        """A pseudonym as `spelled` writes it; None if it is none of this kind."""
        found = (HEX if self.alphabet == "hex" else BASE64).fullmatch(text.strip())
        if found is None or len(found[1]) != self.letters:
            return None
        return found[1].lower() if self.alphabet == "hex" else found[1].replace("-", "+").replace("_", "/")

    def spelled(self, digest: bytes) -> str:
        text = digest.hex() if self.alphabet == "hex" else base64.b64encode(digest).decode().rstrip("=")
        return text[: self.letters]

    def leading(self, normal: str) -> int:
        """The first 64 bits, filled up with zeros."""
        if self.alphabet == "hex":
            return int(normal[:16].ljust(16, "0"), 16)
        return int.from_bytes(base64.b64decode(normal[:12].ljust(12, "A"))[:8], "big")

    def __str__(self) -> str:
        return f"{self.letters} letters of {self.alphabet}, {self.bits} bits"


def recognized(texts: Sequence[str], name: str = "the column") -> HashReading:
    """How nearly all of these distinct texts are written, or why they are no hashes."""
    if not texts:
        raise InvalidInputError(f"{name} has no values", "name a column with pseudonyms", "missing-value")
    for alphabet, pattern in (("hex", HEX), ("base64", BASE64)):
        cores = [found[1] for text in texts if len(text) <= LONGEST and (found := pattern.fullmatch(text.strip()))]
        lengths = Counter(map(len, cores)).most_common(1)
        if not lengths or lengths[0][1] < (1 - MOST_OTHERS) * len(texts) or lengths[0][0] < SHORTEST:
            continue
        length, number = lengths[0]
        together = "".join(cores[: 1 + SURE])
        if alphabet == "hex" and length * number >= SURE and together.isdecimal():
            raise InvalidInputError(f"{name} holds plain numbers, not hashes", "name a column of hashes", "not-hashes")
        if alphabet == "hex":
            return HashReading("hex", length)
        if 8 * (6 * length // 8) in BITS.values() and re.search("[A-Z].*[a-z]|[a-z].*[A-Z]", together):
            return HashReading("base64", length)
    raise InvalidInputError(
        f"{name} does not look like hashes: they are hexadecimal or base64 texts of one length, {SHORTEST} or more",
        f"name a column of hashes such as {', '.join(list(BITS)[:3])}",
        "not-hashes",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One way to hash an id. With a `key` it is HMAC, and there is no salt."""

    algorithm: str
    salt: bytes = b""
    place: Place = "before"
    key: bytes | None = None

    @property
    def around(self) -> tuple[bytes, bytes]:
        """What stands before and after the id."""
        return (self.salt, b"") if self.place == "before" else (b"", self.salt)

    def digest(self, text: bytes) -> bytes:
        if self.key is not None:
            return hmac.digest(self.key, text, self.algorithm)
        before, after = self.around
        return plain_digest(self.algorithm, before + text + after)

    def __str__(self) -> str:
        cut = f"HMAC of {self.algorithm} with the key given" if self.key is not None else self.algorithm
        return cut + (f" with a salt {self.place} the id" if self.salt else "")


def plain_digest(algorithm: str, text: bytes) -> bytes:
    if algorithm == "crc32":
        return zlib.crc32(text).to_bytes(4, "big")
    name, _, bits = algorithm.partition("-")
    if bits:
        return hashlib.blake2b(text, digest_size=int(bits) // 8).digest()
    return hashlib.new(name, text, usedforsecurity=False).digest()


def algorithms(reading: HashReading, declared: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Hashes of this length first; apart from them rare ones, and longer ones that may have been cut."""
    if declared is not None:
        name = declared.lower().replace("sha-", "sha")
        if name not in BITS:
            raise InvalidInputError(
                f"there is no hash {show(declared)} here", f"use one of {', '.join(BITS)}", "unknown-choice"
            )
        if BITS[name] < reading.bits:
            raise InvalidInputError(
                f"{name} has {BITS[name]} bits, and the pseudonyms have {reading.bits}",
                "declare a longer hash",
                "contradiction",
            )
        return ((name,),)
    likely = tuple(name for name, bits in BITS.items() if bits == reading.bits and not name.startswith("blake2"))
    others = tuple(name for name, bits in BITS.items() if bits >= reading.bits and name not in likely)
    return tuple(filter(None, (likely, others)))


def schemes(names: Sequence[str], salt: bytes | None, key: bytes | None) -> Iterator[Scheme]:
    """Ways to hash. A salt that is known stands before or after the id."""
    for name in names:
        if key is not None:
            if name in RFC2104:
                yield Scheme(algorithm=name, key=key)
        elif salt:
            yield from salted((name,), (salt,))
        else:
            yield Scheme(algorithm=name)


def salted(names: Sequence[str], salts: Iterable[bytes]) -> Iterator[Scheme]:
    for salt in salts:
        for name in names:
            plain = Scheme(algorithm=name, salt=salt)
            yield from (plain, replace(plain, place="after"))


def by_chance(hits: int, tried: int, pseudonyms: int, bits: int) -> float:
    """A bound on the chance that ids which have nothing to do with the pseudonyms give so many hits.

    With a hash that spreads evenly every one of the tried × pseudonyms pairs agrees with chance 2^-bits. The expected
    number of sets of h pairs that all agree is at most (tried × pseudonyms)^h / h! × 2^(-bits h), since the hashes of
    distinct ids are independent, and at least h hits need one such set.
    """
    if not hits:
        return 1.0
    log = hits * (math.log(max(tried, 1)) + math.log(max(pseudonyms, 1)) - bits * math.log(2)) - math.lgamma(hits + 1)
    return math.exp(min(log, 0.0))
