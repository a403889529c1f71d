"""Kinship: the relations of the reference family against hand-made ones, and stories that have one answer."""

import random
import re
from itertools import product

import pytest

from seasoned.lab.benchmarks.kinship import MEN, SENTENCES, STATED, WOMEN, Person, chains, family, relation, stories

MALE = {"husband", "son", "father", "brother", "grandfather", "grandson"}
HIS_OR_HER = re.compile(r"\b(his|her)\b")

# Every relation as steps in the tree, by hand: ^ to a parent, v to a child, - to a sibling, = to the spouse.
STEPS = {
    "husband": "=",
    "wife": "=",
    "son": "v",
    "daughter": "v",
    "father": "^",
    "mother": "^",
    "brother": "-",
    "sister": "-",
}
STEPS |= {"grandfather": "^^", "grandmother": "^^", "grandson": "vv", "granddaughter": "vv"}
SHORTER = {"^-": ("uncle", "aunt"), "-v": ("nephew", "niece"), "v=": ("son-in-law", "daughter-in-law")}
SHORTER |= {"=^": ("father-in-law", "mother-in-law"), "=-": ("brother-in-law", "sister-in-law")}
SHORTER |= {"-=": ("brother-in-law", "sister-in-law"), "^^": ("grandfather", "grandmother")}
SHORTER |= {"vv": ("grandson", "granddaughter"), "^": ("father", "mother"), "v": ("son", "daughter")}
SHORTER |= {"-": ("brother", "sister"), "=": ("husband", "wife")}
# A person's child has that person's spouse for its other parent, siblings share parents, and so on.
REWRITES = {"v^": "=", "^v": "-", "--": "-", "-^": "^", "v-": "v", "=v": "v", "^=": "^", "-^^": "^^", "^^=": "^^"}


def reduce(steps: str) -> str:
    """The shortest way that leads where `steps` leads, by the rules above."""
    before = ""
    while steps != before:
        before = steps
        for long, short in REWRITES.items():
            steps = steps.replace(long, short)
    return steps


@pytest.mark.parametrize(
    ("kin", "answer"),
    [
        (("husband", "son"), "son"),
        (("brother", "grandmother"), "grandmother"),
        (("son", "grandmother"), None),  # one's own mother or one's mother-in-law
        (("grandfather", "son"), None),  # one's father or one's uncle
        (("uncle", "son"), None),  # no story states an uncle
        (("daughter", "mother"), "wife"),
        (("father", "sister"), "aunt"),
        (("wife", "brother", "daughter"), "niece"),
        (("sister", "mother", "father"), "grandfather"),
        (("son", "wife", "father"), None),  # no word for it
    ],
)
def test_chains_known_by_hand(kin: tuple[str, ...], answer: str | None) -> None:
    found = chains(len(kin)).get(kin)
    assert (found.kin if found else None) == answer


def test_two_hops_agree_with_rules_written_by_hand() -> None:
    agreed = 0
    for kin, answer in chains(2).items():
        steps = reduce("".join(STEPS[word] for word in kin))
        if steps in SHORTER:
            assert answer.kin == SHORTER[steps][0 if kin[-1] in MALE else 1], kin
            agreed += 1
    assert agreed == len(chains(2)) == 68


def test_sexes_fit_the_chain() -> None:
    for hops in (2, 3):
        for kin, answer in chains(hops).items():
            if "husband" in (kin[0], answer.kin):
                assert answer.first_male == (False,), kin
            if "wife" in (kin[0], answer.kin):
                assert answer.first_male == (True,), kin
    assert chains(2)["brother", "father"].first_male == (False, True)


def test_relations_are_the_same_seen_from_both_ends() -> None:
    people = family()
    assert len(people) == 56
    for a, b in product(people, people):
        if a is b:
            continue
        there, back = relation(a, b), relation(b, a)
        assert (there is None) == (back is None)
        if there == "husband":
            assert back == "wife"
        if there == "brother":
            assert back in ("brother", "sister")
        if there in ("son", "daughter"):
            assert back in ("father", "mother")
        if there in ("uncle", "aunt"):
            assert back in ("nephew", "niece")
        if there in ("father-in-law", "mother-in-law"):
            assert back in ("son-in-law", "daughter-in-law")


def test_someone_without_parents_has_no_siblings() -> None:
    assert Person(male=True).siblings() == []
    assert relation(Person(male=True), Person(male=False)) is None


def test_stories_state_each_link_once_with_fitting_pronouns() -> None:
    made = stories(300, (2, 3), random.Random(0))
    assert [s.hops for s in made[:4]] == [2, 3, 2, 3]
    assert len({s.text for s in made}) > 290
    assert len({s.kin for s in made}) == 22
    for story in made:
        names = re.findall(r"\[(\w+)\]", story.text)
        assert len(set(names)) == story.hops + 1
        assert {story.first, story.second} <= set(names)
        assert set(names) <= {*MEN, *WOMEN}
        links = []
        for sentence in re.split(r"(?<=\.) ", story.text):
            kin = [word for word in re.findall(r"[a-z-]+", sentence) if word in STATED]
            assert len(kin) == 1
            a, b = re.findall(r"\[(\w+)\]", sentence)
            if sentence.startswith(f"[{a}], the ") or f"[{a}] is the " in sentence:
                a, b = b, a
            assert (b in MEN) == (kin[0] in MALE)
            for pronoun in HIS_OR_HER.findall(sentence):
                assert pronoun == ("his" if a in MEN else "her")
            links.append((a, kin[0], b))
        # Follow the links from the first person to the second: the chain must be one with a single answer.
        here, chain = story.first, []
        while here != story.second:
            kin_word, here = next((k, b) for a, k, b in links if a == here)
            chain.append(kin_word)
        assert chains(story.hops)[tuple(chain)].kin == story.kin
        assert (story.first in MEN) in chains(story.hops)[tuple(chain)].first_male


def test_sentences_have_no_kinship_word_of_their_own() -> None:
    for sentence in SENTENCES:
        assert not set(re.findall(r"[a-z]+", sentence)) & {*STATED, "uncle", "aunt", "niece", "nephew", "cousin"}
        assert {"{a}", "{b}", "{kin}"} <= set(re.findall(r"\{\w+\}", sentence))
    assert not set(MEN) & set(WOMEN)
