"""Decisions by Cedar policies: pure, default deny. Owns all that knows Cedar; never asks a clock, a store or a person.

Tool calls are the actions `call/NAME@VERSION`, each in the group `call/NAME`, that in the group `call`. In the head of
a policy `action == Action::"call/NAME"` means `action in`: a group is never the action of a request itself.
"""

from .decision import SELF, Allow, Ask, Decision, Deny, Requirement, Shadow, Word, word
from .people import roles_of
from .policies import GovernedAction, Policies
from .sources import PolicySource, read_policies

__all__ = [
    "SELF",
    "Allow",
    "Ask",
    "Decision",
    "Deny",
    "GovernedAction",
    "Policies",
    "PolicySource",
    "Requirement",
    "Shadow",
    "Word",
    "read_policies",
    "roles_of",
    "word",
]
