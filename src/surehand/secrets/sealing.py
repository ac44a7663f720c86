"""AES-256-GCM over values at rest. Loads `cryptography`, so only `Keyring` imports it, when it is made.

    sealed = version (1 byte) | key id (8) | salt (16) | nonce (12) | ciphertext and tag

A key with random nonces is good for 2**32 messages. A busy installation seals that many within weeks, so each
process draws a salt, seals under a key derived from it, and draws another one after 2**24 messages. The version,
key id, salt and context are authenticated with the value.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .keyfile import key_id

VERSION = b"\x01"
SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
PREFIX_BYTES = 1 + 8 + SALT_BYTES
MESSAGES_PER_SALT = 1 << 24
MAX_DERIVED = 1024


class Broken(Exception):
    """A sealed value that cannot be opened; the message says why, for people."""


class UnknownKey(Broken):
    """Sealed with a key that is not here."""


class Sealer:
    """Seals with the first key, opens with any. Safe to use from several threads."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {bytes.fromhex(key_id(key)): key for key in keys}
        self._id = bytes.fromhex(key_id(keys[0]))
        self._derived: dict[bytes, AESGCM] = {}
        self._renew()

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """Opens only with the same context."""
        # Threads that race here may lose a few counts: the limit leaves room for that 256 times over.
        if self._left <= 0:
            self._renew()
        self._left -= 1
        prefix, cipher = self._current
        nonce = os.urandom(NONCE_BYTES)
        return prefix + nonce + cipher.encrypt(nonce, plain, prefix + context)

    def unseal(self, sealed: bytes, context: bytes) -> bytes:
        """The value.

        Raises:
            UnknownKey: Its key is not here.
            Broken: Another context, or a changed byte.
        """
        if len(sealed) < PREFIX_BYTES + NONCE_BYTES + TAG_BYTES or not sealed.startswith(VERSION):
            raise Broken("it is not a sealed value")
        prefix, nonce = sealed[:PREFIX_BYTES], sealed[PREFIX_BYTES : PREFIX_BYTES + NONCE_BYTES]
        cipher = self._derived.get(prefix) or self._derive(prefix)
        try:
            return cipher.decrypt(nonce, sealed[PREFIX_BYTES + NONCE_BYTES :], prefix + context)
        except InvalidTag:
            raise Broken("it was changed, or belongs to another place") from None

    def _renew(self) -> None:
        prefix = VERSION + self._id + os.urandom(SALT_BYTES)
        # One assignment, so that no thread ever sees the prefix of one key with the cipher of another.
        self._current = (prefix, self._derive(prefix))
        self._left = MESSAGES_PER_SALT

    def _derive(self, prefix: bytes) -> AESGCM:
        identity = prefix[1:9]
        key = self._keys.get(identity)
        if key is None:
            raise UnknownKey(f"its sealing key {identity.hex()} is not in the keyring")
        cipher = AESGCM(hmac.digest(key, b"surehand.seal.1\0" + prefix, "sha256"))
        if len(self._derived) >= MAX_DERIVED:
            self._derived.clear()
        self._derived[prefix] = cipher
        return cipher
