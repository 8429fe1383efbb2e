"""The owner's object: a folder with declarations and a ledger. The data stay where they are."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self, cast

from privet.backends.duckdb import DuckDb
from privet.backends.origins import check_unit_wise
from privet.backends.table_fit import TableFit
from privet.backends.unreadable import Unread
from privet.catalog import vault_file
from privet.catalog.declarations import (
    LIMITS,
    OPTIONS,
    Catalog,
    Source,
    Table,
    defaults,
    limit_of,
    listed,
    portable,
    with_limits,
)  # fmt: skip
from privet.catalog.file_kinds import ENDINGS, kind_of
from privet.core.accountant import Budget
from privet.core.loss import parallel
from privet.core.origin import origin_of, rows_of_a_unit, tables_in
from privet.core.partition import Partition, of_part, of_part_by_row
from privet.core.plan import Plan
from privet.core.rational import positive, show
from privet.core.schema import Kind
from privet.core.sensitivity import Bounds
from privet.core.shape import shape_of_kind
from privet.core.weights import weight_from
from privet.engine import FreshNoise, Gate, NoiseSource
from privet.errors import InvalidInputError, PrivetError, RefusedQueryError
from privet.estimates.fitting import fitting, obstacle
from privet.estimates.implied import tightened
from privet.estimates.priced import Outline, Priced, outline, with_fewest_groups
from privet.estimates.pricing import ALL_GROUPS, EARLIER, Wanted, ask, ways_of
from privet.ledger import Ledger, Terms
from privet.query import Query
from privet.spelling import did_you_mean
from privet.vault.budget_reading import BudgetReading
from privet.vault.folder import DECLARATIONS, check_domain, check_protection, with_parts
from privet.vault.keywords import known_keywords, unknown_keyword
from privet.vault.options import Options
from privet.vault.seen_files import SeenFiles

if TYPE_CHECKING:
    from privet.frame import Frame, Summary
    from privet.learn.cross_validation import CrossValidation, CrossValidationPlan
    from privet.learn.table_fit import FitPlan
    from privet.suggest import Suggestion

SOURCE = {part.name for part in fields(Source)} - {"path"}  # which is `data`


class Vault:
    """Made by `privet.create` and `privet.open`. Close it, or use it in a `with` block."""

    def __init__(self, folder: Path, declared: Catalog, ledger: Ledger) -> None:
        self.folder = folder.absolute()  # whatever folder we are in later
        self.ledger = ledger
        self._catalog = declared
        self._memory: dict[str, object] = {}
        self._unread: dict[str, tuple[Unread, ...]] = {}
        self._declared: dict[str, tuple[object, Table]] = {}  # as it stands in the file of these marks
        self._backend = DuckDb(self.base, self._memory)
        self._files = SeenFiles(folder=self.folder, backend=self._backend)
        self._noise: NoiseSource = FreshNoise()
        self.note = ""  # what whoever looks at a frame of it should know

    @property
    def base(self) -> Path:
        """Where relative paths start: the folder that holds the vault."""
        return self.folder.parent

    @property
    def tables(self) -> Mapping[str, Table]:
        return self._catalog.tables

    @property
    def terms(self) -> Terms:
        return self.ledger.terms

    @property
    def budget(self) -> BudgetReading:
        return self.budget_of(None)

    def budget_of(self, analyst: str | None) -> BudgetReading:
        """The budget of all (None), or of one analyst: a grant if there is one, otherwise the cap of all."""
        cap = None if analyst is None else self.ledger.granted(analyst)
        if cap is None:
            return self._reading(None)
        spent = self.ledger.spent(analyst)
        return BudgetReading(cap=cap, spent=spent.loss, over=spent.over, holds=spent.holds)

    def budget_of_part(self, part: str) -> BudgetReading:
        """The budget of one part: what was asked about everybody counts there, and what was asked about it.

        Replacing a unit can take it to another part: then it is the worst of what this part has with each other one.
        """
        return self._reading(part)

    def _reading(self, part: str | None) -> BudgetReading:
        """Of several budgets what is spent is the most, on each gauge by itself."""
        found = self.ledger.readings(part)
        return BudgetReading(
            cap=self.terms.budget,
            spent=parallel([one.spent.loss for one in found]),
            over=parallel([one.spent.over for one in found]),
            holds=all(one.spent.holds for one in found),
            budgets=found,
        )

    def partition(self, table: str, column: str) -> Partition:
        """Divide the units into parts, such as hospitals, once and forever: each part then has the whole budget for
        questions about it alone (`vault.sql(..., part="north")`), and questions about everybody are charged to all.

        `column` is a category of `table`; its values are the parts. A unit with several is in the first of them as
        they were declared, one without any is in none. The table cannot be updated from now on: nobody changes parts.
        """
        partition = self._catalog.divided(table, column)
        self.ledger.divide(partition, self._check_unchanged)
        self._catalog = with_parts(self.folder, self._catalog, self.ledger)
        return partition

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the units; none if they are not divided."""
        partition = self.ledger.partition
        return () if partition is None else partition.parts

    @known_keywords(SOURCE)
    def add_table(  # noqa: PLR0913  the public contract
        self,
        name: str,
        data: object,
        *,
        unit: str | EllipsisType | None = ...,
        columns: Mapping[str, Kind],
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        max_rows: int | None = None,
        public: bool = False,
        key: str | Sequence[str] = (),
        writing: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Table:
        """Declare a table: where its rows are, whom to protect, which values there can be.

        `data` is a path or a data frame (given again with `attach` in every process). `unit` is the column that names
        a person, or None if each row by itself is one; in how many groups of an answer a person counts, with how many
        rows in each, or with how many rows in all, is up to you: 1 and 1, if nothing is said. `options` say how to
        read the data, such as delimiter=";", encoding="cp1252", missing=["NA"].

        A `public` table may be read by everybody and has no unit; questions join it to others. `key` names the columns
        that tell its rows apart. `writing` says how the texts of single columns are written: {"cost": {"marks": ["$"],
        "thousands": ","}, "day": {"date_format": "%m/%d/%Y"}, "arrival": {"offset": "utc"}}.

        Raises InvalidInputError if nearly all values of a column cannot be read; `unreadable` says how many cannot.
        """
        if public and isinstance(unit, EllipsisType):
            unit = None
        if isinstance(unit, EllipsisType):
            raise InvalidInputError(
                f"table {show(name)} does not say whom to protect",
                'give unit="patient_id" (all rows of a person), or unit=None if each row is one person',
                "missing-unit",
            )
        limits = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group, "max_rows": max_rows}
        source = self._source(data, options)
        table = Table(
            name=name,
            source=source,
            unit=unit,
            columns=columns,
            public=bool(public),
            key=(key,) if isinstance(key, str) else tuple(key),
            writing={} if writing is None else writing,
            **with_limits(limits),
        )
        return self._keep(Catalog.with_table, table, data)

    def declare(self, table: Table) -> Table:
        """The same for a declaration as it was read from a file, such as a draft that the owner has edited."""
        return self._keep(Catalog.with_table, table, None)

    def check(self, name: str, *, digest: bool = False) -> bool:
        """For the owner: raise InvalidInputError unless the declared columns can be read, of files that are the same as
        when the table was declared. It touches the data. With `digest` files are the same if their content is; False if
        nothing was noted to compare it with."""
        table = self.declaration(name)
        self._unread[name] = self._backend.check(table)
        self._backend.check_unread(table, self._unread[name])
        compared = not digest or self._files.compare(table, divides=self._divides(table))
        self._files.check_same(table, divides=self._divides(table))
        return compared

    def unreadable(self, name: str) -> dict[str, tuple[int, int]]:
        """For the owner: of each column with values that cannot be read as declared, and so count as missing, how many
        these are, and of how many values. As counted when the table was last added, updated or checked here."""
        if name not in self._unread:
            self._unread[name] = self._backend.check(self.declaration(name))
        return {one.column: (one.unread, one.values) for one in self._unread[name] if one.unread}

    def check_fit(self, name: str) -> TableFit:
        """For the owner: how many rows the limits of a table keep, how many values its ranges clamp, how many are
        missing or cannot be read, and what to declare instead. It touches the data, as `check` does, which it runs."""
        self.check(name)
        return self._backend.fit(self.declaration(name))

    @known_keywords(SOURCE, ("columns", "unit", "public", "key", "writing", *LIMITS))
    def update_table(self, name: str, data: object = None, **changes: Any) -> Table:
        """New data or declarations under the same name. The version goes up; what was spent stays spent."""
        old = self.declaration(name)
        known = ("columns", "unit", "public", "key", "writing", *LIMITS)
        declared: dict[str, Any] = {name: changes.pop(name) for name in known if name in changes}
        if isinstance(declared.get("key"), str):
            declared["key"] = (declared["key"],)
        if data is not None:
            kept = {} if _kind(data, changes) != old.source.kind else _given(old.source)
            declared["source"] = self._source(data, {**kept, **changes})
        elif changes:
            declared["source"] = replace(old.source, **changes)
        table = replace(old, **declared, version=old.version + 1)
        return self._keep(Catalog.updated, table, data)

    def remove_table(self, name: str) -> int:
        """Forget the declaration of a table, and give its last version back. What was spent stays spent, its answers
        stay in the ledger, and its files stay where they are. A table of the same name that is added later has a
        higher version, so that no answer about the old one is given for it, and protects the same unit."""
        self.declaration(name)
        with self.ledger.exclusive():
            self._check_unchanged()
            self._check_charged(self.declaration(name))
            declared = self._catalog.without_table(name)
            vault_file.write(self.folder / DECLARATIONS, declared)
            self._catalog = declared
            self._files.forget(name)
        self._memory.pop(name, None)
        self._unread.pop(name, None)
        self._backend.forget(name)
        return declared.last_removed(name)

    def attach(self, name: str, data: object) -> None:
        """Give a table that lives in memory its data frame again. The declarations and the version stay."""
        table = self.declaration(name)
        if table.source.kind != "memory":
            raise InvalidInputError(f"table {show(name)} is read from a file", "use update_table", "not-supported")
        with self._tried(table, data):
            pass

    def declaration(self, name: str) -> Table:
        """What the owner said about a table."""
        if name not in self.tables:
            raise InvalidInputError(
                f"there is no table {show(name)}",
                did_you_mean(name, self.tables) + f"the tables are: {', '.join(self.tables) or 'none'}",
                "unknown-table",
            )
        return self.tables[name]

    def table(self, name: str) -> Frame:
        """A table to ask by method calls, as data frames are: .filter(...).group_by("ward").agg(n=pv.count())."""
        from privet.frame import frame_of  # noqa: PLC0415  it reads like SQL, which takes a while to import

        return frame_of(self, self.declaration(name).name, self.note)

    @known_keywords()
    def sql(  # noqa: PLR0913  the public contract
        self,
        text: str,
        *,
        epsilon: object = None,
        delta: object = None,
        rho: object = None,
        within: Wanted = None,
        expected: Wanted = None,
        analyst: str = "",
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
        max_rows: int | None = None,
        bounds: Suggestion | str | None = None,
        private_keys: bool = False,
        other: str | None = None,
        weight: str | None = None,
        part: str | None = None,
        quantile_intervals: bool = True,
    ) -> Query:
        """A question in SQL at a price. Nothing is spent and no data are touched before its `release`.

        How many groups and rows of a unit count is the table's declaration, or this question's own, or what
        `suggest_bounds` gave; with `max_rows` alone, that many rows in whatever groups. With bounds="auto" a quarter of
        epsilon is spent on choosing fewer rows than that, where this errs less by declarations. Groups that nobody
        declared are shown if they have enough people, which needs a delta; with `private_keys` so are declared ones.
        `other` names a row for all that are not shown. `weight` is a column by which each row counts, as in surveys.
        With `part` it is asked of the units of that part, and charged there. A third of the price of a quantile pays
        for its interval; with `quantile_intervals=False` the value gets all of it, and nothing tells how far it is off.
        """
        from privet.sql import plan_of  # noqa: PLC0415  sqlglot takes a while to import

        columns = {name: table.columns for name, table in self.tables.items()}
        units = {name: table.unit for name, table in self.tables.items()}
        plan = plan_of(text, columns, units=units, facts=self.tables, weight=weight_from(weight))
        options = Options(
            epsilon=epsilon, delta=delta, rho=rho, within=within, expected=expected, analyst=analyst,
            max_groups=max_groups, max_rows_per_group=max_rows_per_group, max_rows=max_rows, bounds=bounds,
            private_keys=private_keys, other=other, part=part, quantile_intervals=quantile_intervals,
        )  # fmt: skip
        return self._query(plan, text, options)

    def ask(self, plan: Plan, text: str, **options: Any) -> Query:
        """The same for a plan that a front has made; `text` is what the ledger notes for people."""
        known = {part.name for part in fields(Options)}
        for name in options:
            if name not in known:
                raise unknown_keyword(name, known)
        return self._query(plan, text, Options(**options))

    def _query(self, plan: Plan, text: str, options: Options) -> Query:
        self._check_analyst(options.analyst)
        if options.part is not None:
            plan = self._of_part(plan, options.part)
        beside = {name: self.tables[name] for name in tables_in(origin_of(plan)) if name != plan.table}
        plan = replace(
            plan,
            private_keys=bool(options.private_keys),
            other=options.label,
            intervals=bool(options.quantile_intervals),
        )
        table = self.tables[plan.table]
        if table.public:
            raise RefusedQueryError(
                f"table {show(table.name)} is public", "read it yourself: it needs no budget", "private-table-needed"
            )
        check_unit_wise(origin_of(plan), {plan.table: table, **beside})
        kinds = {name: other.columns for name, other in {plan.table: table, **beside}.items()}
        shapes = {name: {one: shape_of_kind(kind) for one, kind in columns.items()} for name, columns in kinds.items()}
        bounds = self._bounds(table, options.limits(table), rows_of_a_unit(origin_of(plan), plan.where))
        columns = {name: other.columns for name, other in beside.items()}
        tight = tightened(plan, shapes)
        read = with_fewest_groups(outline(tight, table.columns, bounds, columns), kinds)
        kept = obstacle(read, options, people=table.unit is not None) if options.chooses else ""
        chosen = fitting(read, self.terms.budget, options) if options.chooses and not kept else None
        priced = ask(read, self.terms.budget, options, finite=self._finite) if chosen is None else chosen.ways[-1]
        changed = tight != plan or read.bounds != bounds or any(ways_of(priced) - ways for ways in EARLIER)
        whole = None if priced.top is None else read
        return Query(
            text=text,
            priced=priced,
            earlier=partial(self._earlier, whole, plan, columns, options) if changed and chosen is None else tuple,
            table=table,
            beside=beside,
            analyst=options.analyst,
            gate=self._gate([table, *beside.values()]),
            suggestion=options.suggestion,
            part=options.part,
            fitting=chosen,
            kept=kept,
        )

    def _check_analyst(self, name: str) -> None:
        """Whether the owner lets this analyst ask."""
        if name and self._catalog.analysts == "granted" and self.ledger.granted(name) is None:
            raise RefusedQueryError(
                f"this vault answers only analysts with a budget of their own, and {show(name)} has none",
                f"ask the owner to run `privet budget {self.folder.name} --grant {name} --epsilon E`",
                "not-granted",
            )

    def _earlier(
        self, read: Outline | None, plan: Plan, columns: Mapping[str, Mapping[str, Kind]], options: Options
    ) -> Iterator[Priced]:
        """The question as earlier versions asked it, the latest first: with wider ranges and limits, and fewer ways to
        spend its price. What they refused, they did not answer. Before these, what is `read` about all groups."""
        if read is not None:
            yield ask(read, self.terms.budget, options, finite=self._finite, allowed=ALL_GROUPS)
        table = self.tables[plan.table]
        bounds = self._bounds(table, options.limits(table), rows_of_a_unit(origin_of(plan)))
        for allowed in EARLIER:
            with suppress(PrivetError):
                yield ask(outline(plan, table.columns, bounds, columns), self.terms.budget, options, allowed=allowed)

    @known_keywords()
    def suggest_bounds(
        self, text: str | Summary, *, epsilon: object, analyst: str = "", part: str | None = None
    ) -> Suggestion:
        """Pay `epsilon`, look at the data, and say how many groups and rows a unit has in this question, and where the
        numbers that it adds up lie. The same suggestion is given again free of charge.

        The question is SQL, or what a frame's `agg` gave."""
        from privet.suggest import suggest  # noqa: PLC0415  rarely needed

        price = positive(epsilon, "epsilon")
        private = {"delta": self.terms.budget.delta / 4} if self.terms.budget.delta else {}
        how: dict[str, Any] = {"epsilon": price, "analyst": analyst, "part": part, **private}
        return suggest(self.sql(text, **how) if isinstance(text, str) else text.query(**how), price)

    @known_keywords()
    def fit(  # noqa: PLR0913  the public contract
        self,
        estimator: Any,
        table: str,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        max_rows: int | None = None,
        where: str | None = None,
        analyst: str = "",
    ) -> Any:
        """Fit a model to a table: charge the ledger, learn, return the fitted model. The same fit again is free.

        `estimator` is a learner of `privet.learn` with a price; it is not changed, and a fitted clone comes back.
        `table` is the table's name. `target` is the column to predict, and `features` are the columns to learn from
        (default: all that can be used); their ranges and classes are those declared. `max_rows` of each unit count
        (default: the table's limits). `where` is a condition in SQL on rows. `analyst` is who asks, if not the owner.

        Raises InvalidInputError if a column, the target or a limit does not fit the declarations, RefusedQueryError if
        the condition or the table cannot be used, and BudgetExceededError, before any data are read.
        """
        options = {"target": target, "features": features, "max_rows": max_rows, "where": where, "analyst": analyst}
        return self.plan_fit(estimator, table, **options).release()  # type: ignore[arg-type]

    @known_keywords()
    def plan_fit(  # noqa: PLR0913  the public contract
        self,
        estimator: Any,
        table: str,
        *,
        target: str | None = None,
        features: Sequence[str] | None = None,
        max_rows: int | None = None,
        where: str | None = None,
        analyst: str = "",
    ) -> FitPlan:
        """Plan a fit; the parameters and errors are those of `fit`, but for the budget. The plan has `cost`,
        `about_n_more` and `explain()`. Nothing is spent and no data are touched before its `release()`."""
        from privet.learn.table_fit import Asked, fit_plan  # noqa: PLC0415  an extra
        from privet.vault.learning import condition_of  # noqa: PLC0415  rarely needed

        self._check_analyst(analyst)
        declared = self.declaration(table)
        condition = None if where is None else condition_of(where, declared, self.tables)
        asked = Asked(
            target=target,
            features=features,
            max_rows=max_rows,
            where=condition,
            condition=where or "",
            analyst=analyst,
        )
        return fit_plan(estimator, declared, self._gate([declared]), asked)

    @known_keywords()
    def cross_validate(  # noqa: PLR0913  the public contract
        self,
        estimator: Any,
        table: str,
        *,
        target: str | None = None,
        folds: int = 5,
        scoring: str | None = None,
        score_epsilon: object = None,
        features: Sequence[str] | None = None,
        max_rows: int | None = None,
        where: str | None = None,
        analyst: str = "",
    ) -> CrossValidation:
        """Cross-validate a learner: charge the ledger once, fit and test in each fold, return the scores with their
        intervals. The same again is free.

        `folds` is the number of parts into which the units are divided. All rows of a unit are in one part, and each
        part is left out once and predicted by a model of the others. The price is that of `folds` - 1 fits and one
        test: `score_epsilon` is the price of the test (default: the epsilon of the learner). `scoring` is "accuracy"
        for classes, "rmse" (default) or "r2" for numbers. All other parameters are those of `fit`.

        Raises what `fit` raises; InvalidInputError also for folds or a scoring that do not fit, and RefusedQueryError
        for a learner without a target or with noise of its own (networks).
        """
        fit = {"target": target, "features": features, "max_rows": max_rows, "where": where, "analyst": analyst}
        scored = {"folds": folds, "scoring": scoring, "score_epsilon": score_epsilon}
        return self.plan_cross_validation(estimator, table, **scored, **fit).release()  # type: ignore[arg-type]

    @known_keywords()
    def plan_cross_validation(  # noqa: PLR0913  the public contract
        self,
        estimator: Any,
        table: str,
        *,
        target: str | None = None,
        folds: int = 5,
        scoring: str | None = None,
        score_epsilon: object = None,
        features: Sequence[str] | None = None,
        max_rows: int | None = None,
        where: str | None = None,
        analyst: str = "",
    ) -> CrossValidationPlan:
        """Plan a cross-validation; parameters and errors are those of `cross_validate`, but for the budget. The plan
        has `cost`, `about_n_more` and `explain()`. Nothing is spent and no data are touched before its `release()`."""
        from privet.learn.cross_validation import validated  # noqa: PLC0415  an extra

        fit = {"target": target, "features": features, "max_rows": max_rows, "where": where, "analyst": analyst}
        return validated(self.plan_fit(estimator, table, **fit), folds, scoring, score_epsilon)  # type: ignore[arg-type]

    def _of_part(self, plan: Plan, part: str) -> Plan:
        """The question about one part, while its register is declared as it was when units were divided."""
        partition = self.ledger.partition
        if partition is None:
            raise InvalidInputError(
                "the units of this vault are not divided into parts",
                "leave out part=; the owner can divide them with vault.partition",
                "not-divided",
            )
        register = self.tables.get(partition.table)
        if register is None or register.digest != partition.register:
            raise InvalidInputError(
                f"table {show(partition.table)} is not declared as it was when it divided the units",
                f"undo the change to this table in {DECLARATIONS}",
                "declaration-changed",
            )
        if register.unit is None:
            return of_part_by_row(plan, partition, part)
        shapes = {
            name: {column: shape_of_kind(kind) for column, kind in table.columns.items()}
            for name, table in self.tables.items()
        }
        return of_part(plan, partition, part, shapes)

    def _bounds(self, table: Table, limits: Mapping[str, int], at_most: int | None) -> Bounds:
        """What counts of a unit; more than it can have is not asked for."""
        if table.unit is None and limits:
            raise InvalidInputError(
                "each row is a unit here: there is nothing to bound",
                f"leave {' and '.join(limits)} out",
                "rows-are-units",
            )
        limits = {name: limit_of(limit, name) for name, limit in limits.items()}
        groups, rows, in_all = (limits.get(name, getattr(table, name)) for name in LIMITS)
        most = in_all or groups * rows
        if at_most is not None and at_most < most:
            most, in_all = at_most, at_most
        return Bounds(groups=min(groups, most), rows=min(rows, most), in_all=in_all, neighbors=self.terms.neighbors)

    def dummy(self, name: str, rows: int = 100, *, seed: int = 0) -> dict[str, list[object]]:
        """Made-up rows from the declarations alone, to draft questions with. Not a release: it has never seen data."""
        from privet.catalog.dummy import dummy  # noqa: PLC0415  rarely needed

        return dummy(self.declaration(name), rows, seed=seed)

    def grant(self, analyst: str, budget: Budget) -> None:
        """Cap one analyst, beside the cap of all."""
        self.ledger.grant(analyst, budget)

    def replace_noise(self, noise: NoiseSource) -> None:
        """For vaults made with testing=True, whose answers are labelled forever as NOT PRIVATE."""
        if not self.terms.testing:
            raise InvalidInputError(
                "this vault is not for testing", "make one with pv.create(..., testing=True)", "not-for-testing"
            )
        self._noise = noise

    def close(self) -> None:
        self._backend.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        mark = ", NOT PRIVATE (testing)" if self.terms.testing else ""
        return f"<privet vault {self.folder.name}: {len(self.tables)} tables{mark}>"

    def _divides(self, table: Table) -> bool:
        """Does it say in which part a unit is?"""
        return self._catalog.partition is not None and self._catalog.partition.table == table.name

    @property
    def _finite(self) -> bool:
        """Whether the owner declared that every price has a finite epsilon."""
        return self._catalog.rho_without_delta == "refuse"

    def _gate(self, tables: Sequence[Table]) -> Gate:
        return Gate(
            ledger=self.ledger,
            backend=self._backend,
            noise=self._noise,
            secret=_fresh_secret,
            ready=lambda: self._check_ready(tables),
            finite=self._finite,
        )

    def _check_ready(self, tables: Sequence[Table]) -> None:
        """What this process lacks is said before the charge. No row is read."""
        for table in tables:
            if table.source.kind == "memory" and table.name not in self._memory:
                raise InvalidInputError(
                    f"table {show(table.name)} lives in memory, and this process does not have it",
                    f"give it again: vault.attach({table.name!r}, frame)",
                    "not-attached",
                )
            self._check_current(table)
            self._files.check_same(table, divides=self._divides(table))
        self._backend.ready(*tables)

    def _check_current(self, table: Table) -> None:
        """Is it still declared like that? Another process may have removed or updated it."""
        path, marks = self.folder / DECLARATIONS, None
        with suppress(OSError):  # then it cannot be read either
            found = path.stat()
            marks = (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._declared.get(table.name) != (marks, table):
            if vault_file.read(path).tables.get(table.name) != table:
                raise InvalidInputError(
                    f"table {show(table.name)} was changed or removed since this vault was opened",
                    "open the vault again",
                    "declaration-changed",
                )
            self._declared[table.name] = (marks, table)

    def _source(self, data: object, options: Mapping[str, Any]) -> Source:
        """A path is told by its ending; everything else is a data frame."""
        rest = {name: value for name, value in options.items() if name != "kind"}
        kind = _kind(data, options)
        if kind == "memory":
            return Source(kind=kind, **rest)
        return Source(kind=kind, path=portable(cast(str, data), self.base), **rest)

    def _keep(self, change: Callable[[Catalog, Table], Catalog], table: Table, data: object) -> Table:
        """Only what can be read is declared. Reading takes a while, so whether somebody else has changed the file is
        looked at again afterwards, while nobody else can."""
        self._check_unchanged()
        new = change(self._catalog, table)
        table = new.tables[table.name]
        self._check_known(table)
        frame = data if table.source.kind == "memory" else None
        with self._tried(table, frame, record=True) as recorded, self.ledger.exclusive():
            self._check_unchanged()
            self._check_charged(recorded)
            declared = change(self._catalog, recorded)
            vault_file.write(self.folder / DECLARATIONS, declared)
            self._catalog = declared
            self._files.note(recorded)  # last: what is noted of a version that is not declared would bless other data
        return recorded

    def _check_known(self, table: Table) -> None:
        """Refuse a table that the ledger has answers about, where no declaration says which versions these were."""
        check_protection(self.ledger, table)
        check_domain(self.ledger, table)
        gone = table.name.casefold() in self.ledger.noted and table.name not in self.tables
        if gone and not self._catalog.last_removed(table.name):
            raise InvalidInputError(
                f"the ledger has answers about a table {show(table.name)}, which {DECLARATIONS} does not declare",
                f"choose another name, or write at the end of {DECLARATIONS} the line [removed] and below it"
                f" {json.dumps(table.name)} = N, where N is the last version that it had",
                "declaration-changed",
            )

    def _check_charged(self, table: Table) -> None:
        """What the ledger has charged for never changes, whatever became of the declarations meanwhile."""
        check_protection(self.ledger, table)
        partition = self.ledger.partition
        if partition is not None and partition.table == table.name and self._catalog.partition is None:
            raise InvalidInputError(
                f"table {show(table.name)} now divides the units into parts, so it cannot be changed",
                "open the vault again",
                "already-divided",
            )

    def _check_unchanged(self) -> None:
        if vault_file.read(self.folder / DECLARATIONS) != self._catalog:
            raise InvalidInputError(
                f"{DECLARATIONS} was changed since this vault was opened", "open the vault again", "declaration-changed"
            )

    @contextmanager
    def _tried(self, table: Table, frame: object, *, record: bool = False) -> Iterator[Table]:
        """Read the table once, and record its types if it is declared now. A data frame that does not fit, or is not
        declared after all, is not kept."""
        trial = self._backend if frame is None else self._backend.trying(table.name, frame)
        try:
            if record:
                table = replace(table, types=trial.types(table))
            found = trial.check(table)
            if record:
                trial.check_unread(table, found)
            yield table
            self._unread[table.name] = found
            if frame is not None:
                self._memory[table.name] = frame
                self._backend.adopt(trial)
        finally:
            if trial is not self._backend:
                trial.close()


def _kind(data: object, options: Mapping[str, Any]) -> Any:
    """Where the rows are: in memory, or in a file of some kind."""
    if not isinstance(data, str | os.PathLike):
        return "memory"
    kind = options.get("kind") or kind_of(Path(data))
    if kind is None:
        raise InvalidInputError(
            f"{show(str(data))} does not show by its ending what kind of file it is",
            f"give kind= as one of {listed(set(OPTIONS) - {'memory'})}, or a file that ends in {', '.join(ENDINGS)}",
            "wrong-ending",
        )
    return kind


def _given(source: Source) -> dict[str, Any]:
    """How the old data were read: the new ones are read the same way, unless told otherwise."""
    return {name: getattr(source, name) for name in defaults(source) if name not in ("path", "kind")}


def _fresh_secret() -> bytes:
    return secrets.token_bytes(16)
