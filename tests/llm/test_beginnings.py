"""Who goes ahead of prompts that begin alike, who waits, and that nothing but time depends on it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.errors import InfrastructureError
from seasoned.llm.beginnings import SHORTEST, Beginnings
from seasoned.types import Reply

RULES = "Be kind. " * SHORTEST


def prompt(head=RULES, question="One?"):
    return [{"role": "system", "content": head}, {"role": "user", "content": question}]


@pytest.fixture
def beginnings(tmp_path):
    return Beginnings("http://127.0.0.1:9", "key", 3, tmp_path)  # nobody listens there


def test_one_leads_and_the_others_wait_for_it(beginnings):
    said, free = [], threading.Event()

    def send(leads):
        said.append(leads)
        if leads:
            free.wait(10)
        return Reply(text="x")

    with ThreadPoolExecutor(3) as threads:
        made = [threads.submit(beginnings.ask, prompt(question=f"{n}?"), send) for n in range(3)]
        while beginnings._known.get(hash(RULES)) is None or beginnings._known[hash(RULES)].waiting < 2:
            pass
        assert said == [True]
        free.set()
        assert [future.result(10).text for future in made] == ["x"] * 3
    assert said == [True, False, False]
    beginnings.ask(prompt(), send)
    assert said[-1] is False


def test_another_beginning_does_not_wait(beginnings):
    def send(leads):
        del leads
        return beginnings.ask(prompt(head="Other. " * SHORTEST), lambda leads: Reply(text=f"{leads}"))

    assert beginnings.ask(prompt(), send).text == "True"


def test_a_short_prompt_and_a_single_slot_never_lead(beginnings, tmp_path):
    assert beginnings.ask(prompt(head="Be kind."), lambda leads: Reply(text=f"{leads}")).text == "False"
    single = Beginnings("http://127.0.0.1:9", "key", 1, tmp_path)
    assert single.ask(prompt(), lambda leads: Reply(text=f"{leads}")).text == "False"


def test_where_the_first_fails_the_others_go_on(beginnings):
    started = threading.Event()

    def fails(leads):
        started.set()
        while beginnings._known[hash(RULES)].waiting < 1:
            pass
        raise InfrastructureError("gone")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(beginnings.ask, prompt(), fails)
        assert started.wait(10)
        second = threads.submit(beginnings.ask, prompt(), lambda leads: Reply(text=f"{leads}"))
        with pytest.raises(InfrastructureError):
            first.result(10)
        assert second.result(10).text == "False"
