"""`Notifier`: from events to notifications, each way with a queue and a pace of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ConfigError, SurehandError
from ..event import Event
from ..ports import Store
from .channel import Channel, DeliveryError, UndeliverableError
from .command import Command
from .mail import Mail
from .message import Message, message
from .settings import NotifySettings
from .webhook import Webhook

WAITS_S = (1.0, 5.0, 25.0)
"""Before the second, third and fourth try; then it is given up."""
QUEUED = 1000
_REMEMBERED = 10_000
_LEAST_SECRET_CHARS = 16


class Notifier:
    """Tells people about questions. Once per event that this engine sees; what a dying process had not sent is lost.

    Args:
        channels: The ways to people.
        store: Where the questions are.
        problem: Is told, in words without secrets, what could not be sent; like `Services.emit`.
        new_id: Makes the id of a notification.
        grace_s: How long stopping waits for what is still to be sent.
        waits_s: Seconds before each further try.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        store: Store,
        *,
        problem: Callable[[str, str], None],
        new_id: Callable[[], str],
        grace_s: float = 2.0,
        waits_s: Sequence[float] = WAITS_S,
    ) -> None:
        self._channels = channels
        self._store = store
        self._problem = problem
        self._new_id = new_id
        self._grace_s = grace_s
        self._waits_s = waits_s
        self._told: dict[str, None] = {}
        self._events: asyncio.Queue[tuple[Event, str]] | None = None
        self._lines: list[tuple[Channel, asyncio.Queue[Message]]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def tell(self, event: Event) -> None:
        """The sink: takes what people should know, and never waits."""
        approval_id = event.data.get("approval_id")
        if self._events is None or not isinstance(approval_id, str) or not approval_id:
            return
        if event.kind != "call.waiting" and not event.kind.startswith("approval."):
            return
        if event.kind == "call.waiting" and not self._is_new(event.tenant, approval_id):
            return
        try:
            self._events.put_nowait((event, approval_id))
        except asyncio.QueueFull:
            self._problem("notify", f"too many notifications wait; {event.kind} of {approval_id} is not sent")

    def _is_new(self, tenant: str, approval_id: str) -> bool:
        """A call that is repeated while it waits is told once."""
        key = f"{tenant}/{approval_id}"
        if key in self._told:
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.pop(next(iter(self._told)))
        self._told[key] = None
        return True

    async def start(self) -> None:
        """Begins to send."""
        self._events = asyncio.Queue(QUEUED)
        self._lines = [(channel, asyncio.Queue[Message](QUEUED)) for channel in self._channels]
        self._tasks = [asyncio.create_task(self._write(self._events), name="surehand-notify")]
        self._tasks += [
            asyncio.create_task(self._deliver(channel, queue), name=f"surehand-notify-{channel.name}")
            for channel, queue in self._lines
        ]

    async def stop(self) -> None:
        """Sends what waits, within the grace, and says what it could not send. Never raises."""
        if self._events is None:
            return
        events, self._events = self._events, None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s):
                await events.join()
                await asyncio.gather(*(queue.join() for _, queue in self._lines))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for channel, queue in self._lines:
            left = queue.qsize()
            if left:
                self._problem(f"notify: {channel.name}", f"closed before {left} notifications were sent")
        self._tasks, self._lines = [], []

    async def _write(self, events: asyncio.Queue[tuple[Event, str]]) -> None:
        while True:
            event, approval_id = await events.get()
            try:
                approval = await self._store.get_approval(event.tenant, approval_id)
                if approval is not None:
                    self._hand_over(message(self._new_id(), event, approval))
            except SurehandError as error:
                self._problem("notify", f"{event.kind} of {approval_id} is not sent: {error}")
            finally:
                events.task_done()

    def _hand_over(self, one: Message) -> None:
        for channel, queue in self._lines:
            try:
                queue.put_nowait(one)
            except asyncio.QueueFull:
                self._problem(f"notify: {channel.name}", f"too many wait; {one.event} of {one.approval_id} is not sent")

    async def _deliver(self, channel: Channel, queue: asyncio.Queue[Message]) -> None:
        while True:
            one = await queue.get()
            try:
                await self._try(channel, one)
            except asyncio.CancelledError:
                self._problem(f"notify: {channel.name}", f"closed before {one.event} of {one.approval_id} was sent")
                raise
            except Exception as error:
                why = str(error) if isinstance(error, DeliveryError) else type(error).__name__
                self._problem(f"notify: {channel.name}", f"{one.event} of {one.approval_id} was not sent: {why}")
            finally:
                queue.task_done()

    async def _try(self, channel: Channel, one: Message) -> None:
        for wait_s in (*self._waits_s, None):
            try:
                return await channel.send(one)
            except UndeliverableError:
                raise
            except DeliveryError:
                if wait_s is None:
                    raise
                await asyncio.sleep(wait_s)


def channels_of(settings: NotifySettings, *, now_us: Callable[[], int]) -> list[Channel]:
    """The ways to people that the settings name; none by default.

    Raises:
        ConfigError: A secret that one of them needs is not in the environment.
    """
    found: list[Any] = []
    if settings.webhook is not None:
        secret = settings.secret(settings.webhook_secret_env)
        if len(secret) < _LEAST_SECRET_CHARS:
            raise ConfigError(
                f"notify.webhook: set ${settings.webhook_secret_env} to the secret that signs it, "
                f"at least {_LEAST_SECRET_CHARS} characters"
            )
        found.append(Webhook(settings.webhook, secret, allow_loopback=settings.allow_loopback, now_us=now_us))
    if settings.smtp is not None:
        password = settings.secret(settings.smtp_password_env)
        found.append(
            Mail(
                settings.smtp,
                password,
                sender=settings.email_from,
                to=settings.email,
                allow_loopback=settings.allow_loopback,
            )
        )
    if settings.command:
        found.append(Command(settings.command))
    return found
