"""Names of fields that hold secrets."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

# fmt: off
SECRET_NAMES = frozenset({
    "password", "passwords", "passwd", "pwd", "passphrase", "passphrases", "passcode",
    "secret", "secrets", "clientsecret",
    "token", "tokens", "authtoken", "accesstoken", "refreshtoken", "bearer", "jwt",
    "apikey", "apikeys", "accesskey", "accesskeys", "secretkey", "privatekey", "privatekeys",
    "signingkey", "encryptionkey", "sessionkey",
    "authorization", "credential", "credentials",
    "cookie", "cookies", "setcookie", "sessionid",
})
# fmt: on
"""The closed list. A field name matches when one of its words, or two neighbours written together, is in it."""

MAX_CACHED_CHARS = 128
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret.

    Words end at `_`, `-`, `.`, spaces and digits, and where camelCase says so: `dbPassword`, `X-API-Key` and
    `client_secret` match; `tokenizer`, `secretary` and `keyboard` do not.
    """
    return _cached(name) if len(name) <= MAX_CACHED_CHARS else _is_secret(name)


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if not SECRET_NAMES.isdisjoint(words):
        return True
    return any(left + right in SECRET_NAMES for left, right in pairwise(words))


_cached = lru_cache(maxsize=4096)(_is_secret)
