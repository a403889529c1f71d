"""Masks secrets in a text, by patterns.

Always holds: no text raises; the time grows linearly with the length; masking is idempotent.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seasoned.errors import ConfigError

_MAX_PASSES = 8  # of masking, until nothing changes; usually one
_SHORT = 200  # characters of a short text
_MAX_VALUE = 500  # characters of a value that its key alone can make a secret


@dataclass(frozen=True)
class Secret:
    """One kind of secret.

    Args:
        name: the name in its replacement `[masked:name]`; lower-case letters, "-" and spaces.
        pattern: a regular expression; its group `secret` is masked, or the whole match without such a group. Bound
            repetitions, or use one character class, so that it stays fast on hostile text.
        hints: the pattern is tried only on texts that contain one of these, in any case; () for all texts.
    """

    name: str
    pattern: str
    hints: tuple[str, ...] = ()


_KEYS = (
    r"(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}"
    r"|ya29\.[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|dop_v1_[a-f0-9]{32,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|AGE-SECRET-KEY-[A-Z0-9]{20,}"
    r"|xapp-[A-Za-z0-9-]{16,}|whsec_[A-Za-z0-9+/=]{20,}|shpat_[a-f0-9]{20,}|glsa_[A-Za-z0-9_]{20,}|hvs\.[A-Za-z0-9_-]{20,}"
    r"|ATATT[A-Za-z0-9_=-]{20,}|lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}|nvapi-[A-Za-z0-9_-]{20,}|tvly-[A-Za-z0-9-]{16,}"
    r"|pplx-[A-Za-z0-9]{20,}"
)
_KEY_HINTS = ("sk-", "rk-", "pk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "hf_", "github_pat_",
              "glpat-", "xox", "aiza", "ya29.", "npm_", "pypi-", "sg.", "dop_v1_", "gsk_", "xai-", "r8_",
              "secret-key", "xapp-", "whsec_", "shpat_", "glsa_", "hvs.", "atatt", "lsv2_", "nvapi-", "tvly-",
              "pplx-")  # fmt: skip
# Up to the block's end, or up to the last line of a cut block; never past the beginning of another block.
_BLOCK = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN ).)*?-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:(?:\s|\\{1,4}[nr])+[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\{1,4}[nr])+[A-Za-z0-9+/]{1,15}={1,2})?)"
)
_AWS = r"(?<![A-Za-z0-9])(?-i:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?![A-Za-z0-9])"
_NAMES = (
    r"[A-Za-z0-9]{0,20}(?:password|passwd|passphrase|passwort|kennwort)|pass|contraseña|密码|密碼|口令|pwd|secret|(?:api|access|auth|private|secret|encryption|account|client|signing)"
    r"[_ -]?(?:key|token|secret)(?:[_-]?id)?|(?:aws[_-]?)?secret[_-]?access[_-]?key"
    r"|(?:refresh|session|id|bearer)[_-]?token"
)
# Before a name: `DB_`, `my-`, and in camel case `db`.
_BEFORE = r"(?:[A-Za-z0-9]{1,30}[_-]){0,3}(?-i:[A-Za-z0-9]{0,30}[a-z0-9](?=[A-Z]))?"
_QUOTE = r"\\{0,7}[\"']"  # JSON within JSON within JSON
# "is" usually begins prose ("the password is wrong"), so after it a secret needs a digit or a special character.
_ODD = r"[^\s]{0,64}[\d!#$%*+]"
_GIVES = rf"(?:{_QUOTE})?[ \t]{{0,4}}(?:=>?|[:：]|\b(?:is|ist)\b(?=[ \t\"'\\]{{0,12}}{_ODD}))[ \t]{{0,4}}"
# Within quotes: a word of any characters, and further words up to the closing quote. Without quotes: up to the next
# delimiter; a comma alone is none, and neither is an opening bracket before something that looks like a secret.
_IN_QUOTES = r"(?!(?P=quote))(?:\\[^\s]|[^\s\\])"
_QUOTED = rf"(?:{_IN_QUOTES}){{6,}}(?:(?:{_IN_QUOTES}|[ \t]){{0,200}}(?=(?P=quote)))?"
_PLAIN = r"[^\s\"',;<>&\[\]{}()\\]|\\(?!\\{0,6}[\"'])|,(?=[^\s\"',{\[])(?!\w{1,40}[ \t]?[=:])"
_BARE = rf"(?:(?:{_PLAIN}){{6,}}|[({{]{{1,3}}(?={_ODD})(?:{_PLAIN}){{5,}}(?:[)}}]{{1,3}}(?:{_PLAIN}){{0,200}})?)"

_SECRET_HINTS = ("pass", "pwd", "secret", "key", "token", "kennwort", "contraseña", "密码", "密碼", "口令")

SECRETS: tuple[Secret, ...] = (
    Secret("private key", _BLOCK, ("private key",)),
    Secret("password", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]*:(?P<secret>[^\s/\"'<>]+)@", ("://",)),
    Secret("token", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}", ("eyj",)),
    Secret("key", rf"(?<![A-Za-z0-9])(?-i:{_KEYS})", _KEY_HINTS),
    Secret("key", _AWS, ("akia", "asia", "abia", "acca")),
    Secret(
        "token",
        r"\b(?:bearer|authorization\W{1,6}token)[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{12,})",
        ("bearer", "authorization"),
    ),
    Secret("secret", r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/_-]{20,})", ("hooks.slack.com",)),
    Secret(
        "password",
        rf"(?<![\w-])(?:-u|--user)[ \t]{{1,4}}(?:{_QUOTE})?[^\s:\"'\[]{{1,64}}:(?P<secret>[^\s\"'\[]{{4,}})",
        ("-u ", "--user"),
    ),
    Secret("password", r"\bauthorization\W{1,6}basic[ \t]{1,8}(?P<secret>[A-Za-z0-9+/=]{8,})", ("basic",)),
    Secret(
        "secret",
        r"[?&](?:key|sig|signature|token|auth|code|x-amz-signature|x-amz-credential)=(?P<secret>[^\s&#\"'<>\[]{8,})",
        ("key=", "sig=", "signature=", "token=", "auth=", "code=", "credential="),
    ),
    Secret(
        "secret",
        rf"(?<![A-Za-z0-9]){_BEFORE}(?:{_NAMES}){_GIVES}(?P<quote>{_QUOTE})?(?P<secret>(?(quote){_QUOTED}|{_BARE}))",
        _SECRET_HINTS,
    ),
    # A passphrase may begin with a short word; after other names, a short word begins prose ("is too short").
    Secret(
        "secret",
        rf"passphrase{_GIVES}(?P<quote>{_QUOTE})(?P<secret>(?!\[masked:)(?:{_IN_QUOTES}|[ \t]){{6,200}}(?=(?P=quote)))",
        ("passphrase",),
    ),
    Secret(
        "secret",
        rf"(?P<quote>{_QUOTE})[A-Za-z0-9_-]{{0,40}}token(?P=quote)[ \t]{{0,4}}(?:=>|:)[ \t]{{0,4}}(?P=quote)"
        rf"(?=[^\s\"']{{0,64}}\d)(?P<secret>[^\s\"'\\]{{8,}})",
        ("token",),
    ),
    Secret(
        "secret",
        rf"(?<![A-Za-z0-9]){_BEFORE}token[ \t]{{0,4}}[=:][ \t]{{0,4}}"
        r"(?=[^\s\"',;]{0,64}\d)(?=[^\s\"',;]{0,64}[a-z])(?P<secret>[^\s\"',;<>&\[\]{}()\\]{8,})",
        ("token",),
    ),
    Secret(
        "secret",
        rf"(?<![\w-])--(?:token|(?:[A-Za-z0-9]{{1,30}}-){{0,3}}(?:{_NAMES}))(?:{_QUOTE},[ \t]{{0,4}}|[ \t]{{1,4}})"
        rf"(?:{_QUOTE})?(?={_ODD})(?P<secret>[^\s\"'\\\[]{{6,}})",
        _SECRET_HINTS,
    ),
    Secret(
        "secret",
        rf"<(?:[A-Za-z0-9]{{1,30}}:)?{_BEFORE}(?:{_NAMES})[ \t]{{0,4}}>\s{{0,8}}"
        r"(?P<secret>[^\s<>]{6,})(?=\s{0,8}</)",
        _SECRET_HINTS,
    ),
    Secret("e-mail", r"(?<![\w.%+-])[\w.%+-]+@(?:[\w-]+\.)+[^\W\d_]{2,}(?!\w)", ("@",)),
)
"""The kinds of secrets masked by default. To add one: `(*SECRETS, Secret("order", r"ORD-\\d{8}"))`."""

Mask = Callable[[str], str]


def masker(secrets: Sequence[Secret] = SECRETS) -> Mask:
    """A function that masks these kinds of secrets in a text, in this order.

    ConfigError if a pattern is not a regular expression, or a name is not lower-case letters, "-" and spaces.
    """
    kinds: list[tuple[tuple[str, ...], re.Pattern[str], str]] = []
    for secret in secrets:
        name = secret.name
        if not re.fullmatch(r"[a-z][a-z -]{0,30}", name):
            raise ConfigError(f"a secret's name should be lower-case letters and spaces, but was {name!r}")
        try:
            pattern = re.compile(secret.pattern, re.IGNORECASE | re.DOTALL)
        except re.error as error:
            raise ConfigError(f"the pattern of the secret {name!r} is not a regular expression: {error}") from None
        kinds.append((tuple(map(str.lower, secret.hints)), pattern, f"[masked:{name}]"))
    escaped = [re.escape(hint) for hints, _, _ in kinds for hint in hints]
    # One search is faster for short texts, a search for each hint for long ones.
    any_hint = re.compile("|".join(escaped)) if all(hints for hints, _, _ in kinds) else re.compile("")

    def once(text: str) -> str:
        lower = text.lower()
        if len(text) < _SHORT and not any_hint.search(lower):
            return text
        for hints, pattern, mark in kinds:
            if not hints or any(hint in lower for hint in hints):
                text = pattern.sub(lambda m, mark=mark: _masked(m, mark), text)  # type: ignore[misc]
        return text

    def mask_all(text: str) -> str:
        for _ in range(_MAX_PASSES):
            masked = once(text)
            if masked == text:
                break
            text = masked
        return text

    return mask_all


def mask(text: str) -> str:
    """Mask `SECRETS` in a text, and the kinds in the file that the environment variable SEASONED_SECRETS names.

    ConfigError as in `read_secrets`.
    """
    return _masker_with(os.environ.get("SEASONED_SECRETS", ""))(text)


@cache
def _masker_with(path: str) -> Mask:
    return masker((*SECRETS, *read_secrets(path))) if path else masker()


def read_secrets(path: str | Path) -> tuple[Secret, ...]:
    """Your own kinds of secrets, from a TOML file of tables `[[secret]]` with a name and a pattern.

    ConfigError if the file cannot be read, or has another format.
    """
    format_ = 'a file of secrets has tables such as [[secret]] name = "order" pattern = "ORD-[0-9]{8}"'
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the file of secrets {path} cannot be read ({error}); {format_}") from None
    rows = content.get("secret")
    if not isinstance(rows, list) or list(content) != ["secret"]:
        raise ConfigError(f"{path}: {format_}")
    for row in rows:
        texts = row.values() if isinstance(row, dict) and sorted(row) == ["name", "pattern"] else ()
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise ConfigError(f"{path}: {format_}, but one was {row!r:.200}")
    return tuple(Secret(row["name"], row["pattern"]) for row in rows)


def mask_value(value: Any, masking: Mask = mask, depth: int = 100) -> Any:
    """Mask all texts, including keys, in a value of dictionaries, lists, tuples and texts.

    A text under a key such as `password` is masked as `password="text"` would be. What is nested deeper than `depth`
    becomes None, since no store accepts it.
    """
    if isinstance(value, str):
        return masking(value)
    if isinstance(value, dict | list | tuple) and depth <= 0:
        return None
    if isinstance(value, dict):
        return {mask_value(key, masking): _mask_item(key, item, masking, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mask_value(item, masking, depth - 1) for item in value)
    return value


def _mask_item(key: object, item: Any, masking: Mask, depth: int) -> Any:
    """Mask a value of a dictionary, also if its key makes it a secret."""
    masked = mask_value(item, masking, depth - 1)
    if isinstance(key, str) and isinstance(item, str) and masked == item and len(item) <= _MAX_VALUE:
        assignment = f"{key}={json.dumps(item, ensure_ascii=False)}"
        return "[masked:secret]" if masking(assignment) != assignment else masked
    return masked


def _masked(match: re.Match[str], mark: str) -> str:
    text, start = match.group(), match.start()
    begin, end = match.span("secret" if "secret" in match.re.groupindex else 0)
    if match.string.startswith("[masked:", begin, end):
        return text
    return text[: begin - start] + mark + text[end - start :]
