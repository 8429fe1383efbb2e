"""Whom the rows and columns of a table are about: its labels as categories of attributes, checked by adding up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from privet.attacks.drafts.label_trees import Node
from privet.attacks.drafts.layout import ALIKE
from privet.attacks.drafts.vocabulary import FEMALE, MALE, SEX_NAMES, is_total, sort_of
from privet.attacks.release.sheet_labels import folded

REST = "not listed"
Line = dict[object, Decimal | None]  # the numbers of a row or a column; None where one is hidden
Numbers = Callable[[int], Line]


@dataclass(slots=True, eq=False)
class Dim:
    """A way to divide people, as one table uses it. `totals` are labels of everybody, `unions` those of several
    categories. `rest`: the categories do not add up to the total."""

    names: list[str]
    labels: dict[str, None] = field(default_factory=dict)
    totals: dict[str, None] = field(default_factory=dict)
    unions: dict[str, list[str]] = field(default_factory=dict)
    rest: bool = False
    attribute: str = ""


Part = tuple[Dim, str]  # the people with this label
Parts = tuple[Part, ...]
Group = tuple[list[Node], Parts]  # labels of the same kind side by side, and whom all of them are about


@dataclass(frozen=True, slots=True)
class Reading:
    """One row or column: its own label, read in this division, and the people that it is about besides."""

    dim: Dim
    label: str
    given: Parts


@dataclass(slots=True)
class Axis:
    """The rows of a table, or its columns."""

    numbers: Numbers
    slack: int  # by how much a rounded number may be off
    asks: list[str]
    what: str
    title: Sequence[str]
    dims: list[Dim] = field(default_factory=list)
    found: dict[int, Reading] = field(default_factory=dict)

    def read(self, groups: list[Group], names: list[str]) -> None:
        """Labels side by side, and those below them. `names` may be what the labels are about, the likeliest last."""
        nodes = [node for siblings, _ in groups for node in siblings]
        parents = [node for node in nodes if node.children]
        if not parents:
            self._flat(groups, names)
            return
        below = {folded(node.label) for node in parents}
        others = [node for node in nodes if not node.children and not is_total(node.label)]
        if len(below) == 1 and not others:
            self._one(groups, names)
        elif self._is_cross(parents):
            lower = names if _belongs_below(nodes, parents, names) else []
            dim = self._flat(groups, [] if lower else names)
            below_them = [
                (node.children, (*given, (dim, node.label)))
                for siblings, given in groups
                for node in siblings
                if node.children
            ]
            self.read(below_them, lower)
        elif self._is_profile(nodes, parents):
            self._profile(groups)
        else:
            self._nested(groups, names)

    # Kinds of levels

    def _flat(self, groups: list[Group], names: list[str]) -> Dim:
        """Categories, perhaps with a total."""
        dim = Dim(list(names))
        labels = dict.fromkeys(node.label for siblings, _ in groups for node in siblings)
        dim.totals = dict.fromkeys(label for label in labels if is_total(label))
        if not dim.totals and len(labels) > 2:
            dim.totals = dict.fromkeys(self._total_by_sums(groups, list(labels)))
        if not dim.totals:
            dim.totals = dict.fromkeys(self._beside_sex(groups, list(labels)))
        dim.labels = {label: None for label in labels if label not in dim.totals}
        self.dims.append(dim)
        for siblings, given in groups:
            self._place(siblings, dim, given)
        self._check_total(groups, dim)
        return dim

    def _place(self, nodes: Iterable[Node], dim: Dim, given: Parts) -> None:
        for node in nodes:
            if node.place is not None:
                self.found[node.place] = Reading(dim, node.label, given)

    def _one(self, groups: list[Group], names: list[str]) -> None:
        """Everything stands below one label: a total, or what the labels below it are."""
        label = next(node.label for siblings, _ in groups for node in siblings if node.children)
        counted = [node for siblings, _ in groups for node in siblings if node.children and node.place is not None]
        before = len(self.dims)
        names = names if is_total(label) or counted else [*names, label]
        self.read([(node.children, given) for siblings, given in groups for node in siblings if node.children], names)
        inner = self.dims[before]
        for node in counted:
            inner.totals[node.label] = None
        for siblings, given in groups:
            lone = [node for node in siblings if not node.children]
            inner.totals.update(dict.fromkeys(node.label for node in lone))
            self._place([*lone, *(node for node in siblings if node.children)], inner, given)
        for node in counted:
            if not self._adds_up([node], [node.children]) and not is_total(node.label):
                self.asks.append(f"{self.what}: is {node.label!r} the total of the rows or columns below it?")

    def _is_cross(self, parents: Sequence[Node]) -> bool:
        """Whether the same labels stand below each of them."""
        below = Counter(label for node in parents for label in {folded(child.label) for child in node.children})
        shared = sum(number > 1 for label, number in below.items() if not is_total(label))
        return shared > ALIKE * sum(not is_total(label) for label in below)

    def _is_profile(self, nodes: Sequence[Node], parents: Sequence[Node]) -> bool:
        """Whether each heading names a way to divide everybody: "Sex", "Age group"."""
        if any(node.place is not None for node in parents) or (
            len(parents) < 2 and not any(is_total(node.label) for node in nodes)
        ):
            return False
        sorts = {sort_of([child.label for child in node.children if not is_total(child.label)]) for node in parents}
        if len(sorts - {""}) > 1 or any(folded(node.label) in SEX_NAMES for node in parents):
            return True
        lines = [self._sum([child for child in node.children if not is_total(child.label)]) for node in parents]
        lines += [self.numbers(node.place) for node in nodes if node.place is not None and is_total(node.label)]
        pairs = [
            (first[key], other[key]) for first, *rest in [lines] for other in rest for key in first if key in other
        ]
        known = [(one, two) for one, two in pairs if one is not None and two is not None]
        same = [abs(one - two) <= self.slack * len(nodes) for one, two in known]
        if not known:
            shown = ", ".join(repr(node.label) for node in parents[:3])
            self.asks.append(f"{self.what}: does each of {shown} divide all people, or do they add up to all people?")
            return True
        return all(same)

    def _profile(self, groups: list[Group]) -> None:
        first: Dim | None = None
        for label in dict.fromkeys(node.label for siblings, _ in groups for node in siblings if node.children):
            before = len(self.dims)
            self.read(
                [
                    (node.children, given)
                    for siblings, given in groups
                    for node in siblings
                    if node.label == label and node.children
                ],
                [label],
            )
            first = first or self.dims[before]
        for siblings, given in groups:
            lone = [node for node in siblings if not node.children]
            if first is not None and lone:
                first.totals.update(dict.fromkeys(node.label for node in lone))
                self._place(lone, first, given)

    def _nested(self, groups: list[Group], names: list[str]) -> None:
        """Categories and, below them, what they are made of."""
        dim = Dim(list(names))
        self.dims.append(dim)
        for siblings, given in groups:
            for node in siblings:
                if is_total(node.label) and not node.children:
                    dim.totals[node.label] = None
                    self._place([node], dim, given)
                else:
                    self._under(node, dim, given)
        for siblings, _ in groups:
            self._check_total([(siblings, ())], dim)

    def _under(self, node: Node, dim: Dim, given: Parts) -> list[str]:
        """The categories that a label is made of."""
        if not node.children:
            if node.label in dim.labels or node.label in dim.unions:
                self.asks.append(f"{self.what}: {node.label!r} appears twice; what does each one mean?")
                return []
            dim.labels[node.label] = None
            self._place([node], dim, given)
            return [node.label]
        parts = [child for child in node.children if not is_total(child.label)]
        leaves = [leaf for child in parts for leaf in self._under(child, dim, given)]
        totals = [child for child in node.children if is_total(child.label)]
        counted = [one for one in (node, *totals) if one.place is not None]
        if counted and not self._adds_up(counted, [parts]):
            rest = f"{node.label}: {REST}"
            dim.labels[rest] = None
            leaves.append(rest)
            self.asks.append(
                f"{self.what}: do the rows or columns below {node.label!r} add up to it? If so, delete {rest!r}"
            )
        dim.unions[node.label] = leaves
        self._place([node], dim, given)
        for total in totals:
            dim.totals[total.label] = None
            if total.place is not None:
                self.found[total.place] = Reading(dim, total.label, (*given, (dim, node.label)))
        return leaves

    # Adding up

    def _sum(self, nodes: Iterable[Node]) -> Line:
        lines = [self._line(node) for node in nodes]
        keys = [key for key in lines[0] if all(key in line for line in lines)] if lines else []
        total: Line = {}
        for key in keys:
            numbers = [line[key] for line in lines]
            total[key] = (
                None
                if any(number is None for number in numbers)
                else sum((n for n in numbers if n is not None), Decimal(0))
            )
        return total

    def _line(self, node: Node) -> Line:
        if node.place is not None:
            return self.numbers(node.place)
        total = next((child for child in node.children if is_total(child.label)), None)
        return self._sum([total] if total else node.children)

    def _compared(self, whole: Node, parts: Sequence[Node]) -> list[Decimal]:
        """How much the whole is above its parts, wherever all are known."""
        if not parts:
            return []
        line, added = self._line(whole), self._sum(parts)
        slack = self.slack * (len(parts) + 1)
        differences = [line[key] - added[key] for key in added if line.get(key) is not None and added[key] is not None]  # type: ignore[operator]
        return [one if abs(one) > slack else Decimal(0) for one in differences]

    def _adds_up(self, wholes: Sequence[Node], parts: Sequence[Sequence[Node]]) -> bool:
        """Whether they do wherever that can be seen; False if it is nowhere seen."""
        compared = [one for whole in wholes for some in parts for one in self._compared(whole, some)]
        return bool(compared) and not any(compared)

    def _total_by_sums(self, groups: list[Group], labels: list[str]) -> list[str]:
        """The first or last label, if its numbers are the sums of all others, in at least two places."""
        for label in (labels[0], labels[-1]):
            compared = list[Decimal]()
            for siblings, _ in groups:
                whole = [node for node in siblings if node.label == label]
                parts = [node for node in siblings if node.label != label]
                compared += [one for node in whole for one in self._compared(node, parts)]
            if compared and not any(compared) and not self.slack:
                if len(compared) > 1 or any(folded(label) in folded(text) for text in self.title):
                    return [label]
                self.asks.append(f"{self.what}: is {label!r} the total of the others? If so, write total = [{label!r}]")
        return []

    def _beside_sex(self, groups: list[Group], labels: list[str]) -> list[str]:
        """Members, women: the one label that is no sex is everybody, if it is never smaller."""
        others = [label for label in labels if folded(label) not in MALE | FEMALE]
        if len(others) != 1 or len(labels) < 2:
            return []
        nodes = [node for siblings, _ in groups for node in siblings]
        wholes, parts = ([node for node in nodes if (node.label in others) == whole] for whole in (True, False))
        compared = [one for whole in wholes for part in parts for one in self._compared(whole, [part])]
        if not compared or any(one < 0 for one in compared):
            return []
        self.asks.append(f"{self.what}: is {others[0]!r} the total of women and men?")
        return others

    def _check_total(self, groups: list[Group], dim: Dim) -> None:
        compared = list[Decimal]()
        for siblings, _ in groups:
            whole = [node for node in siblings if node.label in dim.totals]
            parts = [node for node in siblings if node.label not in dim.totals]
            compared += [one for node in whole for one in self._compared(node, parts)]
        if any(one > 0 for one in compared) and not any(one < 0 for one in compared):
            dim.rest = True
        elif any(compared):
            shown = ", ".join(repr(label) for label in list(dim.labels)[:3])
            self.asks.append(f"{self.what}: {shown}, ... exceed the total; can one person count in several of them?")


def _belongs_below(nodes: Sequence[Node], parents: Sequence[Node], names: Sequence[str]) -> bool:
    """Whether the name of a column with two levels of labels is that of the lower level."""
    upper = sort_of([node.label for node in nodes if not is_total(node.label)])
    lower = sort_of([child.label for node in parents for child in node.children if not is_total(child.label)])
    said = folded(" ".join(names))
    named = {
        "band": "age" in said or "alter" in said,
        "sex": any(word in said for word in SEX_NAMES),
        "year": "year" in said,
    }
    return upper != "" or named.get(lower, False)
