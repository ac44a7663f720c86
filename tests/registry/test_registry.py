"""The control plane: publishes, never overwrites what is in use, never forgets."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from surehand.errors import RegistryError, SpecError
from surehand.registry import Catalog, Entry, Registry
from surehand.spec import Definition, Parameter, Tool, ToolSpec, bind_tool, raw_tool
from surehand.types import Caller


def made(name: str = "refund", version: str = "1.0.0", **fields: Any) -> Tool:
    spec = ToolSpec(name=name, version=version, description="Refunds.", **fields)
    return Tool(spec=spec, handler=lambda: version)


def filled(*tools: Tool) -> Registry:
    registry = Registry(now_ns=lambda: 1_700_000_000_000_000_000)
    for tool in tools:
        registry.register(tool)
    return registry


def refused(code: str, operation: str, act: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(RegistryError) as caught:
        act(*args, **kwargs)
    assert (caught.value.code, caught.value.operation) == (code, operation)
    return str(caught.value)


def test_register_and_get() -> None:
    tool = made()
    registry = filled(tool)
    assert registry.get("refund") is registry.get("refund", "1.0.0") is tool
    (entry,) = registry.list_versions("refund")
    assert (entry.tool, entry.status, entry.callable) == (tool, "active", True)
    assert entry.created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert registry.catalog.revision == 1


def test_register_checks() -> None:
    registry = filled(made())
    refused("name_empty", "register", registry.register, Definition(name=" ", description="D."), lambda: 1)
    refused("handler_missing", "register", registry.register, made("other").spec)
    refused("handler_missing", "register", registry.register, made("other"), lambda: 1)
    assert "raise the version" in refused("duplicate", "register", registry.register, made())
    assert registry.catalog.revision == 1


def test_a_contract_with_a_handler() -> None:
    registry = Registry()
    definition = Definition(
        name="echo", description="E.", parameters=[Parameter(name="a", type="string", required=True)]
    )
    assert registry.register(definition, lambda a: a)(a="x") == "x"
    spec = ToolSpec(name="raw", description="R.")
    assert registry.register(spec, lambda context, json: json, raw=True).raw
    with pytest.raises(SpecError, match="'echo'"):
        registry.replace(definition, lambda b: b)


@pytest.mark.parametrize("name", ["Refund", "re_fund", "re.fund", "RE-FUND"])
def test_names_that_look_the_same_collide(name: str) -> None:
    registry = filled(made("refund"), made("re-fund")) if name != "Refund" else filled(made("refund"))
    assert "looks like" in refused("duplicate", "register", registry.register, made(name))
    registry.unregister("refund")
    refused("duplicate", "register", registry.register, made(name))


def test_both_schemas_are_compiled() -> None:
    registry = Registry()
    with pytest.raises(SpecError, match=r"'refund@1\.0\.0': parameters"):
        registry.register(made(parameters={"type": "object", "properties": {"a": {"type": "objekt"}}}))
    with pytest.raises(SpecError, match="output_schema"):
        registry.register(made(output_schema={"$ref": "http://127.0.0.1:9/evil"}))
    assert registry.catalog == Catalog.empty()
    registry.register(made(output_schema={"type": "integer"}, parameters={"type": "object", "properties": {"a": {}}}))
    entry = registry.catalog.resolve("refund")
    assert entry is not None
    assert entry.output is not None
    assert entry.output.is_valid(1)
    assert not entry.parameters.is_valid({"b": 1})


def test_the_current_version_is_the_latest_by_order_not_by_time() -> None:
    registry = filled(made(version="1.10.0"), made(version="1.9.0"))
    assert registry.catalog.current == {"refund": "1.10.0"}
    registry.register(made(version="2.0.0-rc.1", stage="canary"))
    registry.register(made(version="3.0.0", stage="test"))
    registry.register(made(version="4.0.0", stage="draft"))
    assert registry.catalog.current == {"refund": "1.10.0"}
    registry.register(made(version="1.11.0", stage="deprecated"))
    assert registry.get("refund").spec.version == "1.10.0"
    registry.disable("refund", "1.10.0")
    registry.disable("refund", "1.9.0")
    assert registry.get("refund").spec.version == "1.11.0"
    registry.disable("refund", "1.11.0")
    assert registry.get("refund").spec.version == "2.0.0-rc.1"
    registry.disable("refund")
    refused("not_found", "get", registry.get, "refund")
    assert registry.get("refund", "4.0.0").spec.stage == "draft"
    assert [entry.tool.spec.version for entry in registry.list_versions("refund")] == [
        *("1.9.0", "1.10.0", "1.11.0", "2.0.0-rc.1", "3.0.0", "4.0.0"),
    ]
    assert {entry.status for entry in registry.list_versions("refund")} == {"disabled"}


def test_replace_publishes_a_later_version() -> None:
    registry = filled(made())
    refused("not_found", "replace", registry.replace, made("other"))
    assert "raise the version" in refused("duplicate", "replace", registry.replace, made(risk="high"))
    registry.replace(made(version="1.1.0"))
    assert registry.get("refund").spec.version == "1.1.0"
    assert registry.get("refund", "1.0.0").spec.version == "1.0.0"
    assert "1.1.0, which is in use" in refused("in_use", "replace", registry.replace, made(version="1.0.5"))


def test_replace_in_place_only_for_a_draft_without_calls() -> None:
    registry = filled(made(stage="draft"))
    registry.replace(made(stage="draft", risk="high"))
    assert registry.get("refund", "1.0.0").spec.risk == "high"
    registry.mark_used("refund", "1.0.0")
    refused("duplicate", "replace", registry.replace, made(stage="draft"))


def test_unregister_leaves_a_tombstone() -> None:
    registry = filled(made(), made(version="2.0.0"))
    registry.unregister("refund", "2.0.0")
    assert registry.get("refund").spec.version == "1.0.0"
    refused("not_found", "get", registry.get, "refund", "2.0.0")
    for act, operation in ((registry.register, "register"), (registry.replace, "replace")):
        refused("duplicate", operation, act, made(version="2.0.0"))
    registry.unregister("refund")
    assert [entry.status for entry in registry.list_versions("refund")] == ["removed", "removed"]
    assert not any(entry.callable for entry in registry.list_versions("refund"))
    for act, operation in ((registry.unregister, "unregister"), (registry.disable, "disable"), (registry.get, "get")):
        refused("not_found", operation, act, "refund")
    assert registry.catalog.listed() == []
    registry.register(made(version="3.0.0"))
    assert registry.get("refund").spec.version == "3.0.0"


def test_aliases() -> None:
    registry = filled(made(), made("ship"))
    registry.alias("pay_back", "refund")
    assert registry.get("pay_back") is registry.get("refund")
    assert registry.list_versions("pay_back") == registry.list_versions("refund")
    for taken in ("refund", "ship", "pay_back", "Pay-Back", "SHIP"):
        refused("alias_taken", "alias", registry.alias, taken, "refund")
    refused("name_empty", "alias", registry.alias, "", "refund")
    refused("not_found", "alias", registry.alias, "x", "nothing")
    refused("not_found", "alias", registry.alias, "x", "pay_back")
    refused("alias_taken", "register", registry.register, made("pay_back"))
    refused("duplicate", "register", registry.register, made("pay-back"))
    registry.disable("pay_back")
    assert registry.catalog.resolve("refund") is None


def test_list_allowed_asks_the_attached_view() -> None:
    registry = filled(made())
    caller = Caller(id="a", tenant="t")
    assert "engine" in refused("not_attached", "list_allowed", registry.list_allowed, caller)
    registry.attach(lambda who: [who.id])
    assert registry.list_allowed(caller) == ["a"]


def test_a_snapshot_does_not_change() -> None:
    registry = filled(made())
    before = registry.catalog
    registry.replace(made(version="2.0.0"))
    registry.unregister("refund", "1.0.0")
    assert before.current == {"refund": "1.0.0"}
    assert [entry.callable for entry in before.entries.values()] == [True]
    with pytest.raises(TypeError):
        before.entries["x", "1"] = before.entries["refund", "1.0.0"]  # pyright: ignore[reportIndexIssue]


def test_a_catalog_without_some_versions() -> None:
    registry = filled(made(), made(version="2.0.0"), made("ship"))
    registry.alias("send", "ship")
    held = registry.catalog.without({("refund", "2.0.0"), ("ship", "1.0.0"), ("none", "1")})
    assert held.current == {"refund": "1.0.0"}
    assert held.resolve("refund", "2.0.0") is None
    assert held.aliases == {}
    assert registry.catalog.current["refund"] == "2.0.0"


def test_changes_from_many_threads_are_all_kept() -> None:
    registry = Registry()
    failures: list[str] = []

    def publish(thread: int) -> None:
        for number in range(20):
            registry.register(made(f"tool{thread}_{number}"))
            try:
                registry.register(made("shared", f"{number}"))
            except RegistryError as error:
                failures.append(error.code)

    threads = [threading.Thread(target=publish, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry.catalog.listed()) == 8 * 20 + 1
    assert len(registry.list_versions("shared")) == 20
    assert failures == ["duplicate"] * (7 * 20)
    assert registry.catalog.revision == 8 * 20 + 20


def test_an_entry_refuses_injected_arguments_and_unfit_defaults() -> None:
    injected = ToolSpec(
        name="a",
        description="A.",
        parameters={"type": "object", "additionalProperties": True},
        injected={"t": "tenant"},
    )
    entry = Entry(raw_tool(injected, lambda context, json: json), 0)
    assert entry.parameters.is_valid({"x": 1})
    assert [found.path for found in entry.parameters.errors({"t": "acme"})] == ["$.t"]
    unfit = {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}
    with pytest.raises(SpecError, match="the default at properties/a"):
        Entry(bind_tool(ToolSpec(name="a", description="A.", parameters=unfit), lambda a: a), 0)
    theirs = ToolSpec(name="a", description="A.", parameters=unfit, source="mcp")
    assert Entry(bind_tool(theirs, lambda a=1: a), 0).parameters.fill_defaults({}) == {}
    fit = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    for source, filled in (("mcp", {}), ("python", {"a": 1})):
        spec = ToolSpec(name="a", description="A.", parameters=fit, source=source)
        assert Entry(bind_tool(spec, lambda a=1: a), 0).parameters.fill_defaults({}) == filled


@pytest.mark.parametrize("thing", [5, None, "name", lambda: 1])
def test_what_is_no_tool_is_a_spec_error(thing: Any) -> None:
    for publish in (Registry().register, Registry().replace):
        with pytest.raises(SpecError, match="takes a Tool"):
            publish(thing)


@pytest.mark.parametrize("thing", [5, None, "a b"])
def test_what_is_no_name_is_no_alias(thing: Any) -> None:
    with pytest.raises(RegistryError, match="is not a name"):
        Registry().alias(thing, "a")
