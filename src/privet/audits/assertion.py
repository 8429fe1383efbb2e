"""One line in somebody's tests: `assert_private(mechanism, epsilon=1)` passes in silence, or fails with what was found.

A test of continuous integration runs a thousand times, so it must hardly ever be wrong: with the default confidence
one audit of a private mechanism in 1,000,000 fails by chance. How many draws are taken, and with that how far the audit
can see, is a number and not a time: a verdict does not depend on how busy the machine is.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from privet.audits.claims import Claim
from privet.audits.counted import audit
from privet.audits.verdict import INCONCLUSIVE, Audit

SAMPLES = 100_000  # a few seconds for a function of some microseconds, and an epsilon of up to 8 can be shown
WIDTH = 96


class NotPrivateError(AssertionError):
    """The audit's paragraph as a message; `audit` has all that was found."""

    def __init__(self, message: str, found: Audit) -> None:
        super().__init__(message)
        self.audit = found


def assert_private(  # noqa: PLR0913  the claim and the settings of an audit, each by its name
    mechanism: Callable[..., Any],
    epsilon: object = None,
    delta: object = 0,
    neighbors: Any = "search",
    *,
    rho: object = None,
    mu: object = None,
    samples: int = SAMPLES,
    allow_inconclusive: bool = False,
    **settings: Any,
) -> Audit:
    """Raise NotPrivateError if an audit contradicts the claim, or could not have contradicted it.

    The second is a failure too: a test that cannot fail would be trusted for nothing. Give more `samples`, or
    allow_inconclusive=True. It depends on the claim and on the settings, not on luck. `settings` are those of
    `privet.audits.audit`: domain, seconds, confidence, batch, pairs, ignore_float_bits.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, and none of ours
    found = audit(mechanism, Claim(epsilon, delta, rho=rho, mu=mu), neighbors, samples=samples, **settings)
    undecided = found.verdict == INCONCLUSIVE
    if found.violated or (undecided and not allow_inconclusive):
        raise NotPrivateError(_message(found, undecided=undecided), found)
    return found


def _message(found: Audit, *, undecided: bool) -> str:
    why = "A test that cannot fail counts as failed" if found.complete else "What was not tried counts as failed"
    more = f" {why}, unless allow_inconclusive=True." if undecided else ""
    return "\n".join(textwrap.wrap(f"{found}{more}", WIDTH, break_long_words=False, break_on_hyphens=False))
