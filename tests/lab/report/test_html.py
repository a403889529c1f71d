from __future__ import annotations

import sys
from html.parser import HTMLParser

import pytest

from seasoned.lab.report import html
from seasoned.lab.report.build import build
from seasoned.lab.report.html import (
    FIXES,
    MESSAGE_LIMIT,
    WHOLE_MESSAGE_LIMIT,
    Call,
    choose_episodes,
    every_call,
    every_episode,
    fixes,
    render,
    views,
)
from seasoned.lab.report.summary import Summary
from seasoned.traces.conversation import said
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


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.6, "1 min 0 s"), (312, "5 min 12 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds, shown):
    assert html.duration(seconds) == shown


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


def test_the_choice_is_instructive(summary, rows):
    chosen = choose_episodes(summary, rows)
    known = {row.trajectory_id: row for row in rows}
    assert len(chosen) == 12
    pairs = [(known[after], known[before]) for after, before in zip(chosen[::2], chosen[1::2])]
    assert all(a.key == b.key and (a.condition, b.condition) == ("expnote", "disabled") for a, b in pairs)
    moves = [(before.solved, after.solved) for after, before in pairs]
    assert moves == [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)]
    assert all(after.trained_on == 60 for after, _ in pairs)


def test_without_a_baseline_successes_and_failures_are_shown(make_row):
    rows = [make_row("expnote", f"t{i}", success=i == 0, trained_on=1, trajectory_id=f"tra{i}") for i in range(9)]
    assert choose_episodes(build(rows, run={}), rows) == ["tra0", "tra1", "tra2", "tra3"]


def test_a_task_of_several_runs_is_shown_once_of_each_kind(make_row):
    solved = {"disabled": "001", "expnote": "111"}
    rows = [
        make_row(name, success=solved[name][turn] == "1", repeat=turn, trained_on=of, trajectory_id=f"{name}{turn}")
        for name, of in (("disabled", 0), ("expnote", 1))
        for turn in range(3)
    ]
    assert choose_episodes(build(rows, run={}), rows) == ["expnote0", "disabled0"]
    (shown,) = views(
        build(rows, run={}),
        rows,
        [Trajectory(id=one, task_id="t0", task="x", agent="x") for one in ("expnote0", "disabled0")],
        [],
    )
    assert [one["condition"] for one in shown["attempts"]] == ["disabled", "ExpNote"]


def test_nothing_to_choose_from(make_row):
    assert choose_episodes(build([], run={}), []) == []
    rows = [make_row(success=True)]
    assert choose_episodes(build(rows, run={}), rows) == []


def test_episodes_of_one_task_stand_together_baseline_first(summary, rows, lessons, tell):
    chosen = choose_episodes(summary, rows)
    found = views(summary, rows, [tell(one) for one in chosen], lessons)
    assert len(found) == 6
    first = found[0]
    assert first["move"][0] == "F=>T"
    assert [attempt["condition"] for attempt in first["attempts"]] == ["disabled", "ExpNote"]
    assert [attempt["verdict"] for attempt in first["attempts"]] == ["not solved", "solved"]
    assert first["attempts"][1]["lessons"][0][0] == first["gold"]
    assert [role for role, _ in first["attempts"][0]["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(("success", "verdict"), [(True, "solved"), (False, "not solved"), (None, "outcome unknown")])
def test_an_episode_that_no_row_knows(summary, success, verdict):
    lost = Trajectory(task_id="t", task="a task", agent="react", outcome=Outcome(success=success))
    (found,) = views(summary, [], [lost], [])
    assert found["move"] is None
    assert (found["attempts"][0]["condition"], found["attempts"][0]["verdict"]) == ("ReAct", verdict)


def test_attempts_at_one_task_stand_in_the_order_of_the_trials(retried_summary, retried):
    told = [
        Trajectory(id=row.trajectory_id, task_id=row.task_id, task="a task")
        for row in reversed(retried)
        if row.condition == "reflexion" and row.task_id == "t4"
    ]
    (found,) = views(retried_summary, retried, told, [])
    assert [attempt["condition"] for attempt in found["attempts"]] == ["Reflexion", "Reflexion R1"]
    assert found["move"][0] == "F=>T"
    assert found["attempts"][1]["id"] == "reflexion-4-1"


def test_steps_stand_in_for_a_conversation_that_was_not_kept(summary):
    steps = (Step(thought="hm", action="Search[x]", observation="found"), Step(action="Finish[y]"))
    (found,) = views(summary, [], [Trajectory(task_id="t", task="a", steps=steps)], [])
    messages = [("assistant", "hm\nSearch[x]"), ("user", "found"), ("assistant", "Finish[y]")]
    assert found["attempts"][0]["messages"] == messages


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (
            '[{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\\"n\\": 17}"}}]',
            'look({"n": 17})',
        ),
        ([{"function": {"name": "look", "arguments": "1"}}, {"name": "ask"}], "look(1)\nask()"),
        ("not JSON", "not JSON"),
        (None, ""),
    ],
)
def test_calls_of_tools_are_told(calls, told):
    assert said({"role": "assistant", "content": None, "tool_calls": calls}) == told
    assert said({"role": "assistant", "content": "hm", "tool_calls": calls}) == f"hm\n{told}".strip()


def test_long_replies_and_long_conversations_are_cut(summary):
    messages = ({"role": "assistant", "content": "y" * 1_000_000}, *[{"role": "nobody", "content": "z"}] * 99)
    (found,) = views(summary, [], [Trajectory(task_id="t", task="x" * 1_000_000, messages=messages)], [])
    attempt = found["attempts"][0]
    assert len(found["task"]) <= 160
    assert len(attempt["messages"][0][1]) < MESSAGE_LIMIT + 60
    assert "996,000 characters left out" in attempt["messages"][0][1]
    assert attempt["messages"][1][0] == "other"
    assert len(attempt["messages"]) + attempt["left_out"] == 100


RULES = {"role": "system", "content": "You study how an agent worked. " * 20}
WORKED = ({"role": "user", "content": "An example."}, {"role": "assistant", "content": "go to shelf 1"})


def _told(name, task, *messages, **fields):
    return Trajectory(id=name, task_id=task, task=task, messages=messages, outcome=Outcome(success=False), **fields)


def _say(text):
    return {"role": "user", "content": text}


def _read(everything, name):
    """The whole conversation as a reader finds it, the opening in front."""
    episode = next(one for group in everything["groups"] for one in group["episodes"] if one["id"] == name)
    opening = everything["openings"][episode["opening"] - 1] if episode["opening"] else []
    return [*opening, *episode["messages"]]


def test_what_conversations_begin_with_is_written_once():
    told = [_told(f"tra-{i}", f"t{i}", RULES, *WORKED, _say(f"Task {i}")) for i in range(3)]
    found = every_episode([], told)
    assert [len(opening) for opening in found["openings"]] == [3]
    assert [one["opening"] for one in found["groups"][0]["episodes"]] == [1, 1, 1]
    for one in told:
        assert _read(found, one.id) == [(message["role"], message["content"]) for message in one.messages]


def test_attempts_at_one_task_share_no_opening_of_their_own():
    told = [_told(f"tra-{i}", "t", RULES, _say("Task " * 200)) for i in range(3)]
    assert every_episode([], told)["openings"] == []
    told.append(_told("tra-9", "other", RULES, _say("Something else")))
    found = every_episode([], told)
    assert [len(opening) for opening in found["openings"]] == [1]
    assert all(_read(found, one.id)[1:] == [("user", one.messages[1]["content"])] for one in told)


def test_short_openings_stay_where_they_are():
    told = [_told(f"tra-{i}", f"t{i}", _say("Hello."), _say(f"{i}")) for i in range(3)]
    assert every_episode([], told)["openings"] == []


def test_groups_are_conditions_and_gathering(make_row):
    rows = [make_row("reflexion", success=True, trial=1, trajectory_id="a", seed=1)]
    rows += [make_row("training", split="train", success=False, trajectory_id="b")]
    told = [_told("b", "t0"), _told("a", "t0", category="put"), _told("lost", "t0", agent="react")]
    groups = every_episode(rows, told)["groups"]
    assert [group["name"] for group in groups] == ["gathering", "Reflexion", "ReAct"]
    (one,) = groups[1]["episodes"]
    assert (one["trial"], one["verdict"], one["title"]) == (1, "solved", "put · seed 1, fold 0 · t0")


def test_what_does_not_fit_is_named():
    told = [_told(f"tra-{i}", f"t{i}", _say("x" * 100)) for i in range(4)]
    found = every_episode([], told, room=250)
    assert [one["messages"] is None for one in found["groups"][0]["episodes"]] == [False, False, True, True]
    assert (found["whole"], found["missing"]) == (len(told) - 2, 2)
    assert "2 whole conversations" in found["says"]
    assert "The other 2 did not fit; read one with seasoned replay" in found["says"]
    assert "would not fit" not in every_episode([], told)["says"]


def test_a_later_shorter_one_still_finds_room():
    told = [_told("a", "t0", _say("x" * 300)), _told("b", "t1", _say("y" * 100))]
    found = every_episode([], told, room=200)
    assert [one["messages"] is None for one in found["groups"][0]["episodes"]] == [True, False]


@pytest.mark.parametrize("n", [0, 4500])
def test_any_number_of_episodes(n):
    told = [_told(f"tra-{i}", f"t{i}", _say("x")) for i in range(n)]
    found = every_episode([], told)
    assert sum(len(group["episodes"]) for group in found["groups"]) + found["missing"] == n
    assert found["missing"] == max(0, n - 4000)


def test_a_reply_of_a_megabyte_says_what_is_missing():
    found = every_episode([], [_told("a", "t", _say("x" * 1_000_000))])
    ((_, text),) = _read(found, "a")
    assert len(text) < WHOLE_MESSAGE_LIMIT + 60
    assert "950,000 characters left out" in text


def test_demonstrations_that_were_exchanged_are_named():
    sets = [{"from": 0, "ids": ["tra-0"]}, {"from": 2, "ids": ["tra-1", "gone"]}]
    told = [_told(f"tra-{i}", f"t{i}", _say(f"{i}")) for i in range(2)]
    told.append(_told("new", "t", _say("?"), meta={"demonstrations": sets}))
    found = every_episode([], told)
    episodes = {one["id"]: one for group in found["groups"] for one in group["episodes"]}
    assert episodes["new"]["exchanged"] == [(1, ["tra-0"]), (3, ["tra-1", "gone"])]
    assert episodes["tra-0"]["exchanged"] == []
    assert found["numbers"] == {one_id: one["number"] for one_id, one in episodes.items()}


@pytest.mark.parametrize("meta", ["x", {"from": 1}, [1], [{"from": "1", "ids": []}], [{"from": 1, "ids": "tra"}], None])
def test_what_is_no_record_of_demonstrations_is_passed_over(meta):
    (group,) = every_episode([], [_told("tra-0", "t", meta={"demonstrations": meta})])["groups"]
    assert group["episodes"][0]["exchanged"] == []


def test_steps_stand_in_for_messages():
    told = Trajectory(id="a", task_id="t", task="t", steps=(Step(action="look", observation="a mug"),))
    assert _read(every_episode([], [told]), "a") == [("assistant", "look"), ("user", "a mug")]


def _call(purpose, said, **fields):
    messages = (RULES, {"role": "user", "content": said})
    return Call(run_id="r", purpose=purpose, messages=messages, reply=f"reply to {said}", **fields)


CALLS = [
    _call("learning", "pair 1", condition="expel"),
    _call("learning", "pair 2", condition="expel", seed=1),
    _call("reflecting", "attempt", condition="training", task_id="t1", task="put a mug", trial=2),
    _call("recalling", "list", task_id="t2", task="cool a pan"),
]


def test_calls_stand_in_groups_with_what_they_are_about():
    groups = every_call(CALLS)["groups"]
    titles = {group["name"]: [one["title"] for one in group["episodes"]] for group in groups}
    assert titles == {
        "learning, ExpeL": ["call 1 · reply to pair 1", "call 2 · seed 1, fold 0 · reply to pair 2"],
        "reflecting, gathering": ["call 3 · for R2 · put a mug"],
        "recalling, test tasks": ["call 4 · cool a pan"],
    }


def test_each_prompt_is_whole_and_its_reply_follows():
    found = every_call(CALLS)
    assert found["openings"] == [[("system", RULES["content"])]]
    shown = [one for group in found["groups"] for one in group["episodes"]]
    for one, call in zip(shown, CALLS, strict=True):
        told = [*found["openings"][one["opening"] - 1], *one["messages"]]
        assert told == [*((m["role"], m["content"]) for m in call.messages), ("assistant", call.reply)]
    assert found["says"].startswith("4 model calls outside the agents' turns, each with its reply. All that")


def test_what_does_not_fit_is_counted():
    found = every_call(CALLS, room=1)
    assert [one["messages"] for group in found["groups"] for one in group["episodes"]] == [None] * 4
    assert "0 model calls" in found["says"]
    assert "The other 4 would not fit. All that were kept are in calls.jsonl." in found["says"]
    many = every_call([CALLS[0]] * 4500)
    assert many["missing"] == 500


def test_no_calls_are_no_groups():
    assert every_call([])["groups"] == []
