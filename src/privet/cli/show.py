"""Verbs that show something and need no vault: demo and meaning."""

from __future__ import annotations

import argparse
from pathlib import Path

from privet.cli.progress import working
from privet.cli.verb import Verb, check_picture, json_option, pen, print_json, write
from privet.report.terminal import one_line


def _demo_options(command: argparse.ArgumentParser) -> None:
    json_option(command)
    command.add_argument(
        "--out",
        metavar="FILE.svg",
        type=Path,
        default=Path("demo.svg"),
        help="draw the picture in this file (demo.svg)",
    )
    command.add_argument(
        "--files",
        metavar="FOLDER",
        type=Path,
        help="only write the folders examples and docs, named in help texts and messages, into this folder",
    )


def _demo(options: argparse.Namespace) -> None:
    if options.files is not None:
        _files(options)
        return
    picture: Path = options.out
    check_picture(picture)
    from privet.demo import story as demo  # noqa: PLC0415  brings NumPy, DuckDB and Altair

    with working("telling the story"):
        story = demo.tell()
        write(picture, demo.chart(), "--out")
    if options.json:
        print_json("demo", {**story.numbers(), "picture": str(picture)})
    else:
        print(demo.page(story, one_line(str(picture)), pen()), end="")


def _files(options: argparse.Namespace) -> None:
    from privet.demo import files  # noqa: PLC0415

    written = [str(path) for path in files.write(options.files)]
    if options.json:
        print_json("files", {"written": written})
    else:
        print(f"written: {', '.join(map(one_line, written))}")


def _meaning_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--epsilon", required=True, help="the price of everything released; there is no default")
    command.add_argument("--delta", default="0", help="the delta of everything released (0)")
    command.add_argument("--prior", help="how sure somebody was before, as a probability such as 0.01")
    command.add_argument(
        "--neighbors", default="add-remove", help="neighboring tables: add-remove (the default) or replace"
    )
    command.add_argument(
        "--about", default="membership", help="what is asked about a person: membership (the default) or value"
    )
    command.add_argument("--out", metavar="FILE.svg", type=Path, help="also draw it in this SVG file")
    json_option(command)


def _meaning(options: argparse.Namespace) -> None:
    from privet.interpret import meaning  # noqa: PLC0415  only this verb needs it

    picture: Path | None = options.out
    asked = ("epsilon", "delta", "prior", "neighbors", "about")
    answer = meaning(**{name: getattr(options, name) for name in asked})
    if picture is not None:
        check_picture(picture)
        write(picture, answer.svg(), "--out")
    if options.json:
        print_json("meaning", {**answer.to_json(), "picture": None if picture is None else str(picture)})
    else:
        print(answer.text(pen()))


VERBS = {
    "demo": Verb(
        "see what exact, noisy and private answers reveal about a newcomer in a hospital (a few seconds)",
        "privet demo --out demo.svg",
        _demo_options,
        _demo,
    ),
    "meaning": Verb(
        "explain what an epsilon promises to one person, in words and numbers",
        "privet meaning --epsilon 1 --prior 0.01",
        _meaning_options,
        _meaning,
    ),
}
