"""A model that plays a script: for tests, demos and `surehand run --model script:FILE`. No network.

Its answers are real answers of a dialect, whole or streamed, so that everything above them is the real thing.
"""

from .model import Dialects, ScriptedModel, StepLike
from .step import Expect, ScriptedCall, ScriptError, Seen, Step

__all__ = ["Dialects", "Expect", "ScriptError", "ScriptedCall", "ScriptedModel", "Seen", "Step", "StepLike"]
