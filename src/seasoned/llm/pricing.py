"""What a call cost in US dollars, from the prices that `genai-prices` carries with it.

Always holds: an unknown price is None, never zero; nothing is fetched from the network and nothing is raised.
"""

from __future__ import annotations

from seasoned.endpoint import OPENAI_URL


def cost(
    model: str, base_url: str | None, *, prompt_tokens: int, cached_tokens: int, completion_tokens: int
) -> float | None:
    """US dollars for one call, or None where the price is unknown.

    Args:
        model: the model's name as the vendor calls it.
        base_url: the address that was asked (None: OpenAI). An address of no vendor in the price list, such as a
            server on this machine, has no price, whatever the model is called.
        prompt_tokens: all tokens of the prompt, cached ones included.
        cached_tokens: those of them that the server had in its prefix cache.
        completion_tokens: tokens of the reply.
    """
    try:
        from genai_prices import Usage, calc_price

        used = Usage(input_tokens=prompt_tokens, cache_read_tokens=cached_tokens, output_tokens=completion_tokens)
        return float(calc_price(used, model, provider_api_url=base_url or OPENAI_URL).total_price)
    except Exception:  # a price that cannot be told must not stop a run
        return None
