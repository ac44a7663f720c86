"""Dialects of model providers: encode tools, decode calls, encode results, fold a stream.

Pure: no network, no SDK, no clock. A wire format is a file in `formats`; the facts about a provider are a row in
`profiles`; `registered` puts both together under the provider's name. `offering` makes tools fit.
"""

from __future__ import annotations

from ..view import ToolView
from .choice import AUTO, Choice
from .dialect import Dialect, Fold
from .export import Export
from .message import (
    ArgumentsDelta,
    CallDelta,
    CallResult,
    Delta,
    Media,
    Message,
    ModelTurn,
    ReasoningDelta,
    ResultMessage,
    Stop,
    SystemMessage,
    TextDelta,
    Usage,
    UserMessage,
)
from .offering.strict import Verdict
from .profile import Profile, StrictRules
from .registered import FORMATS, PROVIDERS, dialect, register_provider, speaks

__all__ = [
    "AUTO",
    "FORMATS",
    "PROVIDERS",
    "ArgumentsDelta",
    "CallDelta",
    "CallResult",
    "Choice",
    "Delta",
    "Dialect",
    "Export",
    "Fold",
    "Media",
    "Message",
    "ModelTurn",
    "Profile",
    "ReasoningDelta",
    "ResultMessage",
    "Stop",
    "StrictRules",
    "SystemMessage",
    "TextDelta",
    "Usage",
    "UserMessage",
    "Verdict",
    "dialect",
    "export",
    "register_provider",
    "speaks",
]


def export(view: ToolView, name: str, *, strict: bool = False) -> Export:
    """The tools of a view as a provider takes them.

    Args:
        view: What one caller may see.
        name: A provider, such as `openai-chat` or `anthropic`.
        strict: Whether the provider should hold the model to the schemas, for each tool whose schema allows it.

    Raises:
        ConfigError: There is no such provider, or the view has more tools than it takes.
    """
    return dialect(name).export(view, strict=strict)
