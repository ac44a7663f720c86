"""Ed25519: the private half signs here, the public half verifies anywhere."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from surehand.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PREFIX = "ed25519:"
PUBLIC_KEY_BYTES = 32


class VerifyKey:
    """The public key of one signer. Share it freely; it is all that verification needs.

    Args:
        raw: 32 bytes.

    Raises:
        ConfigError: They are not a public key.
    """

    def __init__(self, raw: bytes) -> None:
        if len(raw) != PUBLIC_KEY_BYTES:
            raise ConfigError(f"a public key has {PUBLIC_KEY_BYTES} bytes, not {len(raw)}")
        self._raw = raw
        self.id = hashlib.sha256(b"surehand.public-key-id.1\0" + raw).hexdigest()[:16]
        """16 hex characters; signatures name their key by it."""

    @classmethod
    def from_text(cls, text: str) -> VerifyKey:
        """Reads what `text` gave.

        Raises:
            ConfigError: It is not such a text.
        """
        try:
            return cls(bytes.fromhex(text.strip().removeprefix(PREFIX)))
        except ValueError:
            raise ConfigError(f"not a public key: write {PREFIX} and 64 hex digits") from None

    @property
    def text(self) -> str:
        """`ed25519:` and 64 hex digits."""
        return PREFIX + self._raw.hex()

    @cached_property
    def _key(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self._raw)

    def verify(self, signature: str, data: bytes) -> bool:
        """Whether this key's owner signed exactly these bytes. Anything that is no signature is simply not valid."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(signature), data)
        except (InvalidSignature, ValueError):
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerifyKey) and self._raw == other._raw

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"VerifyKey({self.text!r})"


class SigningKey:
    """The private key. Made from its 32-byte seed."""

    def __init__(self, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.verify_key = VerifyKey(self._key.public_key().public_bytes_raw())

    def sign(self, data: bytes) -> str:
        """128 hex digits."""
        return self._key.sign(data).hex()
