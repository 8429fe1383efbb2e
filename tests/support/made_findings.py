"""Made-up results of attacks, for the tests of what is shown of them."""

from __future__ import annotations

from fractions import Fraction

from privet.attacks.finding import Finding, Findings, Score, ShownTable, Strength
from privet.stats.intervals import Interval

NASTY = '<script>alert("1")</script>&\n\x1b[31m\u202e\ud800'
BLOCK = (
    ("F", "8", "Black", "single", "2A female; 3A single adults"),
    ("M", "18", "White", "single", "2B male; 3A single adults; 4A Black or white"),
    ("F", "24", "White", "single", "2A female; 4B white female"),
    ("F", "30", "White", "married", "3B married adults; 4B white female"),
    ("F", "36", "Black", "married", "2C Black female; 3B married adults"),
    ("M", "66", "Black", "married", "2D Black male; 5A 65 and older"),
    ("M", "84", "Black", "married", "1A all; 2D Black male; 5A 65 and older"),
)


def block() -> Findings:
    """Everybody of a small block is certain."""
    found = tuple(
        Finding(
            claim=f"{'A woman' if sex == 'F' else 'A man'} of {age} lives here",
            strength=Strength.PROOF,
            record={"sex": sex, "age": age, "race": race, "married": married},
            evidence=tuple(cells.split("; ")),
            reasoning="48.5 × 4 − 36.7 × 3 = 84" if age == "84" else "",
        )
        for sex, age, race, married, cells in BLOCK
    )
    repair = ShownTable(
        "Repair: leave out one statistic",
        "Without this one statistic so many people are still certain, and so many data sets fit.",
        ("statistic", "still certain", "data sets that fit"),
        (("3B married adults", "2", "22"), ("4A Black or white", "5", "3"), ("2A female", "7", "1")),
    )
    return Findings(
        attack="tables",
        subject="census-block.toml",
        headline="7 of 7 people are certain",
        people=7,
        proven=7,
        findings=found,
        tables=(repair,),
        assumptions=("The published numbers are right.", "Ages are whole years from 0 to 115."),
        not_tried=("Leaving out two statistics at once.",),
        numbers={"solutions": 1, "proven": 7, "share": Fraction(1, 2), "people": "not this one"},
        seconds=0.84,
    )


def thousand() -> Findings:
    """Most people of a town, with the truth at hand."""
    found = tuple(
        Finding(
            claim=f"{1 + number % 4} people are {number % 90} years old",
            strength=(Strength.PROOF, Strength.RESOLVED, Strength.CONFIDENCE)[number % 3],
            people=1 + number % 4,
            record={"age": str(number % 90), **({"race": "B"} if number % 2 else {})},
            evidence=tuple(f"table {cell}, row {number}" for cell in range(number % 40)),
            confidence=0.99999 if number % 3 == 2 else None,
        )
        for number in range(311)
    )
    score = Score(
        claimed=778,
        right=778,
        success=Interval(0.861, 0.838, 0.882),
        baseline=Interval(0.312, 0.283, 0.342),
        control=Interval(0.295, 0.267, 0.324),
    )
    rows = tuple((f"{a} by {b}", f"{a * b:,}", f"{a / 7:.1f} %") for a in range(15) for b in range(15))
    return Findings(
        attack="tables",
        subject="three-way tables of 1,000 people",
        headline="778 of 1,000 people are certain",
        people=1000,
        proven=778,
        findings=found,
        tables=(
            ShownTable("Repair", "Publish the age in steps of five years: 41 people are certain then."),
            ShownTable("Table by table", "", ("table", "certain", "share"), rows),
        ),
        score=score,
        not_tried=("Tables with more than three attributes.", "Side knowledge about families."),
        assumptions=("Nobody was counted twice.",),
        seconds=8.31,
    )


def nobody() -> Findings:
    return Findings(
        attack="differencing",
        subject="week-1.csv and week-2.csv",
        headline="None of 2,437 people is certain",
        people=2437,
        proven=0,
        findings=(),
        assumptions=("One person joined.",),
        not_tried=("Combining more than two weeks.",),
        seconds=0.01,
    )


def likely() -> Findings:
    """Some of a few people, and two who are only likely."""
    return Findings(
        attack="differencing",
        subject="salaries before and after a hire",
        headline="3 of 25 people are certain",
        people=25,
        proven=3,
        findings=(
            Finding(
                claim="The newcomer earns 61,000",
                strength=Strength.PROOF,
                people=3,
                record={"salary": "61,000"},
                evidence=("March: mean of 24 people", "April: mean of 25 people"),
                reasoning="25 × 50,440 − 24 × 50,000 = 61,000",
            ),
            Finding(claim="Somebody is ill", strength=Strength.CONFIDENCE, people=2, confidence=0.93),
        ),
        score=Score(
            claimed=3,
            right=2,
            success=Interval(0.6, 0.4, 0.8),
            baseline=Interval(0.5, 0.3, 0.7),
            control=None,
        ),
        seconds=0.2,
    )


def nasty() -> Findings:
    """Long names, many cells, markup and terminal commands in every text."""
    long = "Abteilung für außerordentlich lange und niemals umbrochene Bezeichnungen " * 4
    wide = "統計表" * 60
    found = tuple(
        Finding(
            claim=f"{NASTY} {long}{'x' * 300}",
            strength=strength,
            people=people,
            record={NASTY: NASTY, "place": wide, **{f"attribute {n}": "y" * 50 for n in range(12)}},
            evidence=(NASTY, "unbroken_" * 30, *(f"cell {n}" for n in range(130))),
            reasoning=f"{'1+' * 200}1 = {NASTY}",
            confidence=0.5,
        )
        for strength, people in ((Strength.CONFIDENCE, 1), (Strength.PROOF, 1234))
    )
    columns = tuple(f"column {n} {'z' * 20}" for n in range(12))
    table = ShownTable(f"Title {NASTY}{long}", NASTY + long, columns, ((*columns[:10], NASTY, long), columns))
    return Findings(
        attack="tables",
        subject=NASTY + "s" * 200,
        headline=f"1,234 of an unknown number of people are certain {NASTY}",
        people=None,
        proven=1234,
        findings=found,
        tables=(table,),
        assumptions=(NASTY + long, "w" * 400),
        not_tried=(wide,),
        seconds=1234.5,
    )


SAMPLES = {"block": block, "thousand": thousand, "nobody": nobody, "likely": likely, "nasty": nasty}
