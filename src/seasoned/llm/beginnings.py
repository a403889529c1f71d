"""What several prompts begin with is read once for all slots of a local server.

Each slot has a prefix cache of its own: prompts that begin alike and come together would be read by each slot from the
beginning. Always holds: this only saves time, so whatever goes wrong in it is passed over; no file stays.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from seasoned.types import Message, Reply

SHORTEST = 500
"""Characters of a prompt from which it is worth waiting for what it begins with."""
LEADING = 0
"""The slot that reads a beginning first."""

_FILE = "first"


class _Reading:
    """A beginning that is being read, and how many wait for it."""

    def __init__(self) -> None:
        self.waiting = 0
        self.ended = threading.Event()


class Beginnings:
    """The beginnings that a server has read: two prompts begin alike where their first messages are equal.

    Args:
        address: of the server, with its scheme.
        api_key: its key.
        slots: how many it has.
        folder: where it keeps what a slot has read, for a moment.
    """

    def __init__(self, address: str, api_key: str, slots: int, folder: Path) -> None:
        self._address, self._api_key, self._slots, self._folder = address, api_key, slots, folder
        self._lock, self._giving = threading.Lock(), threading.Lock()
        self._known: dict[int, _Reading | None] = {}

    def ask(self, messages: Sequence[Message], send: Callable[[bool], Reply]) -> Reply:
        """Send a prompt; the first of those that begin alike goes ahead, and what it read is given to all slots.

        Nothing is given where nobody waited: a slot would lose what it has for what nobody asks it.

        Args:
            messages: the prompt.
            send: sends it; with True to the slot `LEADING`, and else to the one that the server chooses.

        Raises:
            LLMError: as `send` raises it.
        """
        if self._slots == 1 or sum(len(message["content"]) for message in messages) < SHORTEST:
            return send(False)
        head = hash(messages[0]["content"])
        with self._lock:
            leads = head not in self._known
            reading = self._known.setdefault(head, _Reading() if leads else None)
            if reading is not None and not leads:
                reading.waiting += 1
        if reading is None:
            return send(False)
        if not leads:
            reading.ended.wait()
            return send(False)
        try:
            reply = send(True)
            if reading.waiting:
                with self._giving, suppress(OSError, HTTPException, ValueError):
                    self._give_to_all_slots()
            return reply
        finally:
            self._known[head] = None
            reading.ended.set()

    def _give_to_all_slots(self) -> None:
        where = urlsplit(self._address)
        with closing(HTTPConnection(where.hostname or "", where.port, timeout=60)) as connection:

            def act(slot: int, action: str) -> None:
                headers = {"Authorization": f"Bearer {self._api_key}", "Content-Type": "application/json"}
                connection.request("POST", f"/slots/{slot}?action={action}", json.dumps({"filename": _FILE}), headers)
                connection.getresponse().read()

            try:
                act(LEADING, "save")
                for slot in range(1, self._slots):
                    act(slot, "restore")
            finally:
                (self._folder / _FILE).unlink(missing_ok=True)  # it holds a prompt
