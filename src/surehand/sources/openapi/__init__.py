"""Tools from OpenAPI descriptions, versions 2.0, 3.0 and 3.1.

A description is read once and judged as somebody else's text. Which host a call goes to, and which path, comes from the
description and the project alone; arguments only fill their places.
"""

from .source import OpenAPISource

__all__ = ["OpenAPISource"]
