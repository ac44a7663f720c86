"""`open_engine` and `open_project`: an engine, put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from ..engine import Engine, PolicyLoader
from ..limits import Limits
from ..notify import Notifier, NotifySettings, channels_of
from ..pipeline import Interceptor, Recorder, ResultCache, Services, new_id
from ..policy import Policies, PolicySource
from ..ports import AsStored, CallerResolver, Clock, Store, SystemClock
from ..redact import Redactor
from ..registry import Catalog, Registry
from ..runners import Breakers, Gate, InlineRunner, ThreadRunner
from ..search import offer_search
from ..secrets import Keyring
from ..settings import Settings, read_project
from ..sources import Keeper, make_source, read_pins
from ..spec import Tool
from ..view import World
from .catalog import check_catalog
from .inputs import PolicyArgument, as_interceptors, as_policies, as_tools, check_tool_names, instance, require_methods
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
    (complete := partial(offer_search, most=settings.limits.view_tools))(registry)
    check_tool_names(settings, registry.catalog)
    load = policy_loader(settings.policies if policies is None else policies, settings)
    world = World(registry.catalog, load(registry.catalog), settings.filters)
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
    check_catalog(registry.catalog, settings.quotas)
    _apply(services, settings, registry)
    engine = Engine(services, registry, load, anchor, complete)
    engine.in_scratch = partial(_in_scratch, engine, settings, resolver, clock)
    return engine


def _in_scratch(
    engine: Engine, settings: Settings, resolver: CallerResolver | None, clock: Clock | None, registry: Registry
) -> Engine:
    """The same settings through the same door: nothing that holds here can be missing there. It tells nobody."""
    return open_engine(
        store="sqlite://",
        policies=engine.policies.sources(),
        tools=(),
        registry=registry,
        interceptors=engine.services.interceptors,
        settings=dataclasses.replace(settings, keys=None, anchor=None, notify=NotifySettings(), sources={}),
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


def _apply(services: Services, settings: Settings, registry: Registry) -> None:
    """What the settings say to the stages.

    Raises:
        ConfigError: A secret that is needed is not in the environment.
    """
    services.read_only_records = settings.read_only_records
    services.strictness = settings.arguments
    services.always = settings.always
    services.quotas = settings.quotas
    _keep_sources(services, registry, settings)
    _attend(services, settings)


def _keep_sources(services: Services, registry: Registry, settings: Settings) -> None:
    """Adds what keeps the sources of tools, if there are any.

    Raises:
        ConfigError: A source is not described as it must be, or the pins cannot be read.
    """
    if not settings.sources:
        return
    keeper = Keeper(
        [make_source(name, one, Path.cwd()) for name, one in settings.sources.items()],
        registry,
        read_pins(Path(settings.pins)),
        mark=services.mark_absent,
        problem=lambda where, text: services.emit("engine.problem", where=where, problem=text),
        clock=services.clock,
    )
    services.sources = lambda: keeper.statuses
    services.attendants.append(keeper)


def _attend(services: Services, settings: Settings) -> None:
    """Adds what tells people, if anything does.

    Raises:
        ConfigError: A secret that it needs is not in the environment.
    """
    channels = channels_of(settings.notify, now_us=services.clock.now_us)
    if not channels:
        return
    notifier = Notifier(
        channels,
        services.store,
        problem=lambda where, text: services.emit("engine.problem", where=where, problem=text),
        new_id=lambda: new_id("ntf"),
        grace_s=settings.limits.close_grace_s,
    )
    services.attendants.append(notifier)
    services.sinks.append(notifier.tell)


def policy_loader(policies: PolicyArgument, settings: Settings) -> PolicyLoader:
    """How policies are checked against a catalog: read once, checked whenever the catalog changes.

    Raises:
        ConfigError: These are no policies.
        PolicyError: There are none to read.
    """
    own = as_policies(policies)

    def load(catalog: Catalog, sources: Sequence[PolicySource] | None = None, *, incomplete: bool = False) -> Policies:
        return Policies.load(
            own if sources is None else sources,
            catalog,
            incomplete=incomplete or bool(settings.sources),  # one may be down, and its tools unknown
            approver_group=settings.approvers,
            tenant_scopes=settings.tenants,
            irreversible=settings.irreversible,
            roles=settings.roles,
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
        breakers=Breakers(failures=limits.breaker_failures, open_s=limits.breaker_open_s),
        cache=ResultCache(entries=limits.cache_entries, size_bytes=limits.cache_bytes),
        gate=Gate(places=limits.concurrent_calls, queue=limits.queued_calls),
        owner=new_id("eng"),
    )
