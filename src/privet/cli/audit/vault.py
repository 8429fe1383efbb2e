"""`privet audit vault`: a question of a vault, asked of made-up neighbors. The real data are never read."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.cli.audit.result import EXIT_CODES, show
from privet.cli.progress import counting
from privet.cli.stopping import stoppable
from privet.cli.verb import Verb, check_report, check_seconds, opened, result_options
from privet.core.laws import Choice, Top
from privet.errors import InvalidInputError
from privet.report.terminal import one_line

if TYPE_CHECKING:
    from privet.audits import Check, Checks, Claim
    from privet.cli.audit.made_pair import PairSide
    from privet.query import Query
    from privet.vault import Vault

KEY = b"privet audit vault"  # which rows count is decided in the same way on both sides, so that only data differ
LEAST_RELEASES, DRAWS = 1000, 100_000
FARTHEST = 2**62  # steps that numbers can move and still be added to noise
NOT_TESTED = (
    "the real data, which were not read: neighbors were made up from the declarations",
    "neighbors other than these, and other questions",
    "whether noise has its law beyond what so few releases can show: see the audits of the noise itself",
)


@dataclass(frozen=True, slots=True)
class AuditedQuery:
    """The question of one side."""

    query: Query
    words: str

    def __repr__(self) -> str:
        return self.words


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("vault", metavar="VAULT")
    command.add_argument("--sql", metavar="SELECT", required=True, help="the question in quotes")
    price = command.add_argument_group("price (one of them; there is no default)")
    price.add_argument("--epsilon", help="pure epsilon, or with --delta")
    price.add_argument("--delta", help="beside --epsilon")
    price.add_argument("--rho", help="zCDP; the vault needs a delta")
    command.add_argument("--private-keys", action="store_true", help="show only groups with enough people")
    command.add_argument(
        "--releases", type=int, default=2000, metavar="N", help="where draws of noise alone say too little (2000)"
    )
    command.add_argument("--seconds", type=float, default=60, metavar="S", help="how long to release, about (60)")
    result_options(command)


def _run(options: argparse.Namespace) -> int:
    check_report(options.out)
    check_seconds(options.seconds)
    if options.releases < LEAST_RELEASES:
        raise InvalidInputError(
            f"{options.releases:,} releases show nothing", f"give --releases {LEAST_RELEASES} or more", "too-few"
        )
    from privet.audits import Checks  # noqa: PLC0415  brings NumPy
    from privet.audits.stages import STOPPED  # noqa: PLC0415
    from privet.cli.audit.made_pair import made_pairs  # noqa: PLC0415

    with opened(options.vault) as vault, stoppable(STOPPED) as stopped, counting() as progress:
        asked = _asked(vault, options)
        with made_pairs(vault, asked.table.name) as made:
            pairs = [(_of(first, options), _of(second, options)) for first, second in made]
            checks = _checks(pairs, options, progress)
        subject = f"{one_line(options.sql)} ({one_line(options.vault)}, on made-up data)"
        made_of = Checks(subject=subject, checks=tuple(checks), not_tested=NOT_TESTED)
        return show(made_of, options, stopped=stopped.is_set())


def _of(side: PairSide, options: argparse.Namespace) -> AuditedQuery:
    return AuditedQuery(_asked(side.vault, options), side.words)


def _asked(vault: Vault, options: argparse.Namespace) -> Query:
    return vault.sql(
        options.sql,
        epsilon=options.epsilon,
        delta=options.delta,
        rho=options.rho,
        private_keys=options.private_keys,
    )


def _checks(
    pairs: Sequence[tuple[AuditedQuery, AuditedQuery]], options: argparse.Namespace, progress: Any
) -> list[Check]:
    """Grey box on all pairs; black box and side channels on the one whose numbers are furthest apart."""
    from privet import testing  # noqa: PLC0415

    found = []
    for done, (first, second) in enumerate(pairs):
        progress("replaying with frozen noise", done, len(pairs))
        found.append(testing.replay(first.query, second.query))
    first, second = max(pairs, key=_moved)
    claim = _claim(first.query)
    progress("looking at side channels", 0, 1)
    channels = testing.side_channels(first.query, second.query, claim=claim, seconds=options.seconds / 2)
    return [*_worst(found), _black_box((first, second), claim, options, progress), *channels.checks]


def _worst(found: Sequence[Checks]) -> list[Check]:
    """Of every check the pair that it is worst on; the first, if there is no difference."""
    order = ("violated", "inconclusive", "consistent")
    columns = zip(*(checks.checks for checks in found), strict=True)
    return [
        replace(min(column, key=lambda check: order.index(check.verdict)), name=f"replay, {column[0].name}")
        for column in columns
    ]


def _claim(query: Query) -> Claim:
    """What was paid for: a rho with a delta is booked as an epsilon."""
    from privet.audits import Claim  # noqa: PLC0415

    cost = query.cost
    if cost.epsilon is not None:
        return Claim(cost.epsilon, cost.delta)
    return Claim(rho=cost.rho)


def _black_box(
    pair: tuple[AuditedQuery, AuditedQuery], claim: Claim, options: argparse.Namespace, progress: Any
) -> Check:
    """What is released, counted: many draws of the noise on the exact numbers, or else some real releases."""
    from privet.audits import Check, audit  # noqa: PLC0415

    name = "released numbers"
    if not _moved(pair):
        return Check(name=name, verdict="inconclusive", says="no made-up person changes a number of this question")
    drawn = _last_step(pair)
    if drawn is not None:
        found = audit(drawn, claim, pair, samples=DRAWS, progress=progress)
    else:
        found = audit(_released, claim, pair, samples=_releases(pair, options), batch=False, progress=progress)
    figures = {"lower bound": round(found.lower_bound, 3), "ceiling": round(found.ceiling, 3)}
    return Check(name=name, verdict=found.verdict.split(maxsplit=1)[0], says=str(found), figures=figures)


def _releases(pair: tuple[AuditedQuery, AuditedQuery], options: argparse.Namespace) -> int:
    """As many of each side as fit into the time, going by the first two; not fewer than say anything."""
    started = time.perf_counter()
    for side in pair:
        _released(side)
    fitting = int(options.seconds / max(time.perf_counter() - started, 1e-6))
    return max(LEAST_RELEASES, min(fitting, int(options.releases)))


def _released(side: AuditedQuery) -> object:
    answer = side.query.release(fresh=True)
    return answer.noisy, tuple(map(str, answer.priced.cells.keys()))


def _last_step(pair: tuple[AuditedQuery, AuditedQuery]) -> Callable[[AuditedQuery, int], Any] | None:
    """Noise on what the second side adds to the numbers of the first, where it adds anything; None if there is more to
    a release than adding noise. Numbers that do not move have noise of their own, and tell nothing."""
    import numpy as np  # noqa: PLC0415

    from privet.engine import FreshNoise  # noqa: PLC0415

    parts = pair[0].query.priced.parts
    if any(isinstance(part.law, Choice | Top) or part.threshold is not None for part in parts):
        return None
    moves = [(part.law, step) for part, steps in zip(parts, _steps(pair), strict=True) for step in steps if step]
    if max(abs(step) for _, step in moves) >= FARTHEST:
        return None

    def drawn(side: AuditedQuery, size: int) -> Any:
        noise = FreshNoise()
        columns = [noise.draw(law, size) + (step if side is pair[1] else 0) for law, step in moves]  # type: ignore[arg-type]
        return np.stack(columns, axis=1)

    return drawn


def _moved(pair: tuple[AuditedQuery, AuditedQuery]) -> Fraction:
    """How much of what is paid for the numbers of the two sides move: the most of all parts."""
    parts = pair[0].query.priced.parts
    shares = [
        Fraction(sum(map(abs, steps)), part.sensitivity.l1) for part, steps in zip(parts, _steps(pair), strict=True)
    ]
    return max(shares)


def _steps(pair: tuple[AuditedQuery, AuditedQuery]) -> list[list[int]]:
    """For every part how far each number moves; of a choice, whether what it is made from differs."""
    from privet.testing import exact  # noqa: PLC0415

    keys = None
    if pair[0].query.priced.cells.private:  # the keys of both sides
        keys = list(dict.fromkeys(key for side in pair for key in exact(side.query, key=KEY).keys))
    one, two = (exact(side.query, key=KEY, keys=keys).parts for side in pair)
    return [
        [b - a if isinstance(a, int) else int(a != b) for a, b in zip(here.values, there.values, strict=True)]
        for here, there in zip(one, two, strict=True)
    ]


KINDS = {
    "vault": Verb(
        "a question of a vault, asked of made-up neighbors: no real data are read and nothing is charged",
        'privet audit vault clinic.privet --sql "SELECT COUNT(*) AS n FROM visits" --epsilon 0.5\n\n'  # noqa: S608
        + EXIT_CODES,
        _options,
        _run,
    )
}
