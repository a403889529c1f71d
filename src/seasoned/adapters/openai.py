"""A client of OpenAI's SDK with a memory: guidance goes into its system message, and the conversation is recorded.

Always holds: what `sdk` says about clients, and `talks` about runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from seasoned.adapters.running import Where, checked
from seasoned.adapters.sdk import remember
from seasoned.adapters.talks import Talks
from seasoned.adapters.wire import CHAT, RESPONSES
from seasoned.errors import ConfigError
from seasoned.memory.checks import Check

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

Client = TypeVar("Client", bound="OpenAI | AsyncOpenAI")
_POSTS = {"/chat/completions": CHAT, "/responses": RESPONSES}


def remembering(where: Where, client: Client, *, check: Check | None = None, agent: str = "") -> Client:
    """Return a copy of the client with a memory, for all of `chat.completions` and `responses`, streams included.

    With a memory, a run begins with a request whose last message is not a tool result, and ends with a reply that
    calls no tool; the task is the user's last message, and the answer the last reply's text. If your agent writes
    observations into user messages, pass an attempt instead. The client is an `openai.OpenAI` or `openai.AsyncOpenAI`,
    or a subclass; see `seasoned.adapters` for the other arguments.
    """
    from openai import AsyncOpenAI, OpenAI

    checked(where, check)
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise ConfigError(
            f"the client should be an openai.OpenAI or openai.AsyncOpenAI, and is a {type(client).__name__}"
        )
    talks = Talks(where, check, agent)
    return cast(Client, remember(client.copy(), talks, _POSTS, later=isinstance(client, AsyncOpenAI)))
