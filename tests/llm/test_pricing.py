import pytest

from seasoned.llm import pricing


def test_prices():
    tokens = {"prompt_tokens": 1_000_000, "cached_tokens": 0, "completion_tokens": 0}
    full = pricing.cost("gpt-4o-mini", None, **tokens)
    assert full == pytest.approx(0.15)
    assert pricing.cost("gpt-4o-mini", "https://api.openai.com/v1", **tokens) == full
    assert 0 < pricing.cost("gpt-4o-mini", None, **(tokens | {"cached_tokens": 900_000})) < full
    assert pricing.cost("gpt-4o-mini", "http://127.0.0.1:8080/v1", **tokens) is None
    assert pricing.cost("no-such-model", None, **tokens) is None
    assert pricing.cost("gpt-4o-mini", None, **(tokens | {"prompt_tokens": -1})) is None
    assert pricing.cost("", "http://\0", **tokens) is None
