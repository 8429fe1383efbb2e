"""The form of floats: every check breaks noise that is wrong in its way and spares what is right.

At the default confidence a false alarm has probability 1e-6. The rates of reachable noise are measured on fixed seeds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.refusals import raises_code

from privet.audits import Checks, Claim, float_support
from privet.audits.float_form import _bit_words, _decimal_words, _grid
from privet.audits.reachable import SAMPLERS, ReachSampler, grades, noise_of, numpy_widths, usable, ziggurat_widths
from privet.errors import InvalidInputError

Draw = Callable[[np.random.RandomState, np.random.Generator, int, int], Any]
NAMES = {sampler.name.split()[0]: sampler for sampler in SAMPLERS}
LAPLACE, SINGLE, ZIGGURAT, POLAR, BOX_MULLER, SHORT_BOX_MULLER = SAMPLERS


def by_name(found: Checks) -> dict[str, Any]:
    return {check.name: check for check in found.checks}


def test_numpy_laplace_is_broken_by_its_last_bits() -> None:
    generator = np.random.default_rng(1)
    found = float_support(lambda data, size: data + generator.laplace(0, 1, size), (0, 1))
    last = by_name(found)["last bits"]
    assert found.violated
    assert last.figures["epsilon"] >= 8
    assert last.figures["hits"][1] == 0
    assert last.figures["event"] == "output is not a multiple of 2^-53"
    assert [check.name for check in found.checks if check.verdict == "violated"] == ["last bits"]
    assert found.to_json()["violated"]
    assert "noise taken apart: give centers and scale" in found.not_tested


def test_whole_noise_has_the_same_form_on_all_data() -> None:
    generator = np.random.default_rng(2)

    def geometric(data: int, size: int) -> Any:
        return data + generator.geometric(0.6, size) - generator.geometric(0.6, size)

    found = float_support(geometric, (0, 1), samples=40_000)
    assert found.verdict == "consistent"
    assert float_support(geometric, (0, 1), samples=40_000, claim=Claim(epsilon=1)).verdict == "consistent"
    parity = float_support(lambda d, n: 2 * geometric(0, n) + d, (0, 1), samples=40_000, claim=Claim(epsilon=4))
    assert by_name(parity)["last bits"].verdict == "violated"
    assert by_name(parity)["rounding"].verdict == "violated"


def test_false_alarms_are_no_more_than_stated() -> None:
    """Geometric noise with exactly the claimed epsilon, 60 audits at confidence 0.9: too many have probability 1e-9."""
    generator = np.random.default_rng(17)
    claim = Claim(epsilon=math.log(2.5))
    false = sum(
        float_support(
            lambda data, size: data + generator.geometric(0.6, size) - generator.geometric(0.6, size),
            (0, 1), centers=(0, 1), samples=3000, confidence="0.9", claim=claim,
        ).violated
        for _ in range(60)
    )  # fmt: skip
    assert false <= stats.binom.isf(1e-9, 60, 0.1)


def test_few_samples_are_inconclusive() -> None:
    found = float_support(lambda _, size: np.zeros(size), (0, 1), samples=1000, claim=Claim(epsilon=9))
    assert found.verdict == "inconclusive"


def test_without_a_claim_only_what_never_comes_up_counts() -> None:
    """Halves against wholes, but one in a hundred the other way around: epsilon is 4.6, not infinite."""
    generator = np.random.default_rng(3)

    def rare(data: int, size: int) -> Any:
        return generator.integers(0, 9, size) + 0.5 * (generator.random(size) < (0.01 if data else 0.99))

    assert by_name(float_support(rare, (0, 1)))["decimals"].verdict == "consistent"
    told = by_name(float_support(rare, (0, 1), claim=Claim(epsilon=3)))["decimals"]
    assert told.verdict == "violated"
    assert 4 < told.figures["epsilon"] < math.log(99)


@pytest.mark.parametrize(
    ("mechanism", "name", "event"),
    [
        (lambda d, n, g: np.round(d + g.laplace(0, 1, n), 2 + d), "decimals", "output has at least 3 decimals"),
        (
            lambda d, n, g: np.round(d + g.laplace(0, 1, n), 2 + d),
            "rounding",
            "output is on the grid of the second (steps of 0.001) only",
        ),
        (lambda d, n, g: 0.37 * d + np.round(g.laplace(0, 1, n)), "decimals", "output has at most 0 decimals"),
        (lambda d, n, g: (1 - 2 * d) * np.floor(g.random(n) * 2), "sign of zero", "output is minus zero"),
        (lambda d, n, g: g.laplace(0, 1, n) / np.where(g.random(n) < 0.5, d, 1), "nan and infinity", None),
        (lambda d, n, g: np.where(g.random(n) < 0.5 * d, math.nan, 1.0), "nan and infinity", "output is nan"),
    ],
)
def test_each_trait_breaks_what_is_wrong_in_its_way(
    mechanism: Callable[..., Any], name: str, event: str | None
) -> None:
    generator = np.random.default_rng(4)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = by_name(float_support(lambda d, n: mechanism(d, n, generator), (0, 1), samples=60_000))[name]
    assert found.verdict == "violated"
    assert event is None or found.figures["event"] == event


def test_a_middling_number_of_decimals_and_of_bits_has_words() -> None:
    """Two places on one data set, one or three on the other."""
    generator = np.random.default_rng(5)

    def places(data: int, size: int) -> Any:
        return np.where(generator.random(size) < 0.5, 0.25 if data else 0.5, 0.75 if data else 0.125)

    mixed = by_name(float_support(places, (0, 1), samples=20_000))
    assert mixed["decimals"].figures["event"] == "output has one of 2 numbers of decimals between 1 and 3"
    assert mixed["last bits"].figures["event"] == "the last bit of the output is one of 2 between 2^-3 and 2^-1"
    plain = by_name(float_support(places, (1, 0), samples=20_000))
    assert plain["decimals"].figures["event"] == "output has exactly 2 decimals"
    assert plain["last bits"].figures["event"] == "the last bit of the output is 2^-2"
    assert _bit_words(np.array([1072, 1073])) == "the last bit of the output is one of 2 between 2^-2 and 2^-1"
    assert _decimal_words(np.array([4, 5])) == "output has one of 2 numbers of decimals between 4 and 5"


def test_vectors_are_judged_by_their_worst_number() -> None:
    generator = np.random.default_rng(6)

    def vector(data: int, size: int) -> Any:
        return np.stack([np.ones(size), data + generator.laplace(0, 1, size)], axis=1)

    found = float_support(vector, (0, 1), samples=100_000)
    assert by_name(found)["last bits"].verdict == "violated"
    assert by_name(found)["decimals"].figures["draws"] == 2501


def test_one_call_an_output() -> None:
    random.seed(7)
    found = float_support(lambda data: data + random.gauss(0, 1), [0.0, 1.0], samples=4000)
    assert found.verdict == "violated"
    told = float_support(lambda data, size=3: data + random.gauss(0, size), [0.0, 1.0], samples=1000, batch=False)
    assert told.checks[0].figures["draws"] == 750
    assert float_support(math.sqrt, (4, 4), samples=1000).verdict == "consistent"
    assert float_support(Unsigned(), (1, 1), samples=1000).verdict == "consistent"


class Unsigned:
    """A callable whose signature cannot be read."""

    __signature__ = "none"

    def __call__(self, data: float) -> float:
        return data


# --- noise taken apart ---


def polar(center: float, scale: float, size: int) -> Any:
    return np.random.RandomState(8).normal(center, scale, (size, 2))


def box_muller(center: float, scale: float, size: int) -> Any:
    source = random.Random(9)
    return np.array([[center + scale * source.gauss(0, 1) for _ in range(2)] for _ in range(size)])


def short_box_muller(center: float, scale: float, size: int) -> Any:
    first, second = (np.random.default_rng(10).integers(0, 2**32, (2, size)) + 0.5) / 2**32
    radius = np.sqrt(-2 * np.log(first))
    return center + scale * np.stack([radius * np.cos(2 * np.pi * second), radius * np.sin(2 * np.pi * second)], axis=1)


def laplace(center: float, scale: float, size: int) -> Any:
    return np.random.default_rng(11).laplace(center, scale, (size, 1))


def single(center: float, scale: float, size: int) -> Any:
    return center + scale * np.random.default_rng(12).standard_normal((size, 1), np.float32).astype(np.float64)


def ziggurat(center: float, scale: float, size: int) -> Any:
    return center + scale * np.random.default_rng(13).standard_normal((size // 20, 100))


CASES = [
    (LAPLACE, laplace, 0.004),
    (SINGLE, single, 0.99),
    (ZIGGURAT, ziggurat, 0.0),
    (POLAR, polar, 0.01),
    (BOX_MULLER, box_muller, 0.001),
    (SHORT_BOX_MULLER, short_box_muller, 0.99),
]


@pytest.mark.parametrize(("sampler", "draw", "least"), CASES, ids=lambda item: getattr(item, "name", None))
def test_own_center_always_reaches_and_a_false_one_does_not(
    sampler: ReachSampler, draw: Callable[..., Any], least: float
) -> None:
    """Neighbors 1000 and 1001 with noise of scale 1000, where last bits say nothing."""
    outputs = draw(1000, 1000, 20_000)
    own, false = (grades(sampler, outputs, center, 1000) for center in (1000.0, 1001.0))
    assert (own > 0).all()
    assert (false == 0).mean() >= least
    if least:
        assert (false == 0).any()


def test_the_ziggurat_is_told_from_long_vectors_with_much_noise() -> None:
    """100 numbers a draw, true values small beside the noise."""
    outputs = 3 + 1000 * np.random.default_rng(14).standard_normal((3000, 100))
    own, false = (grades(ZIGGURAT, outputs, center, 1000) for center in (3.0, 4.0))
    assert (own > 0).all()
    assert (false == 0).mean() > 0.01
    assert (own == 3).mean() > 0.9
    assert (false < 3).mean() > 0.08


def test_ziggurat_layers_have_equal_areas_and_numpy_uses_them() -> None:
    """Layer by layer from the tail up; measured widths differ from the exact ones by roundings only."""
    widths = np.array(ziggurat_widths()) * 2**52
    heights = np.exp(-(widths[1:] ** 2) / 2)
    areas = widths[1:-1] * np.diff(heights)
    assert len(widths) == 256
    assert widths[1] == pytest.approx(3.6541528853610088, rel=1e-15)
    assert areas == pytest.approx(widths[0] * heights[0], rel=1e-9)
    assert widths[-1] * (1 - heights[-1]) == pytest.approx(areas[0], rel=1e-9)
    measured = np.array(numpy_widths()) / np.array(ziggurat_widths())
    assert np.abs(measured - 1).max() < 1e-13
    assert np.abs(measured - 1).max() > 1e-15  # numpy's table has its own errors


def test_reached_from_one_center_only_breaks_the_claim() -> None:
    source = np.random.RandomState(15)
    found = float_support(
        lambda data, size: source.normal(data, 1000, (size, 2)),
        (1000, 1001),
        centers=(1000, [1001, 1001]),
        scale=1000,
        claim=Claim(epsilon=3),
    )
    checks = by_name(found)
    assert checks["last bits"].figures["epsilon"] < 0.1
    told = checks[POLAR.name]
    assert told.verdict == "violated"
    assert told.figures["epsilon"] > 4
    assert told.figures["hits"][1] == 0
    assert "the noise can come from the" in told.figures["event"]
    other = checks[SHORT_BOX_MULLER.name]
    assert other.says.startswith("the noise is of another kind")
    assert other.figures["own"] == [0.0, 0.0]


def test_noise_that_no_sampler_knows_is_left_alone() -> None:
    generator = np.random.default_rng(16)
    found = float_support(
        lambda data, size: data + generator.integers(-9, 9, size), (0, 1), centers=(0, 1), samples=20_000
    )
    assert by_name(found)[SINGLE.name].figures["event"].startswith("the noise fits the two centers in one of")
    assert len(found.not_tested) == 1


def test_samplers_need_enough_numbers() -> None:
    assert [sampler.name for sampler in usable(1)] == [LAPLACE.name, SINGLE.name]
    assert ZIGGURAT not in usable(15)
    assert set(usable(16)) == set(SAMPLERS)


def test_what_is_no_number_fits_anything() -> None:
    odd = np.array([[math.nan, 1.0], [math.inf, 1.0], [0.0, 0.0]])
    for sampler in SAMPLERS:
        assert (grades(sampler, odd, 0.0, 1.0)[:2] == 3).all()
    noise, slack = noise_of(np.array([[1.5]]), 1.0, 2.0)
    assert noise[0, 0] == 0.25
    assert 0 < slack[0, 0] < 1e-15


def test_grids() -> None:
    assert _grid(np.array([[1.0], [1.0]])) is None
    assert _grid(np.array([[0.0], [1e-9], [1e9]])) is None
    assert _grid(np.array([[0.0], [1.0], [2.5]])) is None
    assert _grid(np.array([[0.0], [-1e308], [1.7e308]])) is None
    found = _grid(np.array([[0.1], [0.4], [math.inf], [0.2]]))
    assert found is not None
    assert found.step == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"neighbors": 3}, "wrong-shape: neighbors"),
        ({"mechanism": lambda _: "text"}, "wrong-output: mechanism … must"),
        ({"mechanism": lambda _: None}, "wrong-output: mechanism … must"),
        ({"mechanism": lambda _: [[1.0]]}, "wrong-output: mechanism … must"),
        ({"mechanism": lambda _, __: [1.0]}, "wrong-output: mechanism … must"),
        (
            {"mechanism": lambda _, size: [[1.0] * (1 + i % 2) for i in range(size)]},
            "wrong-output: mechanism … must",
        ),
        ({"mechanism": lambda data: [0.0] * (1 + data)}, "wrong-output: different"),
        ({"centers": (1, 2, 3)}, "wrong-length"),
        ({"centers": (1, [2, 3])}, "wrong-length"),
        ({"centers": (0, 1), "scale": 0}, "not-positive: scale … above 0"),
        ({"samples": 10}, "too-small: 1000"),
        ({"claim": 1}, "wrong-type: claim"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"mechanism": float, "neighbors": (0, 1), "samples": 1000}
    with raises_code(InvalidInputError, words):
        float_support(**(given | arguments))
