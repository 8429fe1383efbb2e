"""The complete words of one report of each kind, in a terminal and on a page. Facts are tested where they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.asked import N, answer, average, key, ledger, plan, query, question, total
from support.golden import no_others, same_words, words_of_page
from support.made_audits import broken, fine, floats, laplace, small
from support.made_findings import block, likely, nobody

import privet as pv
from privet import attacks
from privet.attacks.finding import Findings
from privet.attacks.pseudonyms.hash_search import Sweep
from privet.audits import Audit, Checks
from privet.compare import Comparison, Measured
from privet.core.measures import Role
from privet.report.answer.text import html
from privet.report.audit.page import page_of as page_of_audit
from privet.report.budget_text import budget_text
from privet.report.compare.page import page_of as page_of_comparison
from privet.report.findings.page import page_of as page_of_findings
from privet.report.page import to_html
from privet.report.terminal import Pen
from privet.stats.intervals import Interval

FOLDER = Path(__file__).parent / "golden"
CLASSES = (
    ("130**", "<30", ("AIDS", "Heart Disease", "Viral Infection", "Viral Infection")),
    ("1485*", ">=40", ("Cancer", "Heart Disease", "Viral Infection", "Viral Infection")),
    ("130**", "3*", ("Cancer", "Cancer", "Cancer", "Cancer")),
)


# What attacks found


def tables() -> Findings:
    women = {"name": "women", "where": "sex = 'F'", "count": 2, "mean": {"age": 30.0}}
    everybody = {"name": "everybody", "count": 3, "mean": {"age": 40.0}}
    published = attacks.published_tables(
        attributes={"sex": ["F", "M"], "smokes": "boolean", "age": {"min": 0, "max": 99}},
        statistics=[everybody, women, {"name": "smokers", "where": "smokes", "count": 3}],
        public=["sex"],
    )
    return attacks.attack_tables(published)


def differencing() -> Findings:
    return attacks.attack_differencing(attacks.two_releases(before=(4, 2436), after=(5, 2437), joined="Ada"))


def anonymized() -> Findings:
    rows = [(place, age, value) for place, age, values in CLASSES for value in values]
    frame = pd.DataFrame(rows, columns=["zip", "age", "condition"])
    return attacks.attack_anonymized(frame, ["zip", "age"], "condition", known=[{"zip": "13012", "age": 28}])


def voters() -> pd.DataFrame:
    rows = [(f"person {n}", "FM"[n % 2], 20 + n % 50, 10_000 + 7 * n % 90) for n in range(120)]
    return pd.DataFrame(rows, columns=["name", "sex", "age", "zip"])


def linkage() -> Findings:
    released = [
        (f"{age // 10}0-{age // 10}9", sex, f"{place // 10}*", ("flu", "asthma")[n % 2])
        for n, (_, sex, age, place) in enumerate(voters().itertuples(index=False))
    ]
    frame = pd.DataFrame(released, columns=["age", "sex", "zip", "diagnosis"])
    return attacks.attack_linkage(frame, voters()).findings


def scoreboard() -> Findings:
    rows = {(f"u{p}", f"i{(p * p + k * (p % 7 + 1)) % 97}"): 1 + (p + k) % 5 for p in range(60) for k in range(12)}
    seen = [(person, item, stars) for (person, item), stars in rows.items()]
    known = [row for person in ("u0", "u1", "u2", "u3") for row in [row for row in seen if row[0] == person][:6]]
    return attacks.attack_scoreboard(
        pd.DataFrame(seen, columns=["person", "item", "stars"]),
        pd.DataFrame(known, columns=["target", "item", "stars"]),
        target="target", value="stars", rate=0.05,
    )  # fmt: skip


def uniqueness() -> Findings:
    return attacks.attack_uniqueness(voters(), on=["sex", "age", "zip"])


def pseudonyms() -> Findings:
    hashes = [hashlib.md5(one.encode()).hexdigest() for one in ("5X55", "7Q42", "5X55")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sweep, "pace", lambda _: (1e6, 0.0))  # or it is that of this machine
        return attacks.attack_pseudonyms(hashes, formats=["9A99"]).findings


def membership() -> Findings:
    draw = np.random.default_rng(1)
    usual = draw.random(400)
    patients, others, reference = ((draw.random((n, 400)) < usual).astype(int) for n in (30, 60, 90))
    asked = np.concatenate([patients, others])
    return attacks.attack_membership(patients.mean(axis=0), asked, reference=reference, size=30, members=np.arange(30))


class Memory:
    """Nearly sure of the rows that it was trained on."""

    def __init__(self, rows: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> None:
        self.known = dict(zip(rows[:, 0].tolist(), labels.tolist(), strict=True))

    def predict_proba(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        usual = 0.5 + rows[:, 0] / 1000
        second = [
            {0: 0.1, 1: 0.95}.get(self.known.get(row, 2), own) for row, own in zip(rows[:, 0], usual, strict=True)
        ]
        return np.column_stack([1 - np.array(second), second])


def model() -> Findings:
    rows, labels = np.arange(80.0)[:, None], np.arange(80) % 2
    members, others = (rows[:40], labels[:40]), (rows[40:], labels[40:])
    promise = attacks.privacy(1)
    return attacks.attack_model(Memory(*members), members, others, refit=Memory, shadows=16, models=3, privacy=promise)


def versions() -> Findings:
    rows, labels = np.arange(400.0)[:, None], np.arange(400) % 2
    order = np.random.default_rng(1).permutation(400)
    base, added, removed, others = (order[start:end] for start, end in ((0, 20), (20, 60), (60, 64), (64, 400)))
    before, after, asked = (np.concatenate(parts) for parts in ((base, removed), (base, added), (added, removed)))
    pair = Memory(rows[before], labels[before]), Memory(rows[after], labels[after])
    truth = ["added"] * 40 + ["removed"] * 4
    return attacks.attack_versions(*pair, (rows[asked], labels[asked]), (rows[others], labels[others]), truth=truth)


def attributes() -> Findings:
    """The model is nearly sure of the label of members, and of nothing if a value of theirs is changed."""
    draw = np.random.default_rng(1)
    rows, labels = np.column_stack([draw.integers(0, 2, 240), draw.permutation(240)]), draw.integers(0, 2, 240)
    known = dict(zip(map(tuple, rows[:80].tolist()), labels[:80].tolist(), strict=True))

    def service(asked: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        second = np.array([{0: 0.1, 1: 0.9}.get(known.get((a, b), 2), 0.5) for a, b in asked.tolist()])
        return np.column_stack([1 - second, second])

    people = (rows[:80], labels[:80]), (rows[80:], labels[80:])
    return attacks.attack_attributes(service, *people, sensitive="smoker", columns=["smoker", "age"])


class Level(Memory):
    """Knows nobody."""

    def __init__(self, *_: object) -> None:
        self.known = {}


def model_comparison() -> Findings:
    rows, labels = np.arange(80.0)[:, None], np.arange(80) % 2
    members, others = (rows[:40], labels[:40]), (rows[40:], labels[40:])
    return attacks.compare_models(Memory, Level, members, others, privacy=attacks.privacy(1), shadows=16, models=3)


def regimes() -> Findings:
    return attacks.attack_regimes(people=20, statistics=30)


def subsets() -> Findings:
    draw = np.random.default_rng(1)
    queries, secrets = draw.integers(0, 2, (60, 20)), draw.integers(0, 2, 20)
    return attacks.attack_subsets(queries, queries @ secrets, errors=attacks.Errors("exact"), truth=secrets)


def counter() -> Findings:
    arrived = np.random.default_rng(1).integers(0, 2, 40)
    return attacks.attack_counter(np.cumsum(arrived), errors=attacks.Errors("exact"), rate=0.5, truth=arrived)


ATTACKS: dict[str, Callable[[], Findings]] = {
    "attack-tables": tables, "attack-differencing": differencing, "attack-anonymized": anonymized,
    "attack-linkage": linkage, "attack-scoreboard": scoreboard, "attack-uniqueness": uniqueness,
    "attack-pseudonyms": pseudonyms, "attack-membership": membership, "attack-regimes": regimes,
    "attack-model": model, "attack-model-comparison": model_comparison, "attack-versions": versions,
    "attack-attributes": attributes,
    "attack-subsets": subsets, "attack-counter": counter,
    "findings-all": block, "findings-some": likely, "findings-none": nobody,
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_what_an_attack_found(name: str) -> None:
    found = replace(ATTACKS[name](), seconds=0.0)
    _both(name, str(found), to_html(page_of_findings(found)))


# What audits found, and plans side by side


AUDITS: dict[str, Callable[[], Audit | Checks]] = {
    "audit-consistent": laplace,
    "audit-violated": floats,
    "audit-undecided": small,
    "audit-checks": fine,
    "audit-checks-violated": broken,
}


@pytest.mark.parametrize("name", AUDITS)
def test_what_an_audit_found(name: str) -> None:
    found = AUDITS[name]()
    _both(name, found.text(), to_html(page_of_audit(found)))


def test_plans_side_by_side() -> None:
    none, few, most = Interval(0.0, 0.0, 0.01), Interval(0.2, 0.15, 0.25), Interval(0.9, 0.85, 0.95)
    ways = (
        Measured(name="as it is", guarantee="none", ncp=0.0, suppressed=0.0, error=0.0, alone=0.8, certain=most,
                 together=most, success=most, control=few, advantage=most),
        Measured(name="k = 5", guarantee="none", ncp=0.3, suppressed=0.04, error=0.12, alone=0.0, certain=few,
                 together=few, success=few, control=few, advantage=none),
        Measured(name="k = 100", guarantee="none", problem="no choice of levels keeps any record"),
        Measured(name="noisy tables, epsilon 1", guarantee="epsilon 1", error=0.05, alone=0.0, certain=none,
                 together=none, success=few, control=few, advantage=none),
    )  # fmt: skip
    found = Comparison(
        subject="people.csv", quasi=("age", "sex"), sensitive="ill", records=600, baseline=few, ways=ways, seconds=0.0
    )
    _both("compare", str(found), to_html(page_of_comparison(found)))


# Questions, answers and budgets


def test_a_question_is_explained(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        asked = question(plan((key("sex"),), N, average("mean", "cost"), total("sum", "cost")), epsilon="0.5")
        same_words(FOLDER / "explain.txt", query(asked, book).explain())


def test_an_answer() -> None:
    asked = question(plan((key("sex"),), N, average("mean", "cost")), epsilon=1)
    counts = [100 + 7 * place for place in range(asked.cells.count)]
    sides = [*(190_000 * count for count in counts), *(310_000 * count for count in counts)]
    shown = answer(asked, *(sides if part.measure.role is Role.PAIR else counts for part in asked.parts))
    _both("answer", str(shown), html(shown))


def test_a_budget(tmp_path: Path) -> None:
    frame = {"id": list(range(20)), "age": list(range(20, 40))}
    with pv.create(tmp_path / "clinic.privet", budget=pv.Budget(1, "1e-6"), testing=True) as vault:
        vault.add_table("visits", frame, unit="id", columns={"age": pv.Integer(0, 120)})
        vault.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.25").release()
        vault.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5", analyst="anna").release()
        same_words(FOLDER / "budget.txt", budget_text(vault, None, Pen(color=False)))


def test_what_a_price_means() -> None:
    same_words(FOLDER / "meaning.txt", str(pv.meaning(epsilon=1, delta="1e-6", prior="0.01")))


def test_every_golden_file_belongs_to_a_test() -> None:
    no_others(FOLDER, {*ATTACKS, *AUDITS, "compare", "explain", "answer", "budget", "meaning"})


def _both(name: str, text: str, page: str) -> None:
    same_words(FOLDER / f"{name}.txt", f"{text}\n\n==== the page ====\n\n{words_of_page(page)}")
