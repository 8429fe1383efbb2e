"""The picture of queries against accuracy."""

from __future__ import annotations

from xml.etree import ElementTree

from privet.core.accountant import Budget
from privet.report.charts import svg
from privet.report.explain.queries_chart import accuracy_chart, plans


def test_plans_cover_the_decades() -> None:
    assert [p.releases for p in plans(Budget(1, 1e-6), 30)] == [1, 2, 3, 5, 10, 20, 30]
    assert [p.releases for p in plans(Budget(1), 1)] == [1]


def test_chart_draws_both_lines() -> None:
    drawing = svg(accuracy_chart(Budget(3, 1e-9), 100))
    texts = {node.text for node in ElementTree.fromstring(drawing).iter() if node.tag.endswith("text")}
    assert {"equal split of epsilon", "Privet's two gauges", "counts released"} <= texts
    assert "http" not in drawing.replace("http://www.w3.org", "")
