"""Keeps what the environment holds in secret out of journals, logs and prompts."""

import os
import re
from collections.abc import Iterable

_SECRET_NAME = re.compile(
    r"(?i)passw|passphrase|secret|credential|apikey|oauth"
    r"|(?:^|_)(?:key|(?:auth)?token|pass|sshpass|auth|pat|pwd|dsn)s?(?:_|$)"
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_MIN_LENGTH = 8
"""Shorter values, such as `yes` or the `local` of one's own server, would blank out words and code."""
# The last form is a key that a server has masked but for its beginning and end.
_LOOKS_SECRET = re.compile(r"(?i)\b(?:bearer\s+[\w.*~+/=-]{6,}|sk-[\w*-]{6,}|[\w-]{2,}\*{4,}[\w-]*)")


def redact(text: str, variables: Iterable[str] = ()) -> str:
    """Return the text without the values of environment variables that are named like secrets.

    A server may repeat a key that it was sent, in an error or in an answer.

    Args:
        text: what came from outside.
        variables: further variables that hold secrets, whatever they are called.
    """
    named = set(variables)
    secrets = [
        (name, value)
        for name, whole in os.environ.items()
        for value in _secrets_in(name, whole, is_named=name in named)
        if len(value) >= _MIN_LENGTH
    ]
    # The longest first: a shorter one may be the beginning of another.
    for name, value in sorted(secrets, key=lambda secret: -len(secret[1])):
        text = text.replace(value, f"[{name}]")
    return _LOOKS_SECRET.sub("[key]", text)


def _secrets_in(name: str, value: str, *, is_named: bool) -> list[str]:
    """Return what of a variable's value is secret: all, the passwords in its addresses, or nothing."""
    if is_named or (name not in _NOT_SECRET and _SECRET_NAME.search(name)):
        return [value]
    return _PASSWORD_IN_URL.findall(value)
