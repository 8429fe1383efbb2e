"""Pictures among findings: what is drawn, what has no place, and how a page and a terminal show it."""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.made_findings import NASTY, nobody
from support.refusals import raises_code

from privet.attacks.finding import Curve, Findings, Picture
from privet.errors import InvalidInputError
from privet.report.findings.page import page_of
from privet.report.findings.picture_chart import MOST_POINTS, log_ticks, picture_chart, picture_figure
from privet.report.page import to_html

ROC = Picture(
    title="How well it tells",
    text="Every corner is a threshold.",
    alt="The steps rise to 100 % below the bound",
    x="false alarms",
    y="true alarms",
    shares=True,
    curves=(
        Curve(name="test", x=(0, 0.5, 1), y=(0.25, 0.5, 1), low=(0, 0.4, 0.9), high=(0.5, 0.6, 1), style="steps"),
        Curve(name="most possible", x=(0, 0.25, 1), y=(0, 0.75, 1), style="bound"),
        Curve(name="blind", x=(0, 1), y=(0, 1)),
    ),
)
REGIMES = Picture(
    title="Regimes",
    text="",
    alt="Circles lie below the lines",
    x="statistics",
    y="error",
    log_x=True,
    log_y=True,
    curves=(
        Curve(name="sampling error", x=(10, 100_000), y=(0.03, 0.03)),
        Curve(name="worked", x=(10, 100, 0), y=(0.001, 0.01, 1), low=(0, 0.005, 1), style="points"),
        Curve(name="failed", x=(10, math.inf), y=(1, 1), style="points"),
        Curve(name="nothing", x=(), y=()),
        Curve(name="no place", x=(-1, 1), y=(1, math.nan)),
    ),
)


def _layers(picture: Picture) -> list[dict[str, Any]]:
    """What is drawn, with its points."""
    chart = picture_chart(picture).to_dict()
    shared = chart.get("data")  # stands above the layers if they have the same
    return [{**layer, "rows": list(chart["datasets"][layer.get("data", shared)["name"]])} for layer in chart["layer"]]


def _marks(picture: Picture) -> list[str]:
    return [layer["mark"]["type"] for layer in _layers(picture)]


def test_shades_are_below_lines_and_lines_below_points() -> None:
    assert _marks(ROC) == ["area", "area", "line", "line", "line"]
    assert _marks(REGIMES) == ["line", "rule", "point", "point"]
    shade, band, _, blind, test = _layers(ROC)  # the bound, then lines and steps in the order given
    assert shade["encoding"]["y2"] == {"datum": 1.0}
    assert band["mark"]["interpolate"] == test["mark"]["interpolate"] == "step-after"
    assert [row["top"] for row in band["rows"]] == [0.5, 0.6, 1]
    assert blind["mark"]["interpolate"] == "linear"


def test_curves_differ_without_color() -> None:
    lines = tuple(Curve(name=f"line {place}", x=(1, 2), y=(place, 2)) for place in range(5))
    points = tuple(Curve(name=f"points {place}", x=(1, 2), y=(place, 1), style="points") for place in range(5))
    layers = _layers(replace(ROC, curves=(*lines, *points), shares=False))
    assert len({tuple(layer["mark"]["strokeDash"]) for layer in layers[:5]}) == 5
    assert len({layer["mark"]["shape"] for layer in layers[5:]}) == 5
    figure = picture_figure(replace(ROC, curves=(*lines, *points), shares=False))
    assert figure is not None
    without_color = {re.sub("#[0-9A-Fa-f]{6}", "", sample.svg) for sample, _ in figure.key}  # type: ignore[union-attr]
    assert len(without_color) == 10


def test_what_has_no_place_is_left_out_with_a_word() -> None:
    figure = picture_figure(REGIMES)
    assert figure is not None
    assert [name for _, name in figure.key] == ["sampling error", "worked", "failed"]
    assert figure.caption.endswith("4 points are not drawn: infinite, or 0 and less on a logarithmic axis.")
    rule = _layers(REGIMES)[1]["rows"]
    assert rule == [{"x": 10, "y": 0.001, "top": 0.001}, {"x": 100, "y": 0.005, "top": 0.01}]  # 0 is no end there
    one = replace(REGIMES, curves=(Curve(name="zero", x=(0, 3), y=(1, 2)),))
    assert picture_figure(one).caption.startswith("1 point is not drawn")  # type: ignore[union-attr]
    assert _marks(one) == ["point"]  # a line needs two points
    assert picture_figure(replace(one, curves=(Curve(name="none", x=(), y=()),))) is None


@pytest.mark.parametrize("wrong", [{"y": (1,)}, {"low": (1,)}, {"high": (1, 2, 3)}])
def test_points_without_a_partner_are_refused(wrong: dict[str, Any]) -> None:
    curve = replace(Curve(name="c", x=(1, 2), y=(1, 2)), **wrong)
    with raises_code(InvalidInputError, "wrong-length: “c” … has 2 places"):
        picture_figure(replace(ROC, curves=(curve,)))


def test_straight_lines_between_shares_bend_on_logarithmic_axes() -> None:
    log = replace(ROC, log_x=True, log_y=True)
    bound = _layers(log)[0]["rows"]
    assert len(bound) > 60
    assert all(row["y"] == pytest.approx(min(3 * row["x"], 0.75 + (row["x"] - 0.25) / 3)) for row in bound)
    encoding = _layers(log)[0]["encoding"]
    assert encoding["x"]["scale"] == {"domain": [0.1, 1.0], "nice": False, "type": "log"}
    assert encoding["y"]["scale"]["domain"] == [0.1, 1.0]
    empty = replace(log, curves=(*log.curves, Curve(name="none", x=(), y=(), style="bound")))
    assert len(_layers(empty)) == len(_layers(log))


def test_long_curves_are_thinned_and_points_are_not() -> None:
    many = tuple(float(place) for place in range(3_000))
    line, points = Curve(name="a", x=many, y=many), Curve(name="b", x=many, y=many, style="points")
    drawn, marked = _layers(replace(ROC, shares=False, curves=(line, points)))
    rows = drawn["rows"]
    assert len(rows) == MOST_POINTS
    assert (rows[0]["x"], rows[-1]["x"]) == (0, 2_999)
    assert len(marked["rows"]) == 3_000


@pytest.mark.parametrize(
    ("heights", "domain"),
    [((1, 4), (0, 4.2)), ((3, 4), (2.95, 4.05)), ((-1, 1), (-1.1, 1.1)), ((0, 0), (0, 1)), ((-2, -2), (-2.1, -1.9))],
)
def test_an_axis_has_room_and_starts_at_zero_where_that_is_near(
    heights: tuple[float, ...], domain: tuple[float, float]
) -> None:
    picture = replace(ROC, shares=False, curves=(Curve(name="c", x=(1, 2), y=heights),))
    assert _layers(picture)[0]["encoding"]["y"]["scale"]["domain"] == pytest.approx(list(domain))


def test_ticks_of_logarithmic_axes() -> None:
    assert log_ticks(0.9, 110) == [1, 10, 100]
    assert log_ticks(0.9, 11) == pytest.approx([1, 3, 10])
    assert log_ticks(0.9, 6) == pytest.approx([1, 2, 5])
    assert log_ticks(2.9, 5.1) == pytest.approx([3, 4, 5])
    assert log_ticks(1.41, 1.43) == [1.41]
    assert log_ticks(1e-20, 1) == pytest.approx([10.0**power for power in range(-20, 1, 3)])


def _shown(*pictures: Picture) -> Findings:
    return replace(nobody(), pictures=pictures)


def test_the_page_shows_pictures_first_and_escapes_them() -> None:
    nasty = replace(
        ROC, title=NASTY, text=NASTY, alt=NASTY, x=NASTY, y=NASTY, curves=(replace(ROC.curves[0], name=NASTY),)
    )
    page = to_html(page_of(_shown(ROC, nasty, replace(REGIMES, curves=()))))
    assert page.index("<h2>How well it tells") < page.index("<h2>What was assumed")
    assert 'role="img" aria-label="The steps rise to 100\u00a0% below the bound"' in page
    assert "<p>Every corner is a threshold.</p>" in page
    assert "<h2>Regimes</h2>\n<p>There is nothing to draw.</p>" in page
    assert "<script" not in page
    assert page.encode()


def test_a_terminal_shows_the_words() -> None:
    text = str(_shown(ROC, REGIMES))
    assert (
        "\n\nHow well it tells\n   Every corner is a threshold.\n\nRegimes\n   Circles lie below the lines\n\n" in text
    )


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here; `make system-deps` installs it")
def test_a_browser_shows_them_without_scrolling_sideways(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  not needed where there is no Chromium

    long = replace(ROC.curves[0], name="a name that goes on " * 12)
    path = _shown(ROC, REGIMES, replace(ROC, curves=(long, *ROC.curves[1:]))).report(tmp_path / "page.html")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(path.as_uri())
        for width in (1100, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
            assert page.get_by_role("img", name="Circles lie below the lines").is_visible()
            samples = page.locator(".sample").all()
            assert len(samples) == 9
            assert all(box is not None and box["width"] == 34 for box in (sample.bounding_box() for sample in samples))
        assert complaints == []
        browser.close()
