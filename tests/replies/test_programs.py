"""What a reply holds is found, and nothing it holds breaks the reader."""

from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.programs import probe_lines, read_program

DEF = "def solve(x):\n    return tarn(x)"


def test_a_program_is_found_with_and_without_a_fence():
    assert read_program(DEF) == DEF
    assert read_program(f"Here it is:\n```python\n{DEF}\n```\nIt calls tarn.") == DEF
    assert read_program(f"```\n{DEF}") == DEF
    assert read_program(f"Sure!\n{DEF}\n") == DEF
    assert read_program(f"<think>def f</think>{DEF}") == DEF
    assert read_program(f"```python\nimport math\n```\nand\n```python\n{DEF}\n```") == f"import math\n\n{DEF}"
    assert read_program(f"```python\n{DEF}\n```\nThen I try:\n```python\n>>> solve(3)\n```") == DEF
    assert read_program("```text\nno code\n```") == ""
    assert read_program("I cannot.") == ""


def test_a_probe_is_its_lines_alone():
    assert read_program(">>> tarn(3)\n(1, 2)\nso it gives a pair") == ">>> tarn(3)"
    assert read_program("I look first:\n>>> x = Box()\n>>> x.total()") == ">>> x = Box()\n>>> x.total()"
    assert read_program("```\n>>> tarn(3)\n```") == ">>> tarn(3)"
    assert probe_lines("") == ""


@given(st.text(alphabet="`~\n >def solve():x=py"))
def test_no_text_breaks_it(text):
    read_program(text)
