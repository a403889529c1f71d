from __future__ import annotations

from seasoned.lab.report.calls import Call, every_call, readable_calls

RULES = {"role": "system", "content": "You study how an agent worked. " * 20}


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
    assert readable_calls(found).startswith("4 model calls that are no turn of an agent, each with its reply. All that")


def test_what_does_not_fit_is_counted():
    found = every_call(CALLS, room=1)
    assert [one["messages"] for group in found["groups"] for one in group["episodes"]] == [None] * 4
    assert "0 model calls" in readable_calls(found)
    assert "The other 4 would not fit. All that were kept are in calls.jsonl." in readable_calls(found)
    many = every_call([CALLS[0]] * 4500)
    assert many["unnamed"] == 500


def test_no_calls_are_no_groups():
    assert every_call([]) == {"groups": [], "openings": [], "left_out": 0, "unnamed": 0}
