"""Tools of MCP servers, by the official SDK: a program spoken to by stdio, or streamable HTTP; both protocol eras.

What a server says of itself is a hint, what it answers is untrusted, and what may have been sent is never sent again
unless the operator says that the tool only reads.
"""

from .check import check_settings
from .source import McpSource

__all__ = ["McpSource", "check_settings"]
