"""The story of `privet demo` for a terminal of 100 columns, for somebody new to differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.report.answer.text import TextColumn, columns, table_lines
from privet.report.terminal import Pen, fixed, percent, share_at_least, share_at_most

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.demo.story import ExactStory, Private, Story, Uniform
    from privet.demo.table_story import StoryTable

BAR = 30  # letters


def page(story: Story, picture: str, pen: Pen) -> str:
    """At most 84 lines."""
    exact = story.exact
    parts = [
        [
            pen.head("Privet demo: one newcomer in a hospital"),
            f"A hospital with {exact.first.patients:,} (made-up) patients publishes every week how many are ill, and"
            " their average age.",
            "One person joins. What do readers of the published numbers learn about that newcomer?",
        ],
        _exact(exact, pen),
        _uniform(story.uniform, exact, pen),
        _private(story.private, exact, pen),
        _budget(story.private, pen),
        _table(story.table, pen),
        [
            "You have seen one hospital, one house and a few attacks. That privacy holds is a theorem, not a demo.",
            "  attack your own tables              privet attack tables FILE.toml, privet preflight WORKBOOK.xlsx",
            f"  picture: why noise needs no edges   {picture}",
            "  the promise, and its limits         docs/privacy-promise.md",
            "  proofs, each with a test            docs/claims.md",
            "  these pages, and files to try       privet demo --files .",
        ],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _exact(exact: ExactStory, pen: Pen) -> list[str]:
    first, second = exact.first, exact.second
    new = second.ill - first.ill
    diagnosis = "is ill" if new else "is healthy"
    product = f"{second.patients:,} x {_age(second.age)} - {first.patients:,} x {_age(first.age)}"
    total = second.patients * second.age - first.patients * first.age
    ages = " or ".join(map(str, exact.ages))
    return [
        pen.head("1  Exact answers"),
        *(
            f"   week {number}   {week.patients:,} patients, {week.ill} ill, average age {_age(week.age)}"
            for number, week in ((1, first), (2, second))
        ),
        f"   {second.patients - first.patients} person joined, {new} more case: the newcomer {pen.bad(diagnosis)}.",
        f"   {product} = {fixed(total, 1)}: the newcomer is {pen.bad(ages)} years old; no other age fits.",
    ]


def _uniform(uniform: Uniform, exact: ExactStory, pen: Pen) -> list[str]:
    only_healthy, only_ill = (" or ".join(map(str, x)) for x in (uniform.proves_healthy, uniform.proves_ill))
    one, every = uniform.certain_one_week, uniform.certain_all_weeks
    return [
        pen.head(f"2  A little noise: add a whole number from -{uniform.reach} to {uniform.reach}, all equally likely"),
        f"   To somebody who knows all the others, the true count is {exact.first.ill} (newcomer healthy) or"
        f" {exact.first.ill + 1} (ill).",
        f"   {only_healthy} is published only if healthy, {only_ill} only if ill: {pen.bad('certain')} again."
        f" Chance: {one} = {percent(one)} a week,",
        f"   {pen.bad(percent(every))} in {uniform.weeks} weeks. Tried {uniform.runs:,} times with fresh noise:"
        f" certain in {percent(uniform.simulated_certain)}, wrong in {uniform.simulated_wrong}.",
    ]


def _private(private: Private, exact: ExactStory, pen: Pen) -> list[str]:
    return [
        pen.head(f"3  Differential privacy: a vault with a budget of epsilon {_number(private.budget)}"),
        f"   {private.question}   -- epsilon {_number(private.price)} a week",
        *(f"   {line}" for line in _weeks(private.weeks)),
        f"   The same attack now finds {private.cases} more cases and a newcomer aged {fixed(private.age, 0)}:"
        f" {_verdict(private, exact, pen)}.",
        "   Somebody who knows all the others and makes the best guess from week 2's count, ill or healthy, is",
        f"   right {pen.good(share_at_most(private.best_guess))} of the time (a coin: 50 %). Tried"
        f" {private.runs:,} times with fresh noise: {percent(private.simulated_guess)}.",
        f"   {exact.first.ill} cases drown in the noise. Large numbers do not, and that makes it useful:",
        f"   {private.ward_question}",
        *(f"   {line}" for line in table_lines(columns(private.wards))),
    ]


def _verdict(private: Private, exact: ExactStory, pen: Pen) -> str:
    right = (private.cases == exact.second.ill - exact.first.ill) + (round(private.age) in exact.ages)
    return (pen.good("both wrong"), "one of them right, by luck", "both right, by luck")[right]


def _weeks(answers: Sequence[Answer]) -> list[str]:
    """One row a week: each answer has one row."""
    names = TextColumn(name="", cells=[f"week {number}" for number, _ in enumerate(answers, 1)])
    return table_lines([names, *(_stacked(parts) for parts in zip(*map(columns, answers), strict=True))])


def _stacked(parts: Sequence[TextColumn]) -> TextColumn:
    return TextColumn(
        name=parts[0].name,
        cells=[cell for part in parts for cell in part.cells],
        intervals=[cell for part in parts for cell in part.intervals or ()],
    )


def _budget(private: Private, pen: Pen) -> list[str]:
    low, high = share_at_least(private.belief.low), share_at_most(private.belief.high)
    filled = min(BAR, int(-(-private.spent * BAR // private.budget)))
    bar = "#" * filled + "." * (BAR - filled)
    again = "free, answered from the ledger" if private.again_is_free else "charged again"
    return [
        pen.head("4  The budget"),
        f"   [{bar}]  epsilon {_number(private.spent)} of {_number(private.budget)} spent",
        f"   the same question again   {again}",
        f"   one more question         {pen.bad('refused')}: {private.refused}",
        f"   the ledger                {private.entries} entries, verified: nothing was changed or removed",
        "   So whatever is asked: anyone who thinks it 50 % likely that a certain person is a patient there at all",
        f"   {pen.good(f'stays between {low} and {high}')} sure, whatever else they know.",
    ]


def _table(table: StoryTable, pen: Pen) -> list[str]:
    """A small table, the people it gives away, and the same under privacy."""
    shown = [row for row in table.rows if row.count is not None]
    hidden = [row.group for row in table.rows if row.count is None]
    columns_shown = [
        TextColumn(name="", cells=[row.group for row in shown]),
        TextColumn(name="people", cells=[f"{row.count:>6}" for row in shown]),
        TextColumn(name="median age", cells=[f"{row.median:>10g}" for row in shown]),
        TextColumn(name="mean age", cells=[f"{row.mean:>8.1f}" for row in shown]),
    ]
    people = ", ".join(f"{one.sex} {one.age}{' smokes' if one.smokes else ''}" for one in table.records)
    fits = "Only one data set fits" if table.data_sets == 1 else f"{table.data_sets:,} data sets fit"
    right = "right about everybody" if table.right else "not right about everybody"
    return [
        pen.head(f"5  A published table: the {table.people} (made-up) people of one house"),
        *(f"   {line}" for line in table_lines(columns_shown)),
        f"   Too few to be shown: {', '.join(hidden)}.",
        f"   {fits}. Proven: {pen.bad(f'{table.certain} of {table.people} people')}, and {right}:",
        f"   {people}",
        f"   The same under privacy, epsilon {_number(table.price)} per question:",
        *(f"   {line}" for answer in table.answers for line in table_lines(columns(answer))),
        f"   {_still(table, pen)}",
    ]


def _still(table: StoryTable, pen: Pen) -> str:
    if table.refused:
        return f"The same attack finds {pen.good('nothing')}: no data set fits noisy numbers."
    certain = "nobody" if not table.still_certain else f"{table.still_certain} who would follow if all intervals held"
    return (
        f"The same attack finds {pen.good(certain)}. Such numbers are useless for seven people, but not for thousands."
    )


def _age(age: Fraction) -> str:
    return fixed(age, 4)


def _number(number: Fraction) -> str:
    return f"{float(number):g}"
