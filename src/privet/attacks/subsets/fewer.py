"""Fewer answers than people: many data sets fit, and still some people's secrets may be found.

Each person has the probability of the linear posterior mean (`predicates_mean`): near the rate of all where the answers
say nothing of this person, near 0 or 1 where they do. With exact answers, anyone whose unit vector lies in the row
space of the queries is determined, by linear algebra alone. Bits that are the same in every data set that fits are
proven as elsewhere (`findings.proofs`), where a data set that fits is found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.attacks.subsets.forecast import UNSURE
from privet.attacks.subsets.subset_sums import AttackedSums, KnownBits, Sums, rate_of
from privet.errors import InvalidInputError

MOST_CELLS = 1 << 23  # of queries and people: a singular value decomposition
MOST_COLUMNS = 2000  # people for whom the row space is computed


def attacked_few(sums: Sums, given: KnownBits) -> AttackedSums:
    """There is no forecast for these; what is expected is the mean of all probabilities. A size of errors that nobody
    stated, or that the answers do not fit, makes nobody sure."""
    from privet.attacks.subsets.predicates_mean import Looked, fitting, posterior_mean  # noqa: PLC0415  it knows sums

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
    taken = fitting(looked, given.errors)
    found = posterior_mean(looked, taken)
    doubted = given.errors is not None and taken != given.errors
    if given.errors is None or doubted or given.errors.law == "outliers":
        found = replace(found, right=np.minimum(np.asarray(found.right), UNSURE))
    return AttackedSums(
        sums=sums,
        decoded=found,
        forecasts=(),
        trials=None,
        rate=share,
        stated=given.errors,
        doubted=doubted,
        unfit=False,
        truth=None,
        control=None,
        seconds=0.0,
    )


def determined(attacked: AttackedSums) -> int | None:
    """People whose secret exact answers determine, by the row space alone. None: not exact, or too many to tell."""
    from privet.attacks.proofs.rowspace import row_space  # noqa: PLC0415  only here

    rows, people = attacked.sums.matrix.shape
    if attacked.stated is None or attacked.stated.law != "exact" or attacked.doubted or people > MOST_COLUMNS:
        return None
    return len(row_space(attacked.sums.matrix.block(0, rows).astype(np.int64)).inside)
