"""Values that never show themselves, and the keys that seal, index and sign. Never logs, never stores values.

`cryptography` is loaded with the first `Keyring`, not with this package.
"""

from .keyring import Keyring, UnsealError
from .secret import Secret
from .signing import VerifyKey

__all__ = ["Keyring", "Secret", "UnsealError", "VerifyKey"]
