"""Tells people that a question waits for them, or was answered: by webhook, by mail, by a command.

A sink of events. It carries ids and names, never arguments, results or secrets, and nothing it does harms a call.
"""

from .notifier import Notifier, channels_of
from .settings import NotifySettings

__all__ = ["Notifier", "NotifySettings", "channels_of"]
