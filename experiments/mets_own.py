"""Makes posts and facts in the forms of METS-CoV and ConceptNet: `python experiments/mets_own.py FOLDER [SEED]`.

The published posts may not be redistributed. These show how a gate treats facts that name more than the question needs,
like ConceptNet's ("fever causes headache"). Writes FOLDER/posts.csv and FOLDER/facts.csv.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

POSTS = 240
ENTITIES = {
    "symptom": ("fever", "headache", "dry cough", "chills", "sore throat", "nausea", "fatigue", "rash", "dizziness"),
    "disease": ("pneumonia", "asthma", "diabetes", "the flu", "measles", "bronchitis", "hepatitis", "malaria", "gout"),
    "drug": (
        "aspirin",
        "ibuprofen",
        "insulin",
        "penicillin",
        "paracetamol",
        "zinc",
        "cortisone",
        "morphine",
        "heparin",
    ),
    "vaccine": ("booster", "flu shot", "second dose", "pfizer shot", "jab", "moderna vaccine", "vaccination"),
}
SENTENCES = {
    "symptom": ("woke up with {} again .", "{} for three days now and no end .", "my boy came home with {} ."),
    "disease": ("my aunt is in hospital with {} .", "they say it is {} .", "had {} as a child , never again ."),
    "drug": ("took {} and slept .", "the pharmacy is out of {} .", "doctor put me on {} today ."),
    "vaccine": ("got my {} this morning .", "no {} for us until may .", "queued two hours for the {} ."),
}
AROUND = (
    "covid is no joke .",
    "thanks to all the nurses out there .",
    "the bus was late as ever .",
    "stay home people .",
    "what a year .",
    "my sister drove me .",
    "# lockdown",
    "still waiting for the covid test .",
)
FACTS = {
    "symptom": (("Causes", "high body temperature"), ("RelatedTo", "flu"), ("IsA", "sickness")),
    "disease": (("Causes", "fever"), ("HasProperty", "treated with penicillin"), ("RelatedTo", "cough")),
    "drug": (("UsedFor", "treat headache"), ("Causes", "nausea"), ("RelatedTo", "medicine")),
    "vaccine": (("UsedFor", "prevent disease"), ("Causes", "sore arm"), ("RelatedTo", "virus")),
}
EVERYDAY = (("bus", "AtLocation", "station"), ("nurses", "AtLocation", "hospital"), ("covid", "Causes", "fever"))


def posts(count: int, seed: int) -> list[tuple[str, str, str]]:
    """`count` different posts: text, kind, entity."""
    rng, made = random.Random(f"mets-{seed}"), {}
    while len(made) < count:
        kind = rng.choice(sorted(ENTITIES))
        entity = rng.choice(ENTITIES[kind])
        sentences = [rng.choice(SENTENCES[kind]).format(entity), *rng.sample(AROUND, rng.choice((1, 2)))]
        rng.shuffle(sentences)
        made[" ".join(sentences)] = (kind, entity)
    return [(text, kind, entity) for text, (kind, entity) in made.items()]


def facts() -> list[tuple[str, str, str, str, str]]:
    """A line for each fact: URI, relation, start, end, JSON."""
    known = [*EVERYDAY]
    for kind, entities in ENTITIES.items():
        known += [(entity.split()[-1], relation, end) for entity in entities for relation, end in FACTS[kind]]
    unique = dict.fromkeys(known)
    return [
        (f"/a/{n}", f"/r/{relation}", f"/c/en/{start}", f"/c/en/{end.replace(' ', '_')}", json.dumps({"weight": 2.0}))
        for n, (start, relation, end) in enumerate(unique)
    ]


def main(folder: str, seed: str = "0") -> None:
    """Write both files."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    rows: Sequence[tuple[object, ...]] = [
        (n, text, repr([{"type": kind, "value": entity}]))
        for n, (text, kind, entity) in enumerate(posts(POSTS, int(seed)))
    ]
    with (out / "posts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("tweet_id", "preprocessed_text", "labels"), *rows])
    with (out / "facts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None).writerows(facts())


if __name__ == "__main__":
    main(*sys.argv[1:])
