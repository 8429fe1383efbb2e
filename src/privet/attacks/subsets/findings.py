"""What an attack on sums found, in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from privet.attacks.finding import Curve, Finding, Findings, Picture, Score, ShownTable, Strength
from privet.attacks.proofs.certificate import Proof, ProofClaim, ProofRow, System, rows_used
from privet.attacks.proofs.work import Work
from privet.attacks.subsets.decoders.problem import Bits, Errors, Forecast
from privet.attacks.subsets.forecast import right_words
from privet.attacks.subsets.score import SURE, calibration, scored
from privet.attacks.subsets.subset_sums import AttackedSums, Sums
from privet.typing import Floats

# Bits that are the same in every data set that fits the answers, each with a certificate that the small checker takes.
#
# Only where an answer says for sure what cannot be: exact ones, and those with a largest error. A bit is a whole number
# from 0 to 1, an answer y with errors up to E a row between y - E and y + E, and the claim that the bit is 1 or 0.

Certified = tuple[System, ProofClaim, Proof]
MOST_PEOPLE = 64  # a linear program each
FEW = 16  # for whom a proof may split into cases
MOST_CELLS = 1 << 14  # of queries and people in it; more queries than that are left out of the proofs
SECONDS = 10.0
ROUNDED = 1e-6  # answers are floats: a sum that is 2 may be written as 2.0000001


def proofs(sums: Sums, errors: Errors, bits: Bits) -> dict[int, Certified]:
    """By the place of the person. Empty if nothing is for sure, if there are too many, or if these bits do not fit: a
    proof needs a data set that exists."""
    people = len(sums.names)
    if errors.law not in ("exact", "bounded") or people > MOST_PEOPLE:
        return {}
    from privet.attacks.proofs.prover import Prover  # noqa: PLC0415  brings OR-Tools

    system, work = system_of(sums, errors.size), Work(SECONDS)
    far = np.abs(sums.matrix.times(bits.astype(np.float64)) - sums.answers)
    if far.max() > errors.size + ROUNDED:
        others = _that_fit(system, work) if sums.matrix.shape[0] < people else None
        if others is None:
            return {}
        bits = others
    prover = Prover(system)
    found: dict[int, Certified] = {}
    for place, bit in enumerate(bits):
        claim = ProofClaim(((place, 1),), 1) if bit else ProofClaim(((place, -1),), 0)
        proof = prover.prove(claim, work) if people <= FEW else prover.at_least(claim, work)
        if proof is not None:
            found[place] = (system, claim, proof)
    return found


def _that_fit(system: System, work: Work) -> Bits | None:
    """Some data set that fits, where the guesses together are none."""
    from privet.attacks.proofs.solver import Solver  # noqa: PLC0415  brings OR-Tools

    values = Solver(system).solve(work).values
    return None if values is None else np.array(values, np.uint8)


def proven_bits(bits: Bits, proven: dict[int, Certified]) -> Bits:
    """The guesses, with what is proven in their place."""
    told = bits.copy()
    for place, (_, claim, _) in proven.items():
        told[place] = claim.terms[0][1] == 1
    return told


def sources(proof: Certified) -> tuple[str, ...]:
    """The queries that a proof rests on."""
    system, _, how = proof
    return tuple(system.rows[row].source for row in rows_used(how))


def system_of(sums: Sums, size: float) -> System:
    people = len(sums.names)
    rows = min(sums.matrix.shape[0], max(MOST_CELLS // people, 1))
    members = sums.matrix.block(0, rows)
    return System(
        low=(0,) * people,
        high=(1,) * people,
        rows=tuple(
            ProofRow(
                tuple((int(at), 1) for at in np.flatnonzero(members[row])),
                math.ceil(answer - size - ROUNDED),
                math.floor(answer + size + ROUNDED),
                source=f"query {row + 1}",
            )
            for row, answer in enumerate(sums.answers[:rows])
        ),
    )


MOST_LISTED = 1000
LITTLE = 0.01  # above a blind guess: as good as none
SPREAD = tuple(2.0 ** (step / 2) for step in range(-8, 9))  # of the alphas of the picture, times this one
LEAD = (
    f"Found means: the guess about this person is right with a probability of {100 * SURE:.0f} % or more, if the"
    " errors of the answers are as stated. The others are guessed, too, less surely."
)
ASSUMED = (
    "It is known who is in which sum, and everybody's secret is 0 or 1.",
    "Errors of different answers are independent of each other.",
)
NOT_TRIED = (
    "Secrets that go together, such as those of a family.",
    "Errors that depend on each other, or on the query.",
)
LAWS = {
    "exact": "without errors",
    "normal": "with normal errors of standard deviation {size:.4g}",
    "laplace": "with Laplace errors of scale {size:.4g}",
    "bounded": "with errors up to {size:.4g}, whatever their law",
    "outliers": "with normal errors of standard deviation {size:.4g}, but for {share:.3g} of them, which are anything",
}


def findings_of(attacked: AttackedSums) -> Findings:
    decoded, sums = attacked.decoded, attacked.sums
    proven = {} if attacked.stated is None else proofs(sums, attacked.stated, decoded.bits)
    decoded = replace(decoded, bits=proven_bits(decoded.bits, proven))
    attacked = replace(attacked, decoded=decoded)
    guesses, confidence = decoded.bits.astype(np.int8), attacked.confidence.copy()
    confidence[list(proven)] = 1.0
    few = sums.matrix.shape[0] < len(sums.names)
    score, pictures = None, [] if few else [curve(attacked)]
    if attacked.truth is not None:
        score = scored(guesses, confidence, attacked.truth, attacked.control)
        drawn = calibration(guesses, confidence, attacked.truth)
        pictures = [*([] if drawn is None else [drawn]), *pictures]
    sure = int((confidence >= SURE).sum())
    return Findings(
        attack="subsets",
        subject=sums.subject,
        headline=_headline_of_few(attacked, confidence) if few else headline(attacked, score, confidence, len(proven)),
        people=len(sums.names),
        proven=len(proven),
        claimed=sure,
        findings=_people(attacked, proven),
        tables=(
            *([_doubt(attacked)] if attacked.doubted else []),
            _few(attacked, confidence) if few else _expected(attacked),
            *([_wrong(attacked)] if decoded.most_wrong is not None else []),
        ),
        pictures=tuple(pictures),
        score=score,
        assumptions=(*ASSUMED, f"The answers are sums {errors_words(decoded.errors)}."),
        not_tried=NOT_TRIED,
        numbers=_numbers(attacked, score, confidence, len(proven)),
        seconds=attacked.seconds,
        word="certain" if proven else "found",
        lead="" if proven else LEAD,
    )


def headline(attacked: AttackedSums, score: Score | None, confidence: Floats, proven: int) -> str:
    """`confidence` is 1 for those whose secret is proven."""
    people = len(attacked.sums.names)
    if score is None or attacked.truth is None:
        if proven == people:
            return f"The secrets of all {people:,} people are proven"
        share = 100 * float(confidence.mean())
        sure = f"; {proven:,} of them are proven" if proven else ""
        return f"The guesses are expected to be right for about {share:.1f} % of {people:,} people{sure}"
    known = int((attacked.truth >= 0).sum())
    return f"{round(score.success.value * known):,} of {known:,} people's secrets are right"


def _headline_of_few(attacked: AttackedSums, confidence: Floats) -> str:
    """What was found, and that it is not all there is."""
    rows, people = attacked.sums.matrix.shape
    sure = int((confidence >= SURE).sum())
    verb = "is" if sure == 1 else "are"
    other = f"; {rows:,} {'answer is' if rows == 1 else 'answers are'} too few to tell about the others"
    return f"{sure:,} of {people:,} people {verb} found{other if sure < people else ''}"


def _few(attacked: AttackedSums, confidence: Floats) -> ShownTable:
    from privet.attacks.subsets.fewer import determined  # noqa: PLC0415  it knows this file

    rows, people = attacked.sums.matrix.shape
    blind = max(attacked.rate, 1 - attacked.rate)
    found = confidence >= SURE
    sure, little = int(found.sum()), int((~found & (confidence <= blind + LITTLE)).sum())
    fixed = determined(attacked)
    lines = [
        ("determined by the row space of the queries", "unknown" if fixed is None else f"{fixed:,}"),
        (f"guess right with {100 * SURE:.0f} % or more", f"{sure:,}"),
        ("guess better than a blind one, less sure", f"{people - sure - little:,}"),
        ("no better than a blind guess", f"{little:,}"),
    ]
    return ShownTable(
        "Fewer answers than people",
        f"{rows:,} answers about {people:,} people: many data sets fit them, so there is no forecast. Each guess has"
        " the probability that it has if everybody is as likely to have a 1, at a rate that only the answers tell, and"
        " errors are as stated. People in no query are never called found, unless it is proven. Those who are guessed"
        " blindly are not safe: more answers may reveal them.",
        ("people", "number"),
        tuple(lines),
    )


def errors_words(errors: Errors) -> str:
    return LAWS[errors.law].format(size=errors.size, share=errors.share)


def _people(attacked: AttackedSums, proven: dict[int, Certified]) -> tuple[Finding, ...]:
    """Proofs first, then the surest guesses."""
    confidence, decoded = attacked.confidence, attacked.decoded
    likely = np.flatnonzero(confidence >= SURE)
    order = [*proven, *(int(at) for at in likely[np.argsort(-confidence[likely], kind="stable")] if at not in proven)]
    return tuple(
        Finding(
            claim=f"{attacked.sums.names[at]}: secret {decoded.bits[at]}",
            strength=Strength.PROOF if at in proven else Strength.CONFIDENCE,
            confidence=None if at in proven else float(confidence[at]),
            evidence=sources(proven[at]) if at in proven else (),
            certificate=proven.get(at),
        )
        for at in order[:MOST_LISTED]
    )


def _expected(attacked: AttackedSums) -> ShownTable:
    what = (
        "The share of people whose secret this attack gets right, and what nine in ten such data sets are between:"
        if attacked.trials is not None
        else "The share of people whose secret each decoder gets right, before any answer is looked at:"
    )
    return ShownTable(
        "What was to be expected",
        f"{what} {attacked.sums.matrix.shape[0]:,} answers about {len(attacked.sums.names):,} people,"
        f" {errors_words(attacked.decoded.errors)}.",
        ("decoder", "right", "why", ""),
        tuple((*_forecast(one), _used(attacked, one)) for one in attacked.forecasts),
    )


def _used(attacked: AttackedSums, one: Forecast) -> str:
    used = attacked.decoded.decoder
    if attacked.trials is not None:
        return f"used: {used}"
    return "used" if one.decoder == used else ""


def _forecast(one: Forecast) -> tuple[str, str, str]:
    return one.decoder, right_words(one), one.why


def _doubt(attacked: AttackedSums) -> ShownTable:
    stated, seen = attacked.stated, attacked.decoded.errors
    said = "of everybody's secret that are near to the answers" if stated is None else errors_words(stated)
    taken = (
        "Nor do they fit what the residuals show, so no guess is called likelier than a coin's."
        if attacked.unfit
        else f"What follows takes the answers as sums {errors_words(seen)}, as the residuals look."
    )
    return ShownTable(
        "The answers do not fit what was said of them",
        f"No guesses were found that fit sums {said}. {taken} Are the errors larger than stated, do they depend on each"
        " other or on the query, or is somebody else in the sums?",
    )


def _wrong(attacked: AttackedSums) -> ShownTable:
    most = attacked.decoded.most_wrong
    return ShownTable(
        "What can be wrong at most",
        f"If no answer is off by more than {attacked.decoded.errors.size:.4g}, at most {most:,} of these secrets are"
        " wrong, whatever the data are.",
    )


def curve(attacked: AttackedSums) -> Picture:
    """How the guesses fare with smaller and larger errors, as expected, and where this attack stands."""
    from privet.attacks.subsets.decoders.evolution import forecast  # noqa: PLC0415  brings numba

    rows, people = attacked.sums.matrix.shape
    alpha = alpha_of(attacked)
    middle = alpha or 0.25
    alphas = [middle * step for step in SPREAD]
    sizes = [Errors("normal", one * people**0.5) for one in alphas]
    expected = [forecast(people, rows, size, rate=attacked.rate).recovered for size in sizes]
    return Picture(
        title="What larger errors would change",
        text="The line is what is to be expected of the best decoder there is for random subsets and normal errors;"
        " alpha is the size of errors divided by the root of the number of people.",
        alt=f"A falling line, from {100 * expected[0]:.0f} % right at alpha {alphas[0]:.3g}"
        f" to {100 * expected[-1]:.0f} % at {alphas[-1]:.3g}.",
        x="alpha",
        y="share right",
        curves=(
            Curve(name="expected", x=tuple(alphas), y=tuple(expected)),
            Curve(name="this attack", x=(alpha or alphas[0],), y=(_right(attacked),), style="points"),
        ),
        log_x=True,
    )


def _right(attacked: AttackedSums) -> float:
    if attacked.truth is None:
        return float(attacked.confidence.mean())
    known = attacked.truth >= 0
    return float((attacked.decoded.bits == attacked.truth)[known].mean())


def alpha_of(attacked: AttackedSums) -> float:
    return attacked.decoded.errors.size / math.sqrt(len(attacked.sums.names))


def _numbers(attacked: AttackedSums, score: Score | None, confidence: Floats, proven: int) -> dict[str, Any]:
    decoded, forecast = attacked.decoded, attacked.forecast
    rows, people = attacked.sums.matrix.shape
    return {
        "recovered": None if score is None else score.success.value,
        "expected": float(confidence.mean()),
        "forecast": None if forecast is None else forecast.recovered,
        "forecast_low": None if forecast is None else forecast.low,
        "forecast_high": None if forecast is None else forecast.high,
        "forecasts": {one.decoder: one.recovered for one in attacked.forecasts},
        "decoder": decoded.decoder,
        "converged": decoded.converged,
        "people": people,
        "queries": rows,
        "alpha": alpha_of(attacked),
        "rate": attacked.rate,
        "errors": {"law": decoded.errors.law, "size": decoded.errors.size, "share": decoded.errors.share},
        "baseline": None if score is None else score.baseline.value,
        "most_wrong": decoded.most_wrong,
        "sure": int((confidence >= SURE).sum()),
        "proven": proven,
        "doubted": attacked.doubted,
        "fit": not attacked.unfit,
    }
