"""The one place that picks implementations: store, keys, anchor, policies, runners."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from .audit import Anchor, FileAnchor, MemoryAnchor
from .engine import Engine
from .errors import ConfigError
from .limits import Limits
from .pipeline import Interceptor, Recorder, Services, new_id
from .policy import Policies, PolicySource, read_policies
from .ports import AsStored, CallerResolver, Clock, Store, SystemClock
from .redact import Redactor
from .registry import Catalog, Registry
from .runners import Gate, InlineRunner, ThreadRunner
from .secrets import Keyring
from .settings import Settings, read_project
from .spec import Tool
from .view import World


def open_engine(
    *,
    store: str | Store = "sqlite:///surehand.db",
    policies: str | Path | Sequence[PolicySource] | None = None,
    tools: Iterable[Tool] = (),
    registry: Registry | None = None,
    interceptors: Sequence[Interceptor] = (),
    settings: Settings | None = None,
    resolver: CallerResolver | None = None,
    clock: Clock | None = None,
) -> Engine:  # fmt: skip
    """Makes an engine, not yet connected: use it with `async with`.

    Args:
        store: `sqlite:///FILE`, `sqlite://` (in memory), `postgresql://...`, or a store of your own.
        policies: A folder of `*.cedar` files, one file, or sources. Without it only the built-in policies hold:
            permissions within scopes, confirmation for medium risk, a person for high.
        tools: Registered in addition to what `registry` holds.
        registry: Where tools are published; a new one by default.
        interceptors: Run around every call, in order.
        settings: Everything else; `store` and `policies` given here win.
        resolver: Who a caller is when an approved call runs; by default as stored, or as the caller who resumes.
        clock: Where time comes from.

    Raises:
        ConfigError: The URL, the key file or a setting is wrong.
        PolicyError: Policies do not load, or name a tool or argument that does not exist.
        RegistryError: Two tools have the same `name@version`.
    """
    settings = settings or Settings()
    registry = registry or Registry()
    for tool in tools:
        registry.register(tool)
    keyring, anchor = _keys(settings, store if isinstance(store, str) else None)
    load = policy_loader(policies, settings)
    services = _services(
        opened=_open_store(store) if isinstance(store, str) else store,
        world=World(registry.catalog, load(registry.catalog)),
        keyring=keyring,
        clock=clock or SystemClock(),
        limits=settings.limits,
        resolver=resolver or AsStored(),
    )
    services.interceptors.extend(interceptors)
    services.read_only_records = settings.read_only_records
    return Engine(services, registry, load, anchor)


def open_project(path: str | Path = "surehand.toml") -> Engine:
    """The engine that a project file describes. Paths in it are relative to the file.

    Raises:
        ConfigError: The file, a module or a setting is wrong.
        PolicyError: Policies do not load.
    """
    settings, folder = read_project(path)
    return open_engine(
        store=_within(settings.store, folder),
        policies=None if settings.policies is None else folder / settings.policies,
        tools=load_tools(settings.tools, folder),
        settings=_placed(settings, folder),
    )


def policy_loader(
    policies: str | Path | Sequence[PolicySource] | None, settings: Settings
) -> Callable[[Catalog], Policies]:
    """How policies are checked against a catalog: read once, checked whenever the catalog changes.

    Raises:
        PolicyError: There are none to read.
    """
    if policies is None:
        sources: Sequence[PolicySource] = ()
    elif isinstance(policies, str | Path):
        sources = read_policies(policies)
    else:
        sources = policies

    def load(catalog: Catalog) -> Policies:
        return Policies.load(
            sources,
            catalog,
            approver_group=settings.approvers,
            tenant_scopes=settings.tenants,
            irreversible=settings.irreversible,
        )

    return load


def load_tools(modules: Sequence[str], folder: Path) -> list[Tool]:
    """The `Tool` objects of modules, each once. Modules are found beside the project file and where Python looks.

    Raises:
        ConfigError: A module cannot be imported, or holds no tool.
    """
    found: dict[str, Tool] = {}
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    for name in modules:
        module = _module(name, folder)
        tools = [value for value in vars(module).values() if isinstance(value, Tool)]
        if not tools:
            raise ConfigError(f"tools: module {name!r} holds no tool; decorate functions with @sh.tool")
        found.update({tool.spec.id: tool for tool in tools})
    return list(found.values())


def _module(name: str, folder: Path) -> ModuleType:
    beside = any((folder / part).exists() for part in (name.split(".")[0], f"{name.split('.')[0]}.py"))
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"tools: module {name!r} cannot be imported: {error}") from error
    if beside and folder not in Path(module.__file__ or "").resolve().parents:
        # One process can hold one module of a name: the other project's tools would act in this one's place.
        raise ConfigError(
            f"tools: module {name!r} of {folder} cannot be used: this process has imported another of that name, "
            f"{module.__file__}; rename one, or open each project in a process of its own"
        )
    return module


def _open_store(url: str) -> Store:
    from .storage import open_store  # SQLAlchemy costs 0.2 s, and checking policies needs no store

    return open_store(url)


def _services(
    *, opened: Store, world: World, keyring: Keyring, clock: Clock, limits: Limits, resolver: CallerResolver
) -> Services:
    return Services(
        world=world,
        store=opened,
        keyring=keyring,
        clock=clock,
        limits=limits,
        redactor=Redactor(),
        resolver=resolver,
        recorder=Recorder(opened, pending=limits.pending_records),
        inline=InlineRunner(cancel_grace_s=limits.cancel_grace_s),
        thread=ThreadRunner(threads=limits.threads),
        gate=Gate(places=limits.concurrent_calls, queue=limits.queued_calls),
        owner=new_id("eng"),
    )


def _keys(settings: Settings, url: str | None) -> tuple[Keyring, Anchor]:
    if url is not None and url in ("sqlite://", "sqlite:///:memory:") and settings.keys is None:
        return Keyring.ephemeral(), MemoryAnchor()
    file = _sqlite_file(url)
    keys = Path(settings.keys) if settings.keys is not None else Path(f"{file}.keys" if file else "surehand.keys")
    anchor = Path(settings.anchor) if settings.anchor is not None else keys.with_name(f"{keys.stem}.anchor")
    return Keyring.open(keys), FileAnchor(anchor)


def _sqlite_file(url: str | None) -> str | None:
    if url is None or not url.startswith("sqlite:///"):
        return None
    return url.removeprefix("sqlite:///")


def _within(url: str, folder: Path) -> str:
    file = _sqlite_file(url)
    if not file or file.startswith("/") or file == ":memory:":
        return url
    return f"sqlite:///{folder / file}"


def _placed(settings: Settings, folder: Path) -> Settings:
    import dataclasses

    paths: Mapping[str, str] = {
        name: str(folder / value) for name in ("keys", "anchor") if (value := getattr(settings, name)) is not None
    }
    if settings.keys is None and _sqlite_file(settings.store) is None:
        paths = {"keys": str(folder / "surehand.keys"), **paths}
    return dataclasses.replace(settings, **paths)
