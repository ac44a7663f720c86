"""What all formats have: a profile, and exports that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...view import ToolView
from ..choice import AUTO, Choice
from ..dialect import Fold
from ..export import Export
from ..message import Message, ModelTurn
from ..offering.offer import Exporter, Offer
from ..profile import Profile


class Format:
    """A wire format as one provider speaks it. Stateless but for the exports that it keeps.

    Args:
        profile: The provider's facts.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._exporter = Exporter(profile, self._render, self._wrap)

    def export(self, view: ToolView, *, strict: bool = False) -> Export:
        """See `Dialect.export`.

        Raises:
            ConfigError: The view has more tools than a request may.
        """
        return self._exporter.export(view, strict=strict)

    def request(self, messages: Sequence[Message], export: Export, choice: Choice = AUTO) -> dict[str, Any]:
        """See `Dialect.request`."""
        raise NotImplementedError

    def decode(self, response: Mapping[str, Any], export: Export) -> ModelTurn:
        """See `Dialect.decode`."""
        raise NotImplementedError

    def fold(self, export: Export) -> Fold:
        """See `Dialect.fold`."""
        raise NotImplementedError

    def _render(self, offer: Offer) -> dict[str, Any]:
        """One tool as the format writes it down."""
        raise NotImplementedError

    def _wrap(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All tools as the request takes them."""
        return tools
