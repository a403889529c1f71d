from __future__ import annotations

import sys
from html.parser import HTMLParser

import pytest

from seasoned.lab.report.build import build
from seasoned.lab.report.episodes import Call, choose_episodes
from seasoned.lab.report.html import FIXES, fixes, render
from seasoned.lab.report.summary import Summary
from seasoned.types import Lesson, Outcome, Step, Trajectory

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}</style>\x00\u202eمرحبا 🦉 \ud83d"
# What a JSON reader or pydantic lets through; the half character can only come from elsewhere.
EVIL_STORED = EVIL.replace("\ud83d", "")
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags in order; complains about what is opened and never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _check_inert(text: str) -> Page:
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "iframe", "img", "link", "object", "form", "base"} & set(names)
    assert names.count("style") == 1
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in text
    assert "url(http" not in text
    assert "default-src 'none'" in text
    return page


@pytest.fixture(scope="module")
def page(summary, rows, lessons, tell) -> str:
    episodes = [tell(one) for one in choose_episodes(summary, rows)]
    return render(summary, rows, episodes, lessons, '[llm]\nmodel = "local"\n')


def test_the_page_says_what_was_found(page: str, summary: Summary):
    parsed = _check_inert(page)
    text = " ".join(" ".join(parsed.text).split())
    assert summary.headline in text
    for words in ("Qwen2.5-Coder", "88 of 119 solved", "gpt-3.5-turbo, paper", "Recalled for it", 'model = "local"'):
        assert words in text
    assert "pip install 'seasoned[local,eval]==0.1.0'" in text
    assert [tag for tag, _ in parsed.tags].count("svg") == 6
    assert len([1 for tag, attributes in parsed.tags if tag == "details" and "open" in attributes]) == 1


def test_ids_are_unique(page: str):
    ids = [attributes["id"] for _, attributes in Page(page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_light_dark_and_print_are_provided_for(page: str):
    for rule in ("prefers-color-scheme: dark", "@media print", "viewport", "var(--blue, #0072b2)"):
        assert rule in page


def test_foreign_text_is_escaped_everywhere(make_row):
    rows = [
        make_row(
            name, f"t{i}", benchmark=EVIL_STORED, success=i % 2 == 0, trained_on=n, task=EVIL_STORED, gold=EVIL_STORED,
            answer=EVIL_STORED, reason=EVIL_STORED, category=EVIL_STORED * i, lesson_ids=("l",), split=split,
            trajectory_id=f"{split}{name}{n}{i}{trial}", usage={"prompt_tokens": 5}, trial=trial, fold=i % 2,
        )
        for name, sizes in ((EVIL_STORED, (0,)), (EVIL_STORED + "b", (3, 6)))
        for n in sizes
        for i in range(3)
        for trial in range(2)
        for split in ("test", "train")
    ]  # fmt: skip
    lessons = [Lesson(id="l", kind="note", key=EVIL_STORED, text=EVIL_STORED)]
    run = dict.fromkeys(("id", "name", "model", "started", "finished", "version", "command"), EVIL) | {"seeds": [EVIL]}
    told = [
        Trajectory(
            id=row.trajectory_id,
            task_id=row.task_id,
            task=EVIL_STORED,
            lesson_ids=("l",),
            category=EVIL_STORED,
            agent=EVIL_STORED,
            messages=({"role": EVIL_STORED, "content": EVIL_STORED * 4}, {"role": "system", "content": EVIL_STORED}),
            meta={"invalid": i},
        )
        for i, row in enumerate(rows)
    ]
    told.append(Trajectory(id=EVIL_STORED, task_id=EVIL_STORED, task=EVIL_STORED, agent=EVIL_STORED))
    found = build(rows, run=run, lessons=lessons, baseline=EVIL_STORED, trajectories=told)
    asked = [
        Call(
            **dict.fromkeys(("run_id", "condition", "task_id", "task", "reply"), EVIL_STORED),
            purpose=purpose,
            messages=({"role": EVIL_STORED, "content": EVIL_STORED * 9}, {"role": "user", "content": purpose}),
        )
        for purpose in ("learning", "reflecting", "recalling")
    ]
    text = render(found, rows, told, lessons, EVIL, asked)
    parsed = _check_inert(text)
    text.encode()
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "49" not in [piece.strip() for piece in parsed.text]
    assert "مرحبا 🦉" in text


def test_a_reply_of_a_megabyte_makes_no_page_of_a_megabyte(make_row):
    row = make_row(success=True, trajectory_id="tra")
    told = Trajectory(id="tra", task_id="t0", task="t", messages=({"role": "assistant", "content": "ab " * 350_000},))
    text = render(build([row], run={}), [row], [told], [], "x" * 1_000_000)
    assert len(text) < 100_000
    assert "characters left out" in text


def test_an_empty_run_has_a_page():
    parsed = _check_inert(render(build([], run={}), []))
    assert "No test episode was finished" in " ".join(parsed.text)


def test_without_matplotlib_the_page_says_so(monkeypatch, summary, rows):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = render(summary, rows)
    assert "There are no plots" in text
    assert "<svg" not in text


def test_an_unknown_cost_is_called_unknown(make_row):
    rows = [make_row(success=True, usage={"prompt_tokens": 9, "calls": 1, "cost": None})]
    assert "1 model calls, cost unknown" in render(build(rows, run={}), rows)


def test_retries_have_their_table_and_their_figures(retried_summary, retried):
    text = " ".join(Page(render(retried_summary, retried)).text)
    for words in ("Solved by trial", "Why tasks stayed unsolved", "How tasks ended", "Mean over seeds and folds"):
        assert words in text
    assert "number of attempts per task: retry 4, Reflexion 4." in text
    assert "Every episode" not in text


def test_scores_turns_and_guidance_stand_in_the_page(guided_summary, guided):
    text = " ".join(" ".join(Page(render(guided_summary, guided[0])).text).split())
    for words in ("score", "0.438", "0.665", "turns (mean)", "guidance tokens", "Heuristics against trajectories"):
        assert words in text


def test_every_prompt_of_every_episode_can_be_read(summary, rows, lessons, tell):
    everything = [tell(row.trajectory_id) for row in rows if row.split == "test"]
    page = render(summary, rows, everything, lessons)
    parsed = _check_inert(page)
    text = "".join(parsed.text)
    for trajectory in everything:
        assert f"seasoned replay {trajectory.id}" in text
        for message in trajectory.messages:
            assert message["content"] in text
    assert f"{len(everything):,} whole conversations" in text
    links = {attributes["href"][1:] for tag, attributes in parsed.tags if tag == "a"}
    assert links <= {attributes.get("id") for _, attributes in parsed.tags}


def test_exchanged_demonstrations_lead_to_the_attempts_that_they_are(summary, rows, tell):
    one, other = (tell(each) for each in choose_episodes(summary, rows)[:2])
    told = {"demonstrations": [{"from": 0, "ids": [other.id, EVIL_STORED]}, {"from": 3, "ids": [EVIL_STORED]}]}
    one = one.model_copy(update={"meta": told})
    parsed = _check_inert(render(summary, rows, [one, other]))
    text = "".join(parsed.text)
    assert text.count(f"Demonstrations before the task, from step 1: {other.id}, ") == 2
    assert text.count("; from step 4: ") == 2
    links = [attributes["href"][1:] for tag, attributes in parsed.tags if tag == "a"]
    assert links.count("episode-2") == 2
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))


def _user(said):
    return {"role": "user", "content": said}


def test_every_other_prompt_can_be_read_too(summary, rows, tell):
    rules = {"role": "system", "content": "You study how an agent worked. " * 20}
    calls = [
        Call(run_id="r", purpose="learning", condition="expel", messages=(rules, _user(said)), reply=f"ADD {said}")
        for said in ("first pair", "second pair")
    ]
    everything = [tell(row.trajectory_id) for row in rows if row.split == "test"]
    page = render(summary, rows, everything, calls=calls)
    parsed = _check_inert(page)
    text = "".join(parsed.text)
    for words in ("Every other prompt", "learning, ExpeL: 2", "first pair", "ADD second pair", "2 model calls"):
        assert words in text
    assert text.count(rules["content"]) == 1
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"][1:] for tag, attributes in parsed.tags if tag == "a"}
    assert "call-opening-1" in links <= set(ids)


FACT = Lesson(id="les-1", kind="fact", key="tarn", text=">>> tarn('3 kg')\n7")
OTHER = Lesson(id="les-2", kind="fact", key="velp", text=">>> velp(1)\n2")
WRONG = "def solve(x):\n    y = tarn(x)\n    return y"
RIGHT = "def solve(x):\n    y = tarn(f'{x} kg')\n    return y"


def attempt(name, program, **fields):
    steps = (Step(action=">>> tarn(3)", observation="ValueError: no"), Step(action=program))
    given = {"task": "Write solve(x).\nUse: tarn.", "agent": "coder", "steps": steps, **fields}
    return Trajectory(id=name, task_id="t0", outcome=Outcome(success=program == RIGHT, reason="answered"), **given)


@pytest.fixture
def run(make_row):
    """Four tasks that only facts solves, and one that both fail."""
    rows, attempts = [], []
    for number in range(5):
        for condition, program in (("coder", WRONG), ("facts", RIGHT if number < 4 else WRONG)):
            name = f"tra-{condition}-{number}"
            fields = {"meta": {"verdict": "solve(3) gave <b>0</b>"}} if condition == "coder" else {}
            fields |= {"lesson_ids": ("les-1", "les-2")} if condition == "facts" else {}
            attempts.append(attempt(name, program, **fields))
            right = program == RIGHT
            rows.append(make_row(condition, f"t{number}", success=right, trajectory_id=name))
    summary = build(rows, run={"id": "r", "conditions": ["coder", "facts"]}, baseline="coder")
    return summary, rows, attempts


def test_the_programs_stand_side_by_side_with_the_lines_that_differ(run):
    found = fixes(*run, [FACT, OTHER])
    assert len(found) == FIXES
    before, after = found[0]["sides"]
    assert [line for line, marked in before["lines"] if marked] == ["    y = tarn(x)"]
    assert [line for line, marked in after["lines"] if marked] == ["    y = tarn(f'{x} kg')"]
    assert before["says"] == "solve(3) gave <b>0</b>"
    assert found[0]["facts"] == [FACT.text]


def test_the_page_has_them_escaped(run):
    page = render(*run, [FACT])
    assert "What failed before, what works now" in page
    assert "solve(3) gave &lt;b&gt;0&lt;/b&gt;" in page
    assert "tarn(f&#39;{x} kg&#39;)" in page


def test_without_a_verdict_the_last_observation_is_told(run):
    summary, rows, attempts = run
    bare = [one.model_copy(update={"meta": {}}) for one in attempts]
    assert fixes(summary, rows, bare, [])[0]["sides"][0]["says"] == "ValueError: no"


def test_other_agents_have_no_such_figure(run):
    summary, rows, attempts = run
    assert fixes(summary, rows, [one.model_copy(update={"agent": "react"}) for one in attempts], []) == []
