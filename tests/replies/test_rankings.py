"""Replies of a ranking model, in every form that models find for them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.replies.rankings import UNREAD, read_ranking


def entry(number, score, reason="fits"):
    return {"number": number, "reason": reason, "score": score}


def told(ranking):
    return [(each.place, each.score) for each in ranking.scored]


def test_the_form_that_was_asked_for():
    found = read_ranking({"ranking": [entry(2, 40), entry(1, 90)], "contradictions": [[2, 1]]}, 3, 2)
    assert told(found) == [(0, 90), (1, 40)]
    assert found.scored[0].reason == "fits"
    assert found.contradictions == ((0, 1),)
    assert found.problems == ()


@pytest.mark.parametrize(
    "reply",
    [
        '{"ranking": [{"number": 3, "reason": "same kind", "score": 85}, {"number": 1, "reason": "", "score": 20}]}',
        '[{"id": "3", "score": 85, "rationale": "same kind"}, {"id": "1", "score": 20}]',
        '{"3": ["same kind", 85], "1": ["far", 20]}',
        '{"3": 85, "1": 20}',
        '[[3, 85, "same kind"], [1, 20, "far"]]',
        'Sure! Here is my ranking:\n```json\n[{"number": 3, "score": 85}, {"number": 1, "score": 20}]\n```\nGood luck!',
        "3: 85, same kind of task\n1: 20, far from it",
        "**3.** score: 85/100 - same kind\n- Heuristic 1 (score 20)",
        "<think>1 is 99?</think>3: 85\n1: 20",
        "1 is 99?\n1: 99</think>3: 85\n1: 20",
        '[{"number": 3, "score": "17/20"}, {"number": 1, "score": "20%"}]',
        '[{"number": 3, "score": 0.85}, {"number": 1, "score": 0.2}]',
        '[{"number": 3, "score": "0.85"}, {"number": 1, "score": "0.2"}]',
        "3: 0.85, same kind\n1: 0.2",
        "1. Lesson 3: 85\n2. Lesson 1: 20",
        "1) **Heuristic 3** - 85\n2) **Heuristic 1** - 20",
        "3: 17 out of 20, same kind\n1: score: 2 out of 10",
        '{"ranking": [[3, 85], [1, 20]]}',
        '{"ranking": {"3": 85, "1": 20}}',
        '{"Ranking": {"3": {"score": 85, "reason": "same kind"}, "1": {"score": 20}}}',
        '{"scores": {"3": 85, "1": 20}}',
        '{"ranking": "3:85 1:20"}',
        '{"ranking": "3: 85, 1: 20", "contradictions": []}',
        '["3:85", "1:20"]',
        '{"ranking": "3:85 1:20 2',
    ],
)
def test_other_forms(reply):
    assert told(read_ranking(reply, 5)) == [(2, 85), (0, 20)]


def test_prose_around_json_and_lines_is_reported_where_it_was_interpreted():
    assert read_ranking("3: 85", 5).problems == ("the reply is not JSON, so its lines were read",)
    assert "written as" in read_ranking([entry(1, "high")], 5).problems[0]


@pytest.mark.parametrize(
    ("score", "points"),
    [
        ("8 out of 10", 80),
        ("7 of 10", 70),
        ("90, one of 3 that fit", 90),
        ("5 of 0", UNREAD),
        ("very high", 90),
        ("high", 80),
        ("Medium", 50),
        ("very low", 10),
        ("beyond words", UNREAD),
    ],
)
def test_scores_in_other_forms(score, points):
    found = read_ranking([entry(1, score)], 1)
    assert told(found) == [(0, points)]
    assert len(found.problems) == 1


@pytest.mark.parametrize("reply", ["3: high, of the same kind", {"3": ["a task of the same kind", "high"]}])
def test_a_score_as_a_word_beside_its_reason(reply):
    assert told(read_ranking(reply, 3)) == [(2, 80)]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), True, []])
def test_what_is_no_figure_and_no_word_is_a_score_nobody_can_read(score):
    assert told(read_ranking([entry(1, score)], 1)) == [(0, UNREAD)]


def test_unknown_doubled_and_missing_numbers_are_reported():
    reply = [entry(9, 99), entry(2, 10), entry(2, 80), {"score": 70}, entry(True, 60), entry(0, 50), entry(-1, 40)]
    found = read_ranking(reply, 3, 3)
    assert told(found) == [(1, 10)]
    said = " ".join(found.problems)
    assert "'9', which is none of the 3 items" in said
    assert "names number 2 twice, and the first counts" in said
    assert "picks only 1 of the 3 items that were asked for" in said
    assert len(found.problems) == 7


def test_scores_out_of_range_and_missing_ones():
    found = read_ranking([entry(1, 250), entry(2, -5), {"number": 3}], 3)
    assert told(found) == [(0, 100), (1, 0), (2, 0)]
    assert len(found.problems) == 3


def test_what_was_cut_at_the_token_limit_does_not_come_first():
    cut = '{"ranking":[{"number":3,"reason":"x","score":90},{"number":1,"reason":"cut of'
    assert told(read_ranking(cut, 3)) == [(2, 90), (0, 90)]


def test_prose_in_a_list_is_no_score():
    assert read_ranking("1. Two of them are alike\n2. One thing I see", 3).scored == ()


def test_pairs_in_a_text_are_not_taken_from_sentences():
    assert told(read_ranking(["3: 2 of them are alike", "1"], 3)) == [(2, 100), (0, 99)]
    assert told(read_ranking({"ranking": "3:120 2:0.5 9:70"}, 3)) == [(2, 100), (1, 50)]


@pytest.mark.parametrize("reply", ["[3, 1, 2]", '{"ranking": [3, 1, 2]}', '{"ranking": ["3", "1", "2"]}'])
def test_bare_numbers_are_an_order(reply):
    assert told(read_ranking(reply, 3)) == [(2, 100), (0, 99), (1, 98)]


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "[]", "{}", "null", None, 7.5, [[]], {"ranking": "none"}])
def test_nothing_to_read(reply):
    found = read_ranking(reply, 3, 3)
    assert found.scored == ()
    assert "it scores nothing" in found.problems[-1]


def test_only_so_many_problems_are_told():
    assert len(read_ranking([entry(99, 1)] * 500, 3).problems) == 21


def test_contradictions_that_are_none_are_passed_over():
    pairs = [[1, 1], [1, 9], [1], [0, 2], ["x", 2], "1, 2", [2, "3"], None, [3, 2]]
    assert read_ranking({"ranking": [entry(1, 1)], "contradictions": pairs}, 3).contradictions == ((1, 2),)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(["number", "3"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["number", "score", "reason", "ranking", "contradictions", "1", "x"]), inner)
    ),
    max_leaves=20,
)


@given(values | st.text(), st.integers(1, 8))
def test_no_reply_raises(reply, count):
    for given_reply in (reply, json.dumps(reply)):
        found = read_ranking(given_reply, count, count)
        places = [each.place for each in found.scored]
        assert len(set(places)) == len(places)
        assert all(0 <= place < count for place in places)
        scores = [each.score for each in found.scored]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 100 for score in scores)
        assert all(0 <= one < other < count for one, other in found.contradictions)
        assert len(found.scored) == count or found.problems
