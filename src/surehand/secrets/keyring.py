"""`Keyring`: the three keys of an installation, and what is done with them."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from surehand.errors import ConfigError, StoreError
from surehand.spec.hashes import canonical_json

from . import keyfile
from .keyfile import Keys, key_id
from .signing import SigningKey, VerifyKey

if TYPE_CHECKING:
    from .sealing import Sealer


class UnsealError(StoreError):
    """A sealed value cannot be opened: it was changed, is at another place, or its key is missing."""


class Keyring:
    """Seals values at rest, hashes values under a key, and signs. Safe to use from several threads.

    Make one with `open` or `ephemeral`.
    """

    def __init__(self, keys: Keys, path: Path | None = None) -> None:
        self._path = path
        self._signing = SigningKey(keys.signing)
        # Values and raw bytes are hashed apart, so that no bytes can be made to pass for a value.
        self._hash_value = hmac.new(keys.index, b"surehand.index.1.value\0", hashlib.sha256)
        self._hash_bytes = hmac.new(keys.index, b"surehand.index.1.bytes\0", hashlib.sha256)
        self.index_key_id = key_id(keys.index)
        """Names the key behind `keyed_hash`. It never changes in the life of an installation."""
        self._use(keys)

    def _use(self, keys: Keys) -> None:
        from .sealing import Sealer  # loads `cryptography`

        self._keys = keys
        self._sealer: Sealer = Sealer(keys.sealing)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = True) -> Keyring:
        """Reads the key file; makes it (mode 0600) if there is none. Processes that race all get the same keys.

        Losing this file means losing every sealed value: back it up, apart from the database. A store that keeps
        `index_key_id` and `public_key_id` knows which keys it was made with.

        Args:
            path: The file, in an existing folder.
            create: Whether it may be made. Not where a database already holds values of other keys.

        Raises:
            ConfigError: Others can read the file, it is damaged, foreign or missing, or its folder cannot be used.
        """
        path = Path(path).expanduser().absolute()
        try:
            keys = keyfile.read(path)
        except FileNotFoundError:
            if not create:
                raise ConfigError(
                    f"there is no key file {path}, and this database was made with other keys; restore {path}"
                ) from None
            keyfile.create(path, Keys.generate())
            try:
                keys = keyfile.read(path)
            except FileNotFoundError:
                raise ConfigError(f"key file {path} vanished while it was made") from None
        return cls(keys, path)

    @classmethod
    def ephemeral(cls) -> Keyring:
        """Fresh keys that end with the process: for memory stores and tests."""
        return cls(Keys.generate())

    def seal(self, plain: bytes, *, context: str) -> bytes:
        """Encrypts and authenticates.

        Args:
            plain: The value.
            context: Where it belongs, such as `call:TENANT:CALL_ID:arguments`: it opens nowhere else.
        """
        return self._sealer.seal(plain, context.encode())

    def unseal(self, sealed: bytes, *, context: str) -> bytes:
        """What was sealed.

        Raises:
            UnsealError: Another context, a changed byte, or an unknown key.
        """
        from .sealing import Broken, UnknownKey

        try:
            try:
                return self._sealer.unseal(sealed, context.encode())
            except UnknownKey:
                # Another process may have rotated the key since this one read the file.
                try:
                    changed = self._reread()
                except ConfigError as error:
                    raise UnsealError(f"sealed value of {context} cannot be opened: {error}") from error
                if not changed:
                    raise
                return self._sealer.unseal(sealed, context.encode())
        except Broken as error:
            raise UnsealError(f"sealed value of {context} cannot be opened: {error}") from None

    def keyed_hash(self, value: Any) -> str:
        """HMAC-SHA256 of bytes, or of the canonical form of a JSON value, in hex.

        Says that two values are the same without telling them, not even to one who can guess them.

        Raises:
            TypeError: Neither bytes nor a JSON value.
        """
        if isinstance(value, bytes):
            mac = self._hash_bytes.copy()
            mac.update(value)
        else:
            mac = self._hash_value.copy()
            mac.update(canonical_json(value))
        return mac.hexdigest()

    def sign(self, data: bytes) -> str:
        """Ed25519, in hex."""
        return self._signing.sign(data)

    def verify(self, signature: str, data: bytes) -> bool:
        """Whether this keyring signed exactly these bytes."""
        return self.verify_key.verify(signature, data)

    @property
    def verify_key(self) -> VerifyKey:
        """The public half of the signing key; `verify_key.text` exports it."""
        return self._signing.verify_key

    @property
    def public_key_id(self) -> str:
        """Names the signing key."""
        return self.verify_key.id

    @property
    def sealing_key_id(self) -> str:
        """Names the key that seals now."""
        return key_id(self._keys.sealing[0])

    def rotate(self) -> str:
        """Seals with a fresh key from now on, and gives its id. Older keys stay, to read what they sealed.

        Other processes read the new key when they first need it, and seal with it after a restart.

        Raises:
            ConfigError: The file cannot be read or written.
        """
        if self._path is None:
            self._use(self._keys.rotated())
        else:
            with keyfile.locked(self._path):
                keys = self._read(self._path).rotated()
                keyfile.replace(self._path, keys)
            self._use(keys)
        return self.sealing_key_id

    def _reread(self) -> bool:
        """Whether the file has other sealing keys than this object knew."""
        if self._path is None:
            return False
        keys = self._read(self._path)
        if keys.sealing == self._keys.sealing:
            return False
        self._use(keys)
        return True

    def _read(self, path: Path) -> Keys:
        try:
            keys = keyfile.read(path)
        except FileNotFoundError:
            raise ConfigError(f"key file {path} is gone; restore it from a backup") from None
        if (keys.index, keys.signing) != (self._keys.index, self._keys.signing):
            raise ConfigError(f"key file {path} now holds other keys; restart with the right file")
        return keys

    def __repr__(self) -> str:
        return f"Keyring({str(self._path) if self._path else 'ephemeral'}, signing={self.public_key_id})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a keyring cannot be pickled or copied; open it where it is used")
