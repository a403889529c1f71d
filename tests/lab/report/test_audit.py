"""The picture of an audit: a bar as learned and one for each alteration, and none where nothing was audited."""

import xml.etree.ElementTree as ET

import pytest

from seasoned.lab.report.audit import audit_bars, audited
from seasoned.lab.report.build import build
from seasoned.lab.report.plots import FIGURES


@pytest.fixture
def summary(make_row):
    names = {"disabled": 2, "expnote": 8, "expnote+shuffled": 1, "expnote+blank": 2}
    rows = [
        make_row(condition=name, task_id=f"t{n}", success=n < solved)
        for name, solved in names.items()
        for n in range(10)
    ]
    return build(rows, run={"benchmark": "emoji", "conditions": list(names)})


def test_an_audit_has_a_bar_for_each_alteration(summary):
    ((learned, variants),) = audited(summary)
    assert (learned.name, [ending for ending, _ in variants]) == ("expnote", ["blank", "shuffled"])
    svg = audit_bars(summary)
    texts = ["".join(each.itertext()) for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"80%  (8/10)", "20%  (2/10)", "10%  (1/10)"} <= set(texts)
    assert any("disabled" in text for text in texts)
    assert svg == audit_bars(summary)
    assert any(figure.plot is audit_bars for figure in FIGURES)


def test_without_an_audit_there_is_no_picture(summary):
    kept = tuple(one for one in summary.conditions if "+" not in one.name)
    assert audit_bars(summary.model_copy(update={"conditions": kept})) == ""
