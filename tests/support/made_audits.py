"""Made-up results of audits, for the tests of what is shown of them."""

from __future__ import annotations

import math
from dataclasses import replace

from privet.audits import Audit, Check, Checks, Claim, Witness
from support.made_findings import NASTY


def laplace() -> Audit:
    """A count with the noise that it should have."""
    roc = tuple((0.5 * math.exp(-max(t, 0)) if t >= 0 else 1 - 0.5 * math.exp(t), _tail(t - 1)) for t in _thresholds())
    return Audit(
        claim=Claim(epsilon=1),
        lower_bound=0.9553,
        confidence=0.999999,
        ceiling=8.4172,
        rarest=6.1e-4,
        witness=Witness("2 <= output", 0, (54_475, 20_063), 75_000, ("[1, 1]", "[1]")),
        samples=100_000,
        seconds=0.42,
        roc=roc,
        not_tested=("other inputs: one pair of data sets out of the pair given", "leaks in outputs rarer than 6.1e-04"),
    )


def _thresholds() -> list[float]:
    return [8 - step / 4 for step in range(65)]


def _tail(t: float) -> float:
    return 0.5 * math.exp(-t) if t >= 0 else 1 - 0.5 * math.exp(t)


def floats() -> Audit:
    """Floating-point noise, whose last bits give it away."""
    return Audit(
        claim=Claim(epsilon=1),
        lower_bound=6.912,
        confidence=0.999999,
        ceiling=8.4172,
        rarest=6.1e-4,
        witness=Witness("output is not a multiple of 2^-53", 1, (20_321, 0), 75_000, ("1.0", "0.0")),
        samples=100_000,
        seconds=0.11,
        method="last bits of numbers",
        pairs=12,
        roc=((0.0, 0.0), (0.0, 0.271), (1.0, 1.0)),
    )


def gaussian() -> Audit:
    """A delta, a rare event, the second data set likelier."""
    return replace(
        laplace(),
        claim=Claim(epsilon=0.5, delta=1e-5),
        lower_bound=1.25,
        witness=Witness(
            "14.5 <= output[3] <= 17", 1, (412, 61), 75_000, ("a list of 8 rows", "the same without its last row")
        ),
        roc=(),
    )


def zcdp() -> Audit:
    return replace(laplace(), claim=Claim(rho=0.5), lower_bound=0.31, ceiling=4.5)


def gdp() -> Audit:
    return replace(laplace(), claim=Claim(mu=1), lower_bound=0.93, ceiling=7.9)


def small() -> Audit:
    """Too few draws for what is claimed."""
    return replace(
        laplace(),
        claim=Claim(epsilon=4),
        lower_bound=0.0,
        ceiling=3.615,
        rarest=1.0,
        samples=1000,
        seconds=0.01,
        witness=Witness("output is “yes”", 0, (401, 380), 750),
        roc=(),
        not_tested=(),
    )


def large() -> Audit:
    """An epsilon whose e**epsilon nobody reads."""
    return replace(laplace(), claim=Claim(epsilon=100), ceiling=8.4)


def nasty_audit() -> Audit:
    return replace(
        floats(), witness=replace(floats().witness, event=NASTY, neighbors=(NASTY, NASTY)), not_tested=(NASTY,)
    )


AUDITS = {
    "laplace": laplace, "floats": floats, "gaussian": gaussian, "zcdp": zcdp, "gdp": gdp, "small": small,
    "large": large, "nasty": nasty_audit,
}  # fmt: skip


def broken() -> Checks:
    return Checks(
        subject="SELECT ward, AVG(cost) FROM visits GROUP BY ward",
        checks=(
            Check(
                name="control flow",
                verdict="consistent",
                says="both runs asked for the same 4 noises in the same order",
            ),
            Check(
                name="distance",
                verdict="violated",
                says="request 2 moved by 2, where 1 is declared",
                figures={"declared": 1, "moved": 2, "request": 2},
            ),
            Check(name="timing", verdict="inconclusive", says="20 runs could not have shown a difference below 9 ms"),
        ),
        not_tested=("Other pairs of data sets.",),
    )


def fine() -> Checks:
    return replace(broken(), checks=broken().checks[:1], not_tested=())


def undecided() -> Checks:
    return replace(broken(), checks=(broken().checks[0], broken().checks[2]))


def nothing() -> Checks:
    return Checks(subject="nothing", checks=())


def nasty_checks() -> Checks:
    one = Check(name=NASTY, verdict="violated", says=NASTY, figures={NASTY: NASTY})
    return Checks(subject=NASTY, checks=(one,), not_tested=(NASTY,))


CHECKS = {"broken": broken, "fine": fine, "undecided": undecided, "nothing": nothing, "nasty checks": nasty_checks}
