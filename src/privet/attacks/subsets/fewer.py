"""Fewer answers than people: many data sets fit, and still some people's secrets may be found.

Each person has the probability of the linear posterior mean (`predicates_mean`): near the rate of all where the answers
say nothing of this person, near 0 or 1 where they do. With exact answers, anyone whose unit vector lies in the row
space of the queries is determined, by linear algebra alone. Bits that are the same in every data set that fits are
proven as elsewhere (`findings.proofs`), where a data set that fits is found.

Few answers do not show the rate of ones either. If every rate is as likely before, and the answers show it as well as
N people of whom the share s has a 1, it has the law Beta(1 + N s, 1 + N (1 - s)) after: a person's probability is the
mean over this law. Data sets that are simulated by it are attacked in the same way, and show by how much these
probabilities are too sure. Nobody who is in no query is called sure.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.attacks.subsets.decoders.problem import Decoded, Errors
from privet.attacks.subsets.forecast import UNSURE, as_rounded, tempered, trust_of
from privet.attacks.subsets.predicates_mean import UNKNOWN, Looked, fitting, posterior_mean
from privet.attacks.subsets.subset_sums import AttackedSums, KnownBits, Sums, rate_of, variance_of
from privet.errors import InvalidInputError
from privet.typing import Floats, Truths

MOST_CELLS = 1 << 23  # of queries and people: a singular value decomposition
MOST_COLUMNS = 2000  # people for whom the row space is computed
RATES = 15  # over which the mean is taken
WIDE = 4.0  # standard deviations of the rate to either side
STEPS = 4  # until the share and the number of people who would show it agree
MOST_RUNS, FEWEST_RUNS = 40, 5  # simulated data sets
WORK = 1 << 28  # cells that all of them may read


def attacked_few(sums: Sums, given: KnownBits) -> AttackedSums:
    """There is no forecast for these; what is expected is the mean of all probabilities. A size of errors that nobody
    stated, or that the answers do not fit, makes nobody sure."""
    rows, people = sums.matrix.shape
    if rows * people > MOST_CELLS:
        raise InvalidInputError(
            f"{rows:,} answers are fewer than {people:,} people, and too many to be taken apart",
            f"collect as many answers as there are people, or take at most {MOST_CELLS // people:,} answers",
            "too-few",
        )
    share = rate_of(sums, given.rate)
    members = sums.matrix.block(0, rows).astype(np.uint8)
    looked = Looked.of(members, sums.answers, share, np.ones(people, np.int64))
    wild = given.errors is not None and given.errors.law == "outliers"  # these move what least squares show
    fixed = share if given.rate is not None or wild else None
    rates, weights = rates_of(looked, given.errors, fixed)
    taken = fitting(looked.at(float(rates @ weights)), given.errors)
    rates, weights = rates_of(looked, taken, fixed)
    looked = looked.at(float(rates @ weights))
    found = averaged(looked, taken, rates, weights)
    doubted = given.errors is not None and taken != given.errors
    if given.errors is None or doubted or wild:
        right = np.minimum(np.asarray(found.right), UNSURE)
    else:
        right = tempered(np.asarray(found.right), _trust(sums, looked, given.errors, fixed))
    right = np.where(members.any(axis=0), right, np.minimum(right, UNSURE))
    return AttackedSums(
        sums=sums,
        decoded=replace(found, right=right),
        forecasts=(),
        trials=None,
        rate=looked.rate,
        stated=given.errors,
        doubted=doubted,
        unfit=False,
        truth=None,
        control=None,
        seconds=0.0,
    )


def rates_of(looked: Looked, errors: Errors | None, fixed: float | None) -> tuple[Floats, Floats]:
    """Rates of ones, and how likely each is after the answers: the one that is known, or the law above."""
    if fixed is not None:
        return np.array([fixed]), np.ones(1)
    noise, rate = variance_of(errors or UNKNOWN), looked.rate
    for _ in range(STEPS):
        share, known = looked.at(rate).seen(noise)
        share = min(max(share, 0.0), 1.0)
        rate = (1 + known * share) / (2 + known)
    deviation = (rate * (1 - rate) / (3 + known)) ** 0.5
    low, high = max(rate - WIDE * deviation, 0.0), min(rate + WIDE * deviation, 1.0)
    rates = low + (high - low) * (np.arange(RATES) + 0.5) / RATES
    logs = known * (share * np.log(rates) + (1 - share) * np.log1p(-rates))
    weights = np.exp(logs - logs.max())
    return rates, np.asarray(weights / weights.sum())


def averaged(looked: Looked, errors: Errors | None, rates: Floats, weights: Floats) -> Decoded:
    """The posterior means of all rates together."""
    found = [posterior_mean(looked.at(float(rate)), errors) for rate in rates]
    values = np.clip(np.average([one.values for one in found], axis=0, weights=weights), 0, 1)
    bits = (values > 0.5).astype(np.uint8)
    return replace(found[0], values=values, bits=bits, right=np.maximum(values, 1 - values))


def _trust(sums: Sums, looked: Looked, errors: Errors, fixed: float | None) -> float:
    """What log odds are multiplied by, from simulated data sets for these queries."""
    from privet.attacks.subsets.decoders.expected import simulated_answers  # noqa: PLC0415  brings numba

    rows, people = sums.matrix.shape
    random = np.random.default_rng(people)
    law = as_rounded(errors, sums.answers)
    rates, weights = rates_of(looked, errors, fixed)
    said: list[tuple[Floats, Truths]] = []
    for _ in range(min(max(WORK // (rows * people * RATES), FEWEST_RUNS), MOST_RUNS)):
        secrets = (random.random(people) < random.choice(rates, p=weights)).astype(np.float64)
        answers = simulated_answers(sums.matrix, secrets, law, random)
        again = looked.of_others(answers)
        found = averaged(again, errors, *rates_of(again, errors, fixed))
        said.append((np.asarray(found.right), found.bits == secrets))
    return trust_of(said)


def determined(attacked: AttackedSums) -> int | None:
    """People whose secret exact answers determine, by the row space alone. None: not exact, or too many to tell."""
    from privet.attacks.proofs.rowspace import row_space  # noqa: PLC0415  only here

    rows, people = attacked.sums.matrix.shape
    if attacked.stated is None or attacked.stated.law != "exact" or attacked.doubted or people > MOST_COLUMNS:
        return None
    return len(row_space(attacked.sums.matrix.block(0, rows).astype(np.int64)).inside)
