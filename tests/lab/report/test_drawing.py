from __future__ import annotations

import sys
import xml.etree.ElementTree as ET

import pytest

from seasoned.errors import MissingExtraError
from seasoned.lab.report import drawing
from seasoned.lab.report.drawing import Stack
from seasoned.lab.report.reference import reference_for


def test_a_drawing_has_its_own_ids_and_the_colour_of_its_page():
    def draw(axes):
        drawing.stack(
            axes,
            ["a"],
            [Stack("part", [3], drawing.GREEN, "////"), Stack("rest", [1], drawing.PALE)],
            [25.0],
            numbers=True,
        )

    one, two = (drawing.svg(name, 'Parts: "a" & <b>.', 2.0, draw) for name in ("one", "two"))
    assert ET.fromstring(one).get("aria-label") == 'Parts: "a" & <b>.'
    ids = [{element.get("id") for element in ET.fromstring(text).iter()} - {None} for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert drawing.INK not in one
    assert "currentColor" in one
    assert drawing.svg("one", 'Parts: "a" & <b>.', 2.0, draw) == one


def test_parts_without_room_have_no_figure():
    def texts(width):
        svg = drawing.svg(
            "x", "x", 2.0, lambda axes: drawing.stack(axes, ["a"], [Stack("p", [7], "#000000")], [width], numbers=True)
        )
        return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]

    assert "7" in texts(1.0)
    assert "7" not in texts(0.4)


def test_marks_say_whose_they_are():
    def words(*conditions):
        figures = [reference_for("alfworld", name) for name in conditions]
        return drawing.svg("x", "x", 2.0, lambda axes: drawing.paper_marks(axes, figures))

    assert "gpt-3.5-turbo-0613, paper (another model)" in words("react", "choose", "expel")
    assert "papers (other models)" in words("react", "retry")
    assert "model" not in words("choose")


def test_a_name_is_shortened_to_the_room_there_is():
    assert drawing.short("reflexion") == "Reflexion"
    assert len(drawing.short("x" * 99)) == 20


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*seasoned\[eval\]"):
        drawing.svg("x", "x", 1.0, lambda axes: None)
