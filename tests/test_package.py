"""The package as a user meets it: quick to import, few names, one clear error for bad input."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from support.refusals import expect_code, raises_code, refused

import privet as pv
from privet import attacks, cli, compare
from privet.core.laws import DiscreteLaplace
from privet.errors import InvalidInputError, NoiseOverflowError, PrivetError
from privet.noise.fast import LARGEST_POOL, MAX_SCALE, Sampler, sampler


def test_import_is_light() -> None:
    """Nothing heavy loads before it is used; that, not a stop-watch, keeps `import privet` below 0.2 s."""
    heavy = "('numpy', 'cryptography', 'altair', 'duckdb', 'sqlglot', 'sklearn')"
    code = f"import sys, privet; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[]"


def test_public_names() -> None:
    assert dir(pv) == [
        "Boolean", "Budget", "Category", "Date", "Integer", "Number", "Text", "Timestamp", "__version__",
        "anonymize", "attacks", "audits", "col", "compare", "corr", "count", "cov", "create", "errors", "from_frame",
        "learn", "lit", "max", "mean", "meaning", "median", "min", "n_distinct", "n_units", "noise", "open", "quantile",
        "std", "sum", "testing", "var", "when",
    ]  # fmt: skip
    assert issubclass(pv.errors.InvalidInputError, pv.errors.PrivetError)
    assert issubclass(NoiseOverflowError, OverflowError)
    with pytest.raises(AttributeError, match="module 'privet' has no attribute 'magic'"):
        _ = pv.magic


def test_names_of_the_attacks() -> None:
    """Each is what it says, also after its module was imported; and no solver is loaded to read a file."""
    assert dir(pv.attacks) == sorted(pv.attacks.__all__)
    assert sorted(pv.attacks.WHERE) == dir(pv.attacks)
    assert all(getattr(pv.attacks, name).__name__ == name for name in dir(pv.attacks))
    with pytest.raises(AttributeError, match=r"module 'privet.attacks' has no attribute 'magic'"):
        _ = pv.attacks.magic
    code = "import sys, privet; privet.attacks.read_tables; print('ortools' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "False"


DRAWS = [pv.noise.discrete_laplace, pv.noise.discrete_gaussian]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("scale", [2, 0.5, "1/3", Fraction(7, 5), Decimal("0.4"), 1e-300, "1e-400", np.float32(1.5)])
def test_scales_of_every_kind(draw: object, scale: object) -> None:
    draws = draw(scale, 20_000)
    assert draws.dtype == np.int64
    assert draws.shape == (20_000,)
    if float(Fraction(str(scale)) if isinstance(scale, str) else scale) < 1e-2:
        assert not draws.any()
    else:
        assert 0 < np.abs(draws).max() < 100


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "x", None, True, "1e401", 2**50, 2**70, 10**500])
def test_bad_scales_get_one_clear_error(draw: object, scale: object) -> None:
    with pytest.raises(PrivetError) as caught:
        draw(scale, 10)
    problem, remedy = str(caught.value).split("\n")
    assert "scale" in problem or "sigma" in problem
    assert remedy.startswith("  remedy: ")


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("size", [-1, 1.0, "3", None, True, (2, 3)])
def test_bad_sizes_get_one_clear_error(draw: object, size: object) -> None:
    with raises_code(InvalidInputError, "not-whole|too-small"):
        draw(1, size)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "1/0", 1e-30])
def test_bad_prices_get_one_clear_error(epsilon: object) -> None:
    for ask in (
        lambda: pv.noise.exponential([1, 2], epsilon=epsilon, sensitivity=0),
        lambda: pv.noise.noisy_max([1, 2], epsilon=epsilon, sensitivity=1),
        lambda: pv.noise.AboveThreshold(1, epsilon=epsilon, sensitivity=1),
        lambda: pv.noise.randomized_response(np.zeros(3, int), categories=1, epsilon=epsilon),
    ):
        with pytest.raises(InvalidInputError, match=r"\n  remedy: "):
            ask()


def test_sizes() -> None:
    for size in (0, 1, LARGEST_POOL // 4, LARGEST_POOL // 4 + 1, 100_001):
        assert pv.noise.discrete_laplace(3, size).shape == pv.noise.discrete_gaussian(3, size).shape == (size,)


def test_a_busy_pool_is_not_waited_for() -> None:
    """As after a fork in the middle of a draw, or in a signal handler: draws all the same, and leaves the pool."""
    own = Sampler(DiscreteLaplace(Fraction(2**30)))
    own.draw(1)
    pool = own._pool.copy()
    own._lock.acquire()
    assert len(own.draw(5)) == 5
    assert len(own.draw(700)) == 700
    assert np.array_equal(own._pool, pool)
    own._lock.release()
    assert np.array_equal(own.draw(5), pool[:5])
    assert np.array_equal(own._pool, pool[5:])


def test_the_pool_grows_with_use_up_to_its_limit() -> None:
    own = Sampler(DiscreteLaplace(Fraction(3)))
    sizes = set()
    for _ in range(40):
        own.draw(LARGEST_POOL // 16)
        sizes.add(own._pool_size)
    assert max(sizes) == LARGEST_POOL


def test_a_batch_with_too_many_refusals_is_filled_all_the_same() -> None:
    """As if far fewer proposals were kept than usual: the gaps get draws of their own."""
    own = Sampler(DiscreteLaplace(Fraction("63.3")))
    own.blocks.kept_share = 1.0
    refuse = own._propose

    def refuse_more(out: np.ndarray) -> np.ndarray:
        refused = refuse(out)
        out[::2] = 10**15  # refused values must never come out
        return np.union1d(refused, np.arange(0, len(out), 2))

    own._propose = refuse_more  # type: ignore[method-assign]
    draws = own._batch(5000)
    assert len(draws) == 5000
    assert np.abs(draws).max() < 10**6


def test_handed_out_draws_are_the_callers_own() -> None:
    first = pv.noise.discrete_laplace(2**30, 3)
    kept = first.copy()
    pv.noise.discrete_laplace(2**30, 3)
    assert np.array_equal(first, kept)
    first[:] = 0
    assert np.any(pv.noise.discrete_laplace(2**30, 3))


def test_the_widest_scale_works() -> None:
    assert np.abs(sampler(DiscreteLaplace(Fraction(MAX_SCALE - 1))).draw(20_000)).max() > MAX_SCALE


def test_rooms_load_when_asked_for() -> None:
    assert pv.__getattr__("errors") is pv.errors
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        pv.__getattr__("nothing")


OLD_NAMES = [
    *((attacks, old, new) for old, new in attacks.RENAMED.items()),
    (pv, "plans", "privet.compare"),
    (compare, "compare", "compare_releases"),
]


@pytest.mark.parametrize(("room", "old", "new"), OLD_NAMES, ids=[old for _, old, _ in OLD_NAMES])
def test_old_names_say_what_they_are_now(room: ModuleType, old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=f"renamed to {new}$"):
        room.__getattr__(old)
    if room is attacks:
        assert callable(getattr(room, new))


@pytest.mark.parametrize(("verb", "old"), list(cli.RENAMED))
def test_old_commands_say_what_they_are_now(verb: str, old: str, capsys: pytest.CaptureFixture[str]) -> None:
    new = cli.RENAMED[verb, old]
    expect_code(f"renamed: `privet {verb} {old}` … `privet {verb} {new}`", refused([verb, old, "anything"], capsys))
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, new, "--help"])
    assert stop.value.code == 0
