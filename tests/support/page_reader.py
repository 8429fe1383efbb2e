"""Reads a report's HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link"}
PAGE = "html|head|meta|title|link|style|body|main|header|section|footer|p|h1|h2|ul|li|span|div"
ALLOWED = re.compile(f"{PAGE}|figure|figcaption|svg|g|path|rect|line|text|table|caption|thead|tbody|tr|th|td")


class Reader(HTMLParser):
    """Checks that every tag is one of ours and is closed, and keeps all words and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert ALLOWED.fullmatch(tag), tag
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())
