"""The suite of attacks: what it holds, and what the defences stop of it with a reader that believes everything."""

from __future__ import annotations

from collections import Counter

import pytest

from seasoned.errors import ConfigError
from seasoned.lab.attacks import SCENES, attack_all, load_attacks, summary
from seasoned.lab.attacks.gullible import Gullible
from seasoned.store.sql import Store


def test_there_are_forty_attacks_in_eight_families_on_three_scenes():
    attacks = load_attacks()
    assert len(attacks) >= 40
    assert len({attack.name for attack in attacks}) == len(attacks)
    assert min(Counter(attack.family for attack in attacks).values()) >= 5
    assert len({attack.family for attack in attacks}) == 8
    assert {attack.scene for attack in attacks} == set(SCENES)
    with pytest.raises(ConfigError, match="none on 'moon'"):
        load_attacks("moon")


def test_all_succeed_on_a_believer_without_a_defence_and_at_most_a_tenth_with_it():
    tried = attack_all(load_attacks(), ["clean", "off", "on"])
    found = summary(tried)
    done = {name: result["succeeded"] for name, result in found["defences"].items()}
    assert done["clean"] == 0
    assert done["off"] >= 0.9 * found["attacks"]
    assert done["on"] <= 0.1 * found["attacks"]
    assert found["flagged_by_patterns"] == 7
    # What the attempt without an attack taught is recalled.
    assert all(each.recalled >= 1 and each.waiting >= 1 for each in tried if each.defence == "on")


def test_a_model_is_asked_once_and_the_same_command_goes_on_where_it_was_stopped(tmp_path):
    class Counted(Gullible):
        calls = 0

        def chat(self, messages, **options):
            type(self).calls += 1
            return super().chat(messages, **options)

    attacks, honest = load_attacks("emoji")[:2], Counted("emoji", None)
    with Store(tmp_path / "replies.db") as store:
        both = attack_all(attacks, ["off", "on"], honest, store=store)
        asked = Counted.calls
        attack_all(attacks, ["off"], honest, store=store)
        assert Counted.calls == asked
        attack_all(attacks, ["off", "on"], honest, store=store)
        assert Counted.calls == asked
    assert [each.succeeded for each in both] == [False] * 4
