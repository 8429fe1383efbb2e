"""Reversal of pseudonyms: the compiled hashes are hashlib's, formats list what they say, and who is found was there."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import sys
import zlib
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import run_plain
from support.refusals import raises_code

from privet.attacks.finding import Strength
from privet.attacks.pseudonyms import hash_loops, hash_search
from privet.attacks.pseudonyms.formats import LADDER, NAMED, Format, formats_of, space
from privet.attacks.pseudonyms.hash_search import Sweep, Targets
from privet.attacks.pseudonyms.reversal import attack_pseudonyms
from privet.attacks.pseudonyms.schemes import BITS, HashReading, Scheme, algorithms, by_chance, recognized
from privet.attacks.pseudonyms.search_plan import duration
from privet.attacks.pseudonyms.words import doubt, explained
from privet.errors import InvalidInputError

COMPILED = [name for name in BITS if not name.startswith("blake2")]
HMACS = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]


def naive(name: str, text: bytes) -> bytes:
    """By the standard library, written apart from the code under test."""
    if name == "crc32":
        return zlib.crc32(text).to_bytes(4, "big")
    if "-" in name:
        return hashlib.blake2b(text, digest_size=int(name.split("-")[1]) // 8).digest()
    return hashlib.new(name, text).digest()


def swept(ids: list[bytes], scheme: Scheme, wanted: list[bytes], *, compiled: bool = True) -> list[bytes]:
    """Which of the ids the sweep finds behind the hashes of those wanted; all hashed by the library here."""
    before, after = scheme.around
    digests = [
        hmac.digest(scheme.key, one, scheme.algorithm) if scheme.key is not None
        else naive(scheme.algorithm, before + one + after) for one in wanted
    ]  # fmt: skip
    reading = HashReading("hex", 2 * len(digests[0]))
    sweep = Sweep.of(Format("list", (tuple(ids),)), scheme, Targets.of(reading, [d.hex() for d in digests]))
    assert (sweep.compiled is not None) == compiled
    return [one for _, one in sweep.swept(0, len(ids))]


# Hashes


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_hashes_are_those_of_the_library_for_every_length(name: str) -> None:
    most = {"sha384": 111, "sha512": 111, "crc32": 143}.get(name, hash_search.RATES.get(name, 56) - 1)
    random = Random(1)
    ids = [random.randbytes(size) for size in [*range(1, most + 1), *range(most, 0, -1)]]  # shorter after longer, too
    assert swept(ids, Scheme(algorithm=name), ids) == ids
    assert swept(ids, Scheme(algorithm=name), ids[::3]) == ids[::3]
    long = [random.randbytes(most + 1)]
    assert swept(long, Scheme(algorithm=name), long, compiled=False) == long


@pytest.mark.parametrize("name", HMACS)
@pytest.mark.parametrize("size", [1, 63, 64, 65, 128, 129, 300])
def test_hmac_with_a_known_key(name: str, size: int) -> None:
    random = Random(size)
    ids = [random.randbytes(1 + place % 55) for place in range(60)]
    assert swept(ids, Scheme(algorithm=name, key=random.randbytes(size)), ids) == ids


@settings(max_examples=60)
@given(st.data())
def test_salts_before_and_after(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(COMPILED))
    salt = data.draw(st.binary(min_size=1, max_size=20))
    ids = data.draw(st.lists(st.binary(min_size=1, max_size=30), min_size=1, unique=True))
    place = data.draw(st.sampled_from(["before", "after"]))
    assert swept(ids, Scheme(algorithm=name, salt=salt, place=place), ids) == ids


PLAIN = """
import warnings; warnings.simplefilter("ignore")
import test_pseudonyms_attacked as t
from privet.attacks.pseudonyms.schemes import Scheme
ids = [b"7", b"ab", b"0" * 40]
for name in t.COMPILED:
    assert t.swept(ids, Scheme(algorithm=name), ids[1:]) == ids[1:], name
for name in t.HMACS[-2:]:
    assert t.swept(ids, Scheme(algorithm=name, key=b"key"), ids) == ids
for place in ("before", "after"):
    assert t.swept(ids, Scheme(algorithm="sha1", salt=b"12", place=place), ids) == ids
assert t.swept(ids, Scheme(algorithm="sha1", key=b"key"), ids) == ids
fmt, = t.formats_of("9A")
sweep = t.Sweep.of(fmt, Scheme(algorithm="md5"), t.Targets.of(t.HashReading("hex", 32), ["0" * 32]))
assert sweep.swept(0, 260) == []
"""


def test_the_loops_without_a_compiler_do_the_same() -> None:
    run_plain(PLAIN, Path(__file__).parent)


def test_without_numba_or_with_bytes_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    assert hash_search.loops() is None
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "privet.attacks.pseudonyms.hash_loops", None)
    monkeypatch.delattr("privet.attacks.pseudonyms.hash_loops")
    assert hash_search.loops() is None
    made = [naive("md5", b"0427").hex()]
    assert attack_pseudonyms(made, formats="9999").ids == {made[0]: "0427"}


# Formats


@pytest.mark.parametrize(
    ("text", "size", "first", "last"),
    [
        ("9A99", 26_000, "0A00", "9Z99"),
        ("[5-9]9{2}", 500, "500", "999"),
        (r"\9\A[a-c_]-h", 64, "9Aa-0", "9A_-f"),
        ("X", 26, "A", "Z"),
        ("[é\\]]a", 52, "éa", "]z"),
        ("date:DD.MM.YYYY:2024-2024", 366, "01.01.2024", "31.12.2024"),
        ("date", 47_482, "1900-01-01", "2029-12-31"),
    ],
)
def test_formats(text: str, size: int, first: str, last: str) -> None:
    (found,) = formats_of(text)
    assert (found.size, found.id(0).decode(), found.id(size - 1).decode()) == (size, first, last)
    assert found.longest == len(last.encode()) or text.startswith("[é")


def test_a_format_lists_every_id_once() -> None:
    (found,) = formats_of("[ab]9[x-z]")
    listed = [one.decode() for one in found.ids(0, 10**6)]
    assert listed == ["".join(one) for one in itertools.product("ab", "0123456789", "xyz")]


def test_named_formats_and_lists(tmp_path: Path) -> None:
    assert space(formats_of("taxi-medallion")) == 18_278_000
    assert space(formats_of("taxi-license")) == 100_000 * 11
    assert len(formats_of(["9", "9|99"])) == 2
    assert all(formats_of(name) for name in NAMED)
    assert len(formats_of(None)) > len(LADDER)  # some are several
    (tmp_path / "mails.txt").write_text("ada@x.org\n\nbo@x.org\nada@x.org\n")
    (found,) = formats_of(f"@{tmp_path / 'mails.txt'}")
    assert found.slots == ((b"ada@x.org", b"bo@x.org"),)
    assert len(formats_of("[|]9|9")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "9{",
        "[9-0]",
        "9{99}",
        "@nowhere.txt",
        "date:YY",
        "date:YYYYMMDD:20-30",
        "date:YYYYMMDD:2030-2020",
        "a}",
    ],
)
def test_formats_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InvalidInputError):
        formats_of(text)


def test_empty_lists(tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("\n")
    with raises_code(InvalidInputError, "empty: empty"):
        formats_of(f"@{tmp_path / 'none.txt'}")
    with raises_code(InvalidInputError, "empty: format"):
        formats_of([])


# Recognizing hashes


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("upper", [False, True])
def test_hex_is_recognized(name: str, upper: bool) -> None:
    texts = [naive(name, str(one).encode()).hex() for one in range(50)]
    texts = [text.upper() for text in texts] if upper else texts
    reading = recognized(texts)
    assert reading.bits == BITS[name]
    assert name in {one for some in algorithms(reading) for one in some}
    assert reading.normal(texts[0]) == texts[0].lower()


def test_base64_and_cut_texts_are_recognized_and_reversed() -> None:
    import base64  # noqa: PLC0415

    ids = [f"{one:04}" for one in range(0, 3000, 50)]
    texts = [base64.urlsafe_b64encode(hashlib.sha1(one.encode()).digest()).decode() for one in ids]
    found = attack_pseudonyms(texts, formats="9999")
    assert sorted(found.ids.values()) == ids
    assert str(found.scheme) == "sha1"
    cut = [hashlib.sha256(one.encode()).hexdigest()[:11].upper() for one in ids]
    found = attack_pseudonyms([f"0x{text}" for text in cut], formats="9999")
    assert sorted(found.ids.values()) == ids
    assert str(found.scheme) == "sha256"


@pytest.mark.parametrize(
    "texts",
    [[], ["12345678"] * 1 + [str(one) for one in range(10_000_000, 10_000_020)], ["Ada", "Bo"], ["x" * 2000],
     ["abcdefg"], ["anna-lena-und-der-hund"] * 3, ["ab", "abcdef0123"]],
)  # fmt: skip
def test_what_is_no_hash(texts: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        recognized(texts)


def test_a_hash_that_is_declared() -> None:
    reading = HashReading("hex", 32)
    assert algorithms(reading, "SHA-256") == (("sha256",),)
    for wrong in ("sha77", "crc32"):
        with pytest.raises(InvalidInputError):
            algorithms(reading, wrong)


def test_hits_by_chance_are_bounded() -> None:
    """Against the exact chance, where every set of hashes can be counted: 3 ids, 2 pseudonyms of 2 bits."""
    for hits in range(4):
        worlds = list(itertools.product(range(4), repeat=3))
        share = sum(sum(one in (0, 1) for one in world) >= hits for world in worlds) / len(worlds)
        assert share <= by_chance(hits, 3, 2, 2) + 1e-12
    assert by_chance(1, 18_000_000, 100, 128) < 1e-20
    assert by_chance(0, 5, 5, 5) == 1.0


# The whole attack


def test_everybody_is_found_with_a_forecast_first_and_progress() -> None:
    random = Random(4)
    ids = [f"{random.randrange(10**5):05}" for _ in range(300)]
    heard: list[str] = []
    found = attack_pseudonyms(
        pd.DataFrame({"id": [hashlib.md5(one.encode()).hexdigest() for one in ids]}), "id", formats="99999",
        forecast=lambda ahead: heard.append(f"forecast {ahead}"), progress=lambda what, *_: heard.append(what),
    )  # fmt: skip
    assert heard[0].startswith("forecast")
    assert "100,000 ids in the format 99999, hashed as md5" in heard[0]
    assert heard[1].startswith("hashing 99999")
    assert {hashlib.md5(one.encode()).hexdigest(): one for one in ids} == found.ids
    numbers = found.to_json()
    assert (numbers["verdict"], numbers["reversed"], numbers["control"]["hits"]) == ("reversible", len(found.ids), 0)
    assert found.findings.proven == len(found.ids)
    assert all(finding.strength is Strength.PROOF for finding in found.findings.findings)
    assert "are reversed" in str(found)
    assert found.to_pandas().shape == (len(found.ids), 2)
    assert "privet" in found._repr_html_()


def test_a_salt_a_key_and_short_salts_to_try(tmp_path: Path) -> None:
    ids = [f"{one:03}" for one in range(0, 900, 9)]
    for salt in ("pepper", b"pepper"):
        after = [hashlib.sha1(f"{one}pepper".encode()).hexdigest() for one in ids]
        assert sorted(attack_pseudonyms(after, formats="999", salt=salt).ids.values()) == ids
    keyed = [hmac.digest(b"k", one.encode(), "sha256").hex() for one in ids]
    assert sorted(attack_pseudonyms(keyed, formats="999", key=b"k").ids.values()) == ids
    assert attack_pseudonyms(keyed, formats="999").verdict == "not reversed"
    short = [hashlib.md5(f"42{one}".encode()).hexdigest() for one in ids]
    found = attack_pseudonyms(short, formats="999", salts="99")
    assert sorted(found.ids.values()) == ids
    assert str(found.scheme) == "md5 with a salt before the id"
    few = attack_pseudonyms([short[0], *(f"{one:032x}" for one in range(20))], formats="999", salts="99")
    assert len(few.ids) == 1  # which of the two readings is right is not known, but one of them is
    path = found.report(tmp_path / "reversal.html")
    assert "md5 with a salt" in path.read_text()


def test_a_secret_key_is_not_reversible_and_what_leaks_is_told() -> None:
    keyed = [hmac.digest(b"secret", str(one % 7).encode(), "sha256").hex() for one in range(50)]
    found = attack_pseudonyms(keyed, secret_bits=256)
    assert found.verdict == "not reversible"
    text = " ".join(str(found).split())
    assert "not reversible without the key" in text
    assert "2^256" in text
    assert "Equal ids stay equal" in text
    assert "Anyone who has the key" in text
    weak = attack_pseudonyms(keyed, secret_bits=40)
    assert weak.verdict == "not reversed"
    assert "within reach" in str(weak)
    with raises_code(InvalidInputError, "not-positive: 0 bits"):
        attack_pseudonyms(keyed, secret_bits=0)


def test_short_hashes_may_have_several_ids_behind_them() -> None:
    random = Random(3)
    ids = sorted({f"{random.randrange(10**6):06}" for _ in range(4000)})
    cut = {hashlib.md5(one.encode()).hexdigest()[:8]: one for one in ids}
    found = attack_pseudonyms(list(cut), formats="999999", algorithm="md5")
    assert found.findings.numbers["ambiguous"] > 0
    assert all(cut[text] == one for text, one in found.ids.items())
    unsure = [finding for finding in found.findings.findings if finding.strength is Strength.CONFIDENCE]
    assert not unsure or unsure[0].confidence <= 0.5


def test_what_is_chance_is_not_claimed() -> None:
    """Random texts of 32 bits: of 10^5 ids some fit one of 2,000, but no scheme is settled."""
    random = Random(5)
    made = [random.randbytes(4).hex() for _ in range(2000)]
    found = attack_pseudonyms(made, formats="99999", algorithm="crc32")
    assert found.ids == {}
    assert found.verdict == "not reversed"


def test_it_stops_when_the_work_is_done() -> None:
    """However fast the machine is."""
    made = [hashlib.sha256(b"9" * 8 + bytes([one])).hexdigest() for one in range(9)]
    found = attack_pseudonyms(made, formats="9{12}", algorithm="sha256", seconds=0.3)
    assert found.to_json()["stopped"]
    assert "The search stopped after 1,310,720 hashes" in str(found)
    half = [hashlib.md5(f"{one:010}".encode()).hexdigest()[:16] for one in range(50)]
    found = attack_pseudonyms(half, formats="9{10}", algorithm="md5", seconds=0.1)
    assert found.findings.proven == 0
    assert found.findings.findings[0].strength is Strength.CONFIDENCE
    assert "probably reversed" in str(found)


def test_missing_and_other_values_are_left_out() -> None:
    made: list[str | None] = [hashlib.md5(str(one).encode()).hexdigest() for one in range(20)]
    found = attack_pseudonyms([*made, None, None, "unknown"], formats=["9", "99"])
    assert len(found.ids) == 20
    assert "1 other values" in str(found)


def test_one_pseudonym_of_one_record() -> None:
    found = attack_pseudonyms([hashlib.md5(b"7").hexdigest()], formats="9")
    assert found.findings.headline == "1 of 1 pseudonym is reversed"


def test_hashes_by_the_library_alone() -> None:
    made = [naive("blake2b-160", b"%03d" % one).hex() for one in range(40)]
    found = attack_pseudonyms(made, formats="999")
    assert str(found.scheme) == "blake2b-160"
    assert len(found.ids) == 40


@pytest.mark.parametrize(
    "options",
    [{"seconds": 0}, {"salt": "a", "key": b"b"}, {"salts": "9{8}"}, {"key": b"a", "algorithm": "sha3_256"},
     {"algorithm": "sha77"}],
)  # fmt: skip
def test_wrong_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        attack_pseudonyms([hashlib.sha256(b"1").hexdigest()], formats="9", **options)  # type: ignore[arg-type]


def test_wrong_data() -> None:
    with raises_code(InvalidInputError, "missing-option"):
        attack_pseudonyms(pd.DataFrame({"id": ["a"]}))
    with raises_code(InvalidInputError, "missing-value"):
        attack_pseudonyms([None, None])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.01, "less than 0.1 s"), (5, "5.0 s"), (130, "2.2 minutes"), (1e4, "2.8 hours"), (1e6, "11.6 days"),
     (1e9, "31.7 years"), (1e30, "3e+22 years")],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_map_of_bits_never_says_no_to_what_is_wanted() -> None:
    random = np.random.default_rng(1)
    for count in (1, 1000, 50_000):
        texts = [bytes(row).hex() for row in random.integers(0, 256, (count, 16), dtype=np.uint8)]
        targets = Targets.of(HashReading("hex", 32), texts)
        table = (targets.bitmap, targets.shift, targets.wanted, targets.mask)
        assert all(hash_loops.listed(np.uint64(int(text[:16], 16)), table) for text in texts[:1000])


def test_a_short_hash_of_ids_that_were_not_tried_is_not_certain() -> None:
    """A tenth of the ids are of the format; for the others an id is found by chance now and then, and it is wrong."""
    ids = [f"{number * 7919 % 10**7:07d}" for number in range(150)]
    others = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(1500)]
    truth = {f"{zlib.crc32(one.encode()):08x}": one for one in ids + others}
    found = attack_pseudonyms(list(truth), formats="9999999", algorithm="crc32")
    wrong = sum(truth[pseudonym] != one for pseudonym, one in found.ids.items())
    assert wrong > 0
    assert found.findings.proven == 0
    assert {finding.strength for finding in found.findings.findings} == {Strength.CONFIDENCE}
    assert "probably" in found.findings.headline
    confident = [finding.confidence or 0.0 for finding in found.findings.findings if "one of" not in finding.claim]
    assert 1 - wrong / len(found.ids) == pytest.approx(confident[0], abs=0.03)
    assert any("short hash" in text for text in found.findings.assumptions)
    whole = attack_pseudonyms([f"{zlib.crc32(one.encode()):08x}" for one in ids], formats="9999999", algorithm="crc32")
    assert whole.findings.proven == len(whole.ids) > 140  # all are explained by the ids that were declared


@pytest.mark.parametrize("by_chance", [0.01, 0.5, 3.0])
def test_the_doubt_is_bayes_rule(by_chance: float) -> None:
    """Against draws: the right id was tried with chance 0.4, and others are there by a Poisson law."""
    draw = np.random.default_rng(1)
    tried = draw.random(400_000) < 0.4
    seen = draw.poisson(by_chance, len(tried)) + tried
    for ids in (1, 2):
        none = float((~tried[seen == ids]).mean())
        assert doubt(ids, 0.4, by_chance) == pytest.approx(none, abs=6 * (0.25 / (seen == ids).sum()) ** 0.5)
    assert explained(int((seen > 0).sum()), len(seen), by_chance) == pytest.approx(0.4, abs=0.03)
    assert explained(0, 9, by_chance) == 0.1
    assert explained(9, 9, 0.0) == 0.9


def test_a_pseudonym_in_capitals_and_small_letters_is_found_in_both() -> None:
    text = hashlib.md5(b"123").hexdigest()
    found = attack_pseudonyms([text, text.upper()], formats="999")
    assert found.ids == {text: "123", text.upper(): "123"}


def test_the_same_format_written_in_two_ways_is_tried_once() -> None:
    assert space(formats_of(["99|9{2}|[0-9]9", "99"])) == 100
