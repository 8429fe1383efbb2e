"""Labels beside and above the numbers of a table as trees: what stands below a heading, an indented label, a header."""

from __future__ import annotations

from dataclasses import dataclass, field

from privet.attacks.drafts.layout import MOSTLY, Block
from privet.attacks.drafts.vocabulary import LONGEST_MARK, is_number, is_total, plain_label, unflagged
from privet.attacks.release.sheet_labels import folded

DEEPEST = 30  # of an indented label


@dataclass(slots=True)
class Node:
    """A label, the row or column that it names (None: only those below it), and the labels below it."""

    label: str
    place: int | None
    column: int = 0  # where the label of a row stands
    children: list[Node] = field(default_factory=list)


def row_nodes(block: Block) -> list[tuple[int, list[Node]]]:
    """For each column of labels the tree of its labels. Only a single column, or columns that stand for depth, make
    a tree that is more than a list."""
    stubs, cells = block.stubs, block.page.cells
    stepped = len(stubs) > 1 and _stepped(block)
    if len(stubs) > 1 and not stepped:
        return [(column, _filled(block, column)) for column in stubs]
    roots: list[Node] = []
    open_: list[tuple[int, Node]] = []
    bodies = set(block.rows)
    for row in sorted({*bodies, *block.sections}):
        body = row in bodies
        column = next((one for one in stubs if cells[row][one] != ""), None)
        if column is None:
            if body:  # nobody says what it is about
                roots.append(Node("", row, stubs[0]))
                continue
            text = next(str(cell) for cell in cells[row] if cell != "")
            node, depth = Node(plain_label(text), None, stubs[0]), 0
        else:
            node = Node(plain_label(str(cells[row][column])), row if body else None, column)
            indent = min(block.page.look.indents.get((row, column), 0), DEEPEST)
            depth = 2 * (indent + DEEPEST * stubs.index(column)) + body
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        (open_[-1][1].children if open_ else roots).append(node)
        open_.append((depth, node))
    return [(stubs[0], _grand_total(roots))]


def _grand_total(roots: list[Node]) -> list[Node]:
    """A total below the last section that no other section has is one of everything."""
    sections = [root for root in roots if root.place is None and root.children]
    if len(sections) > 1 and roots[-1] is sections[-1]:
        *others, last = sections
        known = {folded(child.label) for other in others for child in other.children}
        usual = max(sum(is_total(child.label) for child in other.children) for other in others)
        while (
            sum(is_total(child.label) for child in last.children) > usual
            and folded(last.children[-1].label) not in known
        ):
            if not is_total(last.children[-1].label):
                break
            roots.append(last.children.pop())
    return roots


def _stepped(block: Block) -> bool:
    """Whether labels further right are below those further left: then hardly a row has two."""
    double = sum(sum(block.page.cells[row][column] != "" for column in block.stubs) > 1 for row in block.rows)
    return double <= (1 - MOSTLY) * len(block.rows)


def _filled(block: Block, column: int) -> list[Node]:
    """Row by row; an empty label is that of the row above."""
    found, above = list[Node](), ""
    for row in block.rows:
        label = plain_label(str(block.page.cells[row][column])) or above
        found.append(Node(label, row, column))
        above = label
    return found


def column_paths(block: Block) -> tuple[dict[int, list[str]], bool]:
    """The texts above each column of numbers from top to bottom, and whether a text was taken from the left though no
    merged cell says so."""
    page, guessed = block.page, False
    paths: dict[int, list[str]] = {column: [] for column in block.columns}
    for place, row in enumerate(block.header):
        merged = any(top == row and right > left for top, left, _, right in page.look.merged)
        above = ""
        for column in block.columns:
            text = str(page.cells[row][column])
            if text == "" and (row, column) in page.covers:
                top, left = page.covers[row, column]
                text = str(page.cells[row][left]) if top == row else ""
            elif text == "" and place < len(block.header) - 1 and not merged and above and _below(block, place, column):
                text, guessed = above, True
            above = text or above
            if text:
                paths[column].append(plain_label(text))
    return paths, guessed


def _below(block: Block, place: int, column: int) -> bool:
    return any(block.page.cells[row][column] != "" for row in block.header[place + 1 :])


def column_nodes(paths: dict[int, list[str]]) -> list[Node]:
    """Paths as a tree. Neighbors with the same beginning are below the same node."""
    roots: list[Node] = []
    for column, path in paths.items():
        level = roots
        for depth, text in enumerate(path or [""]):
            last = depth >= len(path) - 1
            same = next((node for node in level if folded(node.label) == folded(text)), None)
            if same is None or (last and same.place is not None):
                same = Node(text, None)
                level.append(same)
            if last:
                same.place = column
            level = same.children
    return roots


def odd_cells(block: Block, column: int) -> list[int]:
    """Rows in which a number has a footnote, or a text stands that is too long for a mark."""
    found = []
    for row in block.rows:
        cell = block.page.cells[row][column]
        if isinstance(cell, str) and cell:
            flagged = (
                is_number(cell)
                and unflagged(cell).replace("%", "") != cell.replace("%", "").strip()
                and not block.page.hides(cell)
            )
            if flagged or (not is_number(cell) and len(cell) > LONGEST_MARK):
                found.append(row)
    return found
