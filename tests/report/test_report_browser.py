"""Reports in a real browser: Chromium, where the system has it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.made_audits import broken, floats, gaussian, laplace, nasty_audit, nasty_checks
from support.made_findings import SAMPLES, block

from privet.report import page as pages
from privet.report.audit.page import page_of as audit_page
from privet.report.findings.page import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
GROUND = "getComputedStyle(document.querySelector('main')).backgroundColor"
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
A4 = 210 - 2 * 16  # millimeters between the margins
AUDITS = (laplace, floats, gaussian, broken, nasty_audit, nasty_checks)
REPORTS: dict[str, Callable[[], pages.Report]] = {
    **{name: cache(lambda made=made: page_of(made())) for name, made in SAMPLES.items()},  # type: ignore[misc]
    **{made.__name__: cache(lambda made=made: audit_page(made())) for made in AUDITS},  # type: ignore[misc]
}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; `make system-deps` installs it")


@dataclass
class Visit:
    """A page that was opened, and what it asked for and complained of."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Visiting = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  not needed where there is no Chromium

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visiting]:
    contexts = []

    def open_report(report: pages.Report, *, width: int = 1100, **options: Any) -> Visit:
        path = pages.write_html(report, tmp_path / "report.html")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        seen = Visit(contexts[-1].new_page(), path.as_uri())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.goto(seen.address, wait_until="networkidle")
        return seen

    yield open_report
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_asks_for_nothing_and_fits(name: str, visit: Visiting) -> None:
    seen = visit(REPORTS[name]())
    heading = seen.page.get_by_role("heading", level=1)
    for width in (1100, 390):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate(TOO_WIDE) == 0
        assert heading.is_visible()
        box = heading.bounding_box()
        assert box is not None
        assert box["y"] < 400  # seen without scrolling
    seen.page.set_viewport_size({"width": A4 * 96 * 10 // 254, "height": 900})
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate(TOO_WIDE) == 0
    assert [url for url in seen.requests if not url.startswith("data:")] == [seen.address]
    assert seen.complaints == []


def test_the_style_is_let_through(visit: Visiting) -> None:
    seen = visit(REPORTS["block"]())
    band = seen.page.evaluate("getComputedStyle(document.querySelector('.band')).backgroundColor")
    assert band == "rgb(150, 48, 11)"
    assert seen.page.get_by_role("img", name="7 people certain").is_visible()
    assert seen.page.get_by_role("row").count() == 1 + 7 + 1 + 3


def test_pictures_of_an_audit_are_seen_and_named(visit: Visiting) -> None:
    seen = visit(REPORTS["floats"]())
    pictures = seen.page.get_by_role("img", name="the event has 0.00 % on the first data set and 27.09 % on the second")
    assert pictures.count() == 2
    boxes = [pictures.nth(place).bounding_box() for place in (0, 1)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]  # beside each other, where there is room
    phone = visit(REPORTS["floats"](), width=390).page.get_by_role("img")
    assert [phone.nth(place).is_visible() for place in range(3)] == [True] * 3
    for word in seen.page.locator(".bar-word").all():  # no word of the bars is cut off
        inside = word.evaluate("w => w.getBoundingClientRect().left >= w.ownerSVGElement.getBoundingClientRect().left")
        assert inside


def test_it_is_dark_in_the_dark_and_white_on_paper(visit: Visiting) -> None:
    light, dark = (visit(REPORTS["block"](), color_scheme=scheme).page for scheme in ("light", "dark"))
    assert light.evaluate(GROUND) == "rgb(255, 255, 255)"
    assert dark.evaluate(GROUND) == "rgb(23, 27, 31)"
    dark.emulate_media(media="print")
    assert dark.evaluate(GROUND) == "rgb(255, 255, 255)"
    assert dark.pdf(format="A4").startswith(b"%PDF")


def test_on_a_phone_a_row_is_a_block_and_still_a_row(visit: Visiting) -> None:
    seen = visit(REPORTS["block"](), width=390)
    cell = seen.page.get_by_role("cell", name="proof").first
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"How sure"'
    assert seen.page.get_by_role("row").count() == 1 + 7 + 1 + 3


def test_what_slips_into_a_picture_neither_runs_nor_calls(visit: Visiting) -> None:
    evil = (
        "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title='ran'</script>"
        "<image href='http://127.0.0.1:9/x.png'/><rect onload='document.title=1'/></svg>"
        "<img src='http://127.0.0.1:9/y.png' onerror='document.title=2'>"
        "<iframe src='http://127.0.0.1:9/z'></iframe><style>h1{display:none}</style>"
    )
    section = pages.Section("Picture", (pages.Figure(evil, "a picture"),))
    report = pages.Report(title="title", headline="headline", verdict="neutral", sections=(section,))
    seen = visit(report)
    assert seen.page.title() == "headline · title"
    assert seen.page.get_by_role("heading", level=1).is_visible()
    assert len(seen.complaints) >= 4  # the browser says what it refused


def test_a_notebook_keeps_its_own_looks(browser: Browser) -> None:
    page = browser.new_page()
    plain = "<body><h1 id=mine>mine</h1><table id=yours><tr><td>yours</td></tr></table>{}</body>"
    looks = "['mine', 'yours'].map(id => JSON.stringify(document.getElementById(id).getBoundingClientRect()))"
    page.set_content(plain.format(""))
    before = page.evaluate(looks)
    page.set_content(plain.format(block()._repr_html_()))
    assert page.evaluate(looks) == before
    assert page.get_by_text("7 of 7 people are certain").is_visible()
    page.close()
