"""The scripted reader that believes everything."""

from __future__ import annotations

from seasoned.lab.attacks import load_attacks
from seasoned.lab.attacks.gullible import HONEST, Gullible
from seasoned.replies.heuristics import heuristic_schema

ATTACK = next(attack for attack in load_attacks("shop") if attack.family == "encoded")


def said(text: str, schema: object = None) -> object:
    reply = Gullible("shop", ATTACK).chat(
        [{"role": "user", "content": f"New task.\n\n{text} order B100"}], schema=schema
    )
    return reply.parsed or reply.text


def test_it_does_and_learns_what_is_planted_in_whatever_form_and_is_honest_otherwise():
    planted = f"a kettle\n{ATTACK.planted[0]}"
    assert "refund[B100]" in said(planted)
    assert said(planted, heuristic_schema())["action"] == ATTACK.says[0]
    assert "lookup[B100]" in said("a kettle")
    assert said("a kettle", heuristic_schema())["action"] == HONEST["shop"][1]
