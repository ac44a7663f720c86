"""`open_engine` and `open_project`: an engine, put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..engine import Engine
from ..limits import Limits
from ..pipeline import Interceptor, Recorder, Services, new_id
from ..policy import Policies
from ..ports import AsStored, CallerResolver, Clock, Store, SystemClock
from ..redact import Redactor
from ..registry import Catalog, Registry
from ..runners import Gate, InlineRunner, ThreadRunner
from ..secrets import Keyring
from ..settings import Settings, read_project
from ..spec import Tool
from ..view import World
from .inputs import PolicyArgument, as_interceptors, as_policies, as_tools, instance, require_methods
from .modules import load_interceptors, load_tools
from .places import as_store, keys_and_anchor, open_place, within


def open_engine(
    *,
    store: str | Path | Store | None = None,
    policies: PolicyArgument = None,
    tools: Iterable[Tool] | None = None,
    registry: Registry | None = None,
    interceptors: Sequence[Interceptor] | None = None,
    settings: Settings | None = None,
    resolver: CallerResolver | None = None,
    clock: Clock | None = None,
) -> Engine:  # fmt: skip
    """Makes an engine, not yet connected: use it with `async with`.

    Args:
        store: `sqlite:///FILE` (the default is `sqlite:///surehand.db`), the path of such a file, `sqlite://` (in
            memory), `postgresql://...`, or a store of this engine's own.
        policies: A folder of `*.cedar` files, one file, or sources. Without it only the built-in policies hold:
            permissions within scopes, confirmation for medium risk, a person for high.
        tools: Registered in addition to what `registry` holds.
        registry: Where tools are published; a new one by default.
        interceptors: Run around every call, in order.
        settings: Everything else. Of store, policies, tools and interceptors, what is given here wins; modules that
            the settings name are found in this folder and where Python looks.
        resolver: Who a caller is when an approved call runs; by default as stored, or as the caller who resumes.
        clock: Where time comes from.

    Raises:
        ConfigError: The URL, the key file, a setting or an argument is wrong.
        PolicyError: Policies do not load, or name a tool or argument that does not exist.
        RegistryError: Two tools have the same `name@version`.
    """
    settings = instance("settings", settings, Settings, "sh.Settings(...)") or Settings()
    registry = instance("registry", registry, Registry, "a sh.Registry()") or Registry()
    require_methods("resolver", resolver, "refresh")
    require_methods("clock", clock, "now_us", "monotonic")
    place = as_store(settings.store if store is None else store)
    here = Path.cwd()
    around = load_interceptors(settings.interceptors, here) if interceptors is None else as_interceptors(interceptors)
    for tool in load_tools(settings.tools, here) if tools is None else as_tools(tools):
        registry.register(tool)
    load = policy_loader(settings.policies if policies is None else policies, settings)
    world = World(registry.catalog, load(registry.catalog))
    opened = open_place(place)
    keyring, anchor = keys_and_anchor(settings, place)
    services = _services(
        opened=opened,
        world=world,
        keyring=keyring,
        clock=clock or SystemClock(),
        limits=settings.limits,
        resolver=resolver or AsStored(),
    )
    services.interceptors.extend(around)
    services.read_only_records = settings.read_only_records
    engine = Engine(services, registry, load, anchor)
    engine.in_scratch = lambda other: _in_scratch(engine, other, settings, resolver, clock)
    return engine


def _in_scratch(
    engine: Engine, registry: Registry, settings: Settings, resolver: CallerResolver | None, clock: Clock | None
) -> Engine:
    """The same settings through the same door, so that nothing that holds here can be missing there."""
    return open_engine(
        store="sqlite://",
        policies=engine.policies.sources(),
        tools=(),
        registry=registry,
        interceptors=engine.services.interceptors,
        settings=dataclasses.replace(settings, keys=None, anchor=None),
        resolver=resolver,
        clock=clock,
    )


def open_project(
    path: str | Path = "surehand.toml",
    *,
    interceptors: Sequence[Interceptor] = (),
    resolver: CallerResolver | None = None,
    clock: Clock | None = None,
) -> Engine:
    """The engine that a project file describes. Paths in it are relative to the file.

    Args:
        path: The file.
        interceptors: Run after those that the file names, in this process only.
        resolver: See `open_engine`.
        clock: See `open_engine`.

    Raises:
        ConfigError: The file, a module, a setting or an argument is wrong.
        PolicyError: Policies do not load.
        RegistryError: Two tools have the same `name@version`.
    """
    settings, folder = read_project(path)
    return open_engine(
        tools=load_tools(settings.tools, folder),
        interceptors=[*load_interceptors(settings.interceptors, folder), *as_interceptors(interceptors)],
        settings=within(settings, folder, Path(path)),
        resolver=resolver,
        clock=clock,
    )


def policy_loader(policies: PolicyArgument, settings: Settings) -> Callable[[Catalog], Policies]:
    """How policies are checked against a catalog: read once, checked whenever the catalog changes.

    Raises:
        ConfigError: These are no policies.
        PolicyError: There are none to read.
    """
    sources = as_policies(policies)

    def load(catalog: Catalog) -> Policies:
        return Policies.load(
            sources,
            catalog,
            approver_group=settings.approvers,
            tenant_scopes=settings.tenants,
            irreversible=settings.irreversible,
        )

    return load


def _services(
    *, opened: Store, world: World, keyring: Keyring, clock: Clock, limits: Limits, resolver: CallerResolver
) -> Services:
    inline = InlineRunner(cancel_grace_s=limits.cancel_grace_s)
    return Services(
        world=world,
        store=opened,
        keyring=keyring,
        clock=clock,
        limits=limits,
        redactor=Redactor(),
        resolver=resolver,
        recorder=Recorder(opened, pending=limits.pending_records),
        inline=inline,
        thread=ThreadRunner(threads=limits.threads, inline=inline),
        gate=Gate(places=limits.concurrent_calls, queue=limits.queued_calls),
        owner=new_id("eng"),
    )
