"""What the clients of all providers' SDKs have in common. Imports no SDK and never shows a key."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

from ...errors import ConfigError
from ...redact import Redactor, clean_text
from ..model import ModelFailure

_DETAIL_CHARS = 300
_PRIVATE = frozenset({401, 403})
"""Answers whose text quotes the key, masked or not."""
_SPENT = frozenset({"billing_error", "billing_hard_limit_reached", "insufficient_quota"})
"""Words of providers that some answer as 429, though no waiting helps."""
_LASTING = _SPENT | {
    "authentication_error",
    "invalid_request_error",
    "not_found_error",
    "permission_error",
    "request_too_large",
    "validationException",
}
"""What asking again will not change, where a stream says it and no status does."""
_UNREACHED = frozenset({"APIConnectionError", "ConnectionError", "HTTPClientError", "RetryableError", "TransportError"})
"""Classes of the SDKs and of their HTTP library for connections that failed or took too long."""
_END = object()


def passes_with_time(status: int) -> bool:
    """Whether the same request may work a little later, going by the HTTP status.

    424 is what Bedrock answers when the model behind it failed.
    """
    return status in (408, 409, 424, 429) or status >= 500


class SdkModel:
    """A model behind the client of a provider's SDK, asynchronous or not. The SDK retries nothing: the run decides.

    A client that is not asynchronous is called in threads, so that the run is not held up. What an SDK does otherwise
    is told by overriding the methods with one underscore.

    A client that the model made itself is closed with it: `async with OpenAIModel("...") as model:`, or `close()`.
    """

    dialect: str
    package: str
    """The SDK, which is also the name of the extra that installs it."""
    resource: str
    """What of a client the model needs."""
    opens_late: bool = False
    """Whether the SDK sends the request of a stream only when the first event is asked for."""
    reserved: frozenset[str] = frozenset({"model", "messages", "tools", "system", "stream"})
    """What options may not set."""

    def __init__(self, name: str, client: Any, options: Mapping[str, Any] | None) -> None:
        if not name:
            raise ConfigError(f"{self.package}: the model has no name")
        self.name = name
        self._options = dict(options or {})
        taken = sorted(self.reserved.intersection(self._options))
        if taken:
            raise ConfigError(f"{self.package}: the options may not set {', '.join(taken)}")
        self._owned = client is None
        given: Any = self._default_client() if client is None else client
        self._check(given)
        self._blocks = not self._is_async(given)
        self._client: Any = self._without_retries(given)
        self._redactor = Redactor(self._keys(given))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def __aenter__(self) -> Self:
        """Nothing needs to be opened."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """See `close`."""
        await self.close()

    async def close(self) -> None:
        """Closes the connections, unless the client was given. Safe to call twice."""
        if self._owned:
            await self._close(self._client)

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `Model.complete`.

        Raises:
            ModelFailure: There is no answer.
            ConfigError: The SDK does not take this request, such as an option that it does not know.
        """
        return self._object(await self._sent(self._create(request, stream=False)))

    async def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """See `Model.stream`. Ending the iteration early ends the request.

        Raises:
            ModelFailure: While it is iterated: there is no answer, or it broke off.
            ConfigError: The SDK does not take this request.
        """
        opened = await self._sent(self._create(request, stream=True))
        if not hasattr(opened, "__iter__" if self._blocks else "__aiter__") or isinstance(opened, str):
            raise self._no_object(opened)
        blocking = _Blocking(opened) if self._blocks else None
        try:
            async with aclosing(self._events(blocking or opened)) as events:
                async for event in events:
                    yield event
        finally:
            await (blocking.aclose() if blocking else self._end(opened))

    def _default_client(self) -> Any:
        raise NotImplementedError

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        raise NotImplementedError

    def _check(self, client: Any) -> None:
        """Refuses what is no client of the SDK."""
        if not self._fits(client):
            kind = f"{client.__class__.__module__.partition('.')[0]}.{client.__class__.__name__}"
            raise ConfigError(f"{type(self).__name__} needs a client of the package {self.package}, not {kind}")

    def _fits(self, client: Any) -> bool:
        return hasattr(client, "with_options") and hasattr(client, self.resource)

    def _is_async(self, client: Any) -> bool:
        return hasattr(client, "__aenter__")

    def _without_retries(self, client: Any) -> Any:
        return client.with_options(max_retries=0)

    def _keys(self, client: Any) -> list[str]:
        """What must not be told in messages."""
        keys = (getattr(client, one, None) for one in ("api_key", "auth_token"))
        return [key for key in keys if isinstance(key, str)]

    def _base_url(self) -> str:
        """Where the client sends its requests; empty if it does not say."""
        return str(getattr(self._client, "base_url", ""))

    def _at(self) -> str:
        """Which server, without what an address may hold of names and keys."""
        parts = urlsplit(self._base_url())
        return f" at {parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""

    async def _close(self, client: Any) -> None:
        await client.close()

    async def _end(self, opened: Any) -> None:
        """Ends a stream that does not block, and with it the request."""
        closing = getattr(opened, "close", None) or getattr(opened, "aclose", None)
        ended = closing() if closing is not None else None
        if inspect.isawaitable(ended):
            await ended

    async def _call(self, method: Callable[..., Any], **given: Any) -> Any:
        """Calls a method of the client: as it is, or in a thread if it would hold up everything else."""
        if self._blocks:
            return await asyncio.to_thread(method, **given)
        answered = method(**given)
        return await answered if inspect.isawaitable(answered) else answered

    async def _sent(self, sending: Any) -> Any:
        """What the SDK answers. A failure of its own is raised without what it holds: headers, and so the key."""
        try:
            return await sending
        except ModelFailure as error:
            problem: Exception = error
        except json.JSONDecodeError as error:
            problem = self._failure(error)
        except (TypeError, ValueError) as error:
            problem = ConfigError(f"{self.package} cannot send this request: {self._safe(str(error))}")
        except Exception as error:
            problem = self._failure(error)
        raise problem

    async def _events(self, opened: Any) -> AsyncGenerator[dict[str, Any]]:
        began = not self.opens_late
        try:
            async for event in opened:
                began = True
                yield self._object(event)
            return
        except ModelFailure as error:
            problem = error
        except Exception as error:
            problem = self._failure(error, began=began)
        raise problem

    def _object(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, Mapping):
            return dict(cast("Mapping[str, Any]", answer))
        dump = getattr(answer, "model_dump", None)
        if dump is None:
            raise self._no_object(answer)
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)

    def _no_object(self, answer: Any) -> ModelFailure:
        kind = "text" if isinstance(answer, str) else type(answer).__name__
        return ModelFailure(
            f"{self.package} gave {kind} instead of a JSON object; does the base URL lead to the API itself?",
            retryable=False,
        )

    def _answered(self, error: Exception) -> tuple[int, dict[str, Any]]:
        """The HTTP status of an error of the SDK, and the provider's error object: 0 and empty where there are none."""
        return getattr(error, "status_code", None) or 0, inner(getattr(error, "body", None))

    def _failure(self, error: Exception, *, began: bool = False) -> ModelFailure:
        """What went wrong in words of our own, and whether asking again may help."""
        status, told_of = self._answered(error)
        word = next((told_of[key] for key in ("code", "type") if isinstance(told_of.get(key), str)), "")
        detail = "" if status in _PRIVATE else str(told_of.get("message") or "")
        if status >= 400:
            what, retryable = f"answered {status}", passes_with_time(status) and word not in _SPENT
        elif told_of:
            what, retryable = "broke off with an error", word not in _LASTING
        else:
            cause = error.__cause__ or error
            retryable = began or not _UNREACHED.isdisjoint(kind.__name__ for kind in type(error).__mro__)
            what = "broke off" if began else "cannot be reached" if retryable else "cannot be asked"
            at = "" if began else self._at()
            what = f"{what}{at} ({type(cause).__name__})"
        told = f"{self.package} {what} {word}".strip() + (f": {detail}" if detail else "")
        return ModelFailure(self._safe(told), retryable=retryable)

    def _safe(self, text: str) -> str:
        text = self._redactor.text(clean_text(text))
        return text if len(text) <= _DETAIL_CHARS else f"{text[:_DETAIL_CHARS]}..."


class _Blocking:
    """The pieces of a stream that blocks, each fetched in a thread."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._pieces: Iterator[Any] = iter(opened)
        self._left = False

    async def __aiter__(self) -> AsyncGenerator[Any]:
        while (piece := await asyncio.to_thread(self._next)) is not _END:
            yield piece

    async def aclose(self) -> None:
        """Ends the stream, and with it the request: at once if it can be, else when its next piece is there."""
        self._left = True
        await asyncio.to_thread(self._close)

    def _next(self) -> Any:
        piece = next(self._pieces, _END)
        if self._left:
            self._close()
        return piece

    def _close(self) -> None:
        """A generator cannot be closed while another thread waits in it: that thread does it when it comes back."""
        closing = getattr(self._opened, "close", None)
        if closing is not None:
            with suppress(ValueError):
                closing()


def missing(package: str, extra: str = "") -> ConfigError:
    """That an SDK is not there, and how to get it."""
    return ConfigError(f'{package} is not installed: pip install "surehand[{extra or package}]"')


def inner(body: Any) -> dict[str, Any]:
    """The provider's error object: the body itself, or its `error`."""
    if not isinstance(body, dict):
        return {}
    whole = cast("dict[str, Any]", body)
    error = whole.get("error")
    return cast("dict[str, Any]", error) if isinstance(error, dict) else whole
