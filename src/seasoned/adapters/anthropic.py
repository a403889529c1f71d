"""A client of Anthropic's SDK with a memory: guidance goes after its system prompt, and the conversation is recorded.

Always holds: what `sdk` says about clients, and `talks` about runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from seasoned.adapters.running import Where, checked
from seasoned.adapters.sdk import remember
from seasoned.adapters.talks import Talks
from seasoned.adapters.wire import MESSAGES
from seasoned.errors import ConfigError
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

Client = TypeVar("Client", bound="Anthropic | AsyncAnthropic")
_POSTS = {"/v1/messages": MESSAGES}
_KINDS = ("Anthropic", "AnthropicBedrock", "AnthropicVertex")


def remembering(where: Where, client: Client, *, check: Check | None = None, agent: str = "") -> Client:
    """Return a copy of the client with a memory, for all of `messages` and `beta.messages`, streams included.

    With a memory, a run begins with a request whose last message is not a tool result, and ends with a reply that
    calls none of your tools; the task is the user's last message, and the answer the last reply's text. The client is
    an `anthropic.Anthropic` or `anthropic.AsyncAnthropic`, or a subclass; see `seasoned.adapters` for the other
    arguments.
    """
    checked(where, check, "anthropic", "anthropic")
    import anthropic

    later = isinstance(client, tuple(getattr(anthropic, f"Async{kind}") for kind in _KINDS))
    if not later and not isinstance(client, tuple(getattr(anthropic, kind) for kind in _KINDS)):
        kind = type(client).__name__
        raise ConfigError(f"the client should be an anthropic.Anthropic or anthropic.AsyncAnthropic, and is a {kind}")
    return cast(Client, remember(client.copy(), Talks(where, check, agent), _POSTS, later=later))
