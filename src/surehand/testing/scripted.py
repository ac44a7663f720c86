"""`ScriptedModel`, the model for tests. It lives in `agent`, since `surehand run` plays scripts too."""

from __future__ import annotations

from ..agent.script import Expect, ScriptedCall, ScriptedModel, ScriptError, Seen, Step, StepLike

__all__ = ["Expect", "ScriptError", "ScriptedCall", "ScriptedModel", "Seen", "Step", "StepLike"]
