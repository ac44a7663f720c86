"""`Settings`, `Limits` and the project file: what is wrong is refused by name, with what to write instead."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import surehand as sh

NESTED = "store = " + "[" * 5000 + "]" * 5000


def refusal(text: str, tmp_path: Path) -> str:
    file = tmp_path / "surehand.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(sh.ConfigError) as refused:
        sh.read_project(file)
    message = str(refused.value)
    assert message.startswith(f"{file}: ")
    return message.removeprefix(f"{file}: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"irreversible": "denied"}, "irreversible must be 'ask' or 'deny', not 'denied'"),
        ({"read_only_records": "never"}, "read_only_records must be 'after' or 'before'"),
        ({"arguments": "loose"}, "arguments must be 'strict' or 'exact' or 'lenient', not 'loose'"),
        ({"irreversible": ["ask"]}, "irreversible must be"),
        ({"store": Path("x.db")}, "store must be a string"),
        ({"store": ""}, "store must be a string that is not empty"),
        ({"store": "sqlite:///a\0b"}, "store must not hold a NUL"),
        ({"keys": "a\0b"}, "keys must not hold a NUL"),
        ({"policies": "a\0b"}, "policies must not hold a NUL"),
        ({"keys": 10**5000}, "keys must be a string that is not empty, not a value of type int"),
        ({"anchor": b"x"}, "anchor must be a string"),
        ({"approvers": "self"}, "approvers: 'self' cannot approve for others; name a role"),
        ({"approvers": "finance, legal"}, "approvers: 'finance, legal' cannot approve"),
        ({"tools": "desk"}, "tools must be a list of strings, not 'desk'"),
        ({"tools": [""]}, "each of tools must be a string that is not empty"),
        ({"tools": ["..x"]}, "tools: '..x' is not the name of a module; write 'x'"),
        ({"tools": ["mytools.py"]}, "tools: 'mytools.py' is not the name of a module; write 'mytools'"),
        ({"tools": ["desk/tools.py"]}, "write 'desk.tools'"),
        ({"tools": ["desk:pay"]}, "write 'desk'"),
        ({"tools": ["my tools"]}, "write it as in an import"),
        ({"interceptors": ["desk"]}, "interceptors: 'desk' must be 'module:Name'"),
        ({"interceptors": ["desk.py:Cap"]}, "interceptors: 'desk.py' is not the name of a module; write 'desk'"),
        ({"tenants": ["acme"]}, "tenants must be a mapping"),
        ({"tenants": {"acme": "x"}}, "tenants.acme: scopes must be a list of strings"),
        ({"limits": {"threads": 1}}, "limits must be Limits(...)"),
        ({"callers": {"sam": {"tenant": "acme"}}}, "callers.sam must be Caller(...)"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sh.ConfigError, match=r".") as refused:
        sh.Settings(**given)
    assert said in str(refused.value)


def test_lists_are_taken_as_tuples() -> None:
    settings = sh.Settings(tools=["desk.tools"], tenants={"acme": ["a"]})  # pyright: ignore[reportArgumentType]
    assert settings.tools == ("desk.tools",)
    assert settings.tenants == {"acme": ("a",)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease_s", math.inf),
        ("lease_s", math.nan),
        ("lease_s", 0),
        ("lease_s", 1e10),
        ("approval_ttl_s", 10**400),
        ("threads", 1.0),
        ("threads", True),
        ("threads", -1),
        ("threads", math.nan),
        ("threads", "8"),
        pytest.param("arguments_bytes", 10**5000, id="no-digits-enough"),
        ("arguments_depth", 129),
    ],
)
def test_a_limit_is_a_finite_number_of_its_type(name: str, value: Any) -> None:
    with pytest.raises(sh.ConfigError, match=f"^{name} must be a .*number above 0 and at most"):
        sh.Limits(**{name: value})


def test_a_whole_number_of_seconds_is_a_time() -> None:
    assert sh.Limits(lease_s=3).lease_s == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('stroe = "x"', "there is no setting 'stroe'; did you mean 'store'?"),
        (
            "zzz = 1",
            "there is no setting 'zzz'; known are agents, always, anchor, approvers, arguments, audit, budgets",
        ),
        ('read_only_records = "before"', "there is no setting 'read_only_records'"),
        ("store = 1", "store must be a string"),
        ('store = "sqlite:///a\\u0000"', "store must not hold a NUL"),
        ('tools = "desk"', "tools must be a list of strings"),
        ("tools = [1]", "each of tools must be a string"),
        ("audit = 1", "audit must be a table"),
        ('[audit]\nread_onyl = "x"', "audit has no setting 'read_onyl'; did you mean 'read_only'?"),
        ("[audit]\nread_only = true", "audit.read_only must be 'after' or 'before', not True"),
        ("[limits]\nlease = 5", "limits has no setting 'lease'; did you mean 'lease_s'?"),
        ("[limits]\nlease_s = inf", "limits: lease_s must be a number above 0"),
        ("[tenants.acme]\nscope = []", "tenants.acme has no setting 'scope'; did you mean 'scopes'?"),
        ("[tenants.acme]", "tenants.acme: scopes is missing"),
        ("callers.sam = 1", "callers.sam must be a table"),
        ('[callers.sam]\ntenant = "a"\nroles = {x = 1}', "callers.sam: roles must be a list of strings"),
        ('[callers.sam]\ntenant = "a"\nrole = ["x"]', "callers.sam has no setting 'role'; did you mean 'roles'?"),
        ("[callers.sam]", "callers.sam: tenant is missing; write tenant"),
        ('[callers.sam]\ntenant = ""', "callers.sam: tenant must be a non-empty string"),
        (
            '[tenants.acme]\nscopes = []\n[callers.eve]\ntenant = "other"',
            "callers.eve: its tenant 'other' is not among the tenants (acme)",
        ),
        ("store = [", "not a TOML file"),
        (NESTED, "nested too deeply"),
        (f"store = {'9' * 5000}", "not a TOML file"),
        (f"# {'x' * 5_000_000}", "more than 4194304 characters"),
    ],
)
def test_a_project_file_that_is_wrong_is_refused(text: str, said: str, tmp_path: Path) -> None:
    message = refusal(text, tmp_path)
    assert message.startswith(said)
    assert "__init__" not in message


def test_callers_of_any_tenant_where_no_tenant_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[callers.eve]\ntenant = "other"', encoding="utf-8")
    assert sh.read_project(tmp_path / "p.toml")[0].callers["eve"].tenant == "other"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is a folder; name the project file in it"),
        ("file/surehand.toml", "cannot be read (Not a directory)"),
        ("none.toml", "there is no project file"),
        ("a\0b", "cannot be the path of a project file"),
        ("x" * 300, "cannot be read (File name too long)"),
        ("binary", "not a TOML file"),
    ],
)
def test_a_path_that_is_no_project_file(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(sh.ConfigError, match=r".") as refused:
        sh.open_project(str(tmp_path / name))
    assert said in str(refused.value)
    assert "--project" not in str(refused.value)


def test_a_project_is_named_by_a_path() -> None:
    with pytest.raises(sh.ConfigError, match="named by its path"):
        sh.open_project({"store": "x"})  # pyright: ignore[reportArgumentType]


def test_roles_are_all_that_callers_may_have(tmp_path: Path) -> None:
    known = 'roles = ["support"]\n[callers.sam]\ntenant = "acme"\nroles = '
    project = tmp_path / "surehand.toml"
    project.write_text(known + '["support", "auditor", "approver"]', encoding="utf-8")
    assert sh.read_project(project)[0].roles == ("support",)
    assert refusal(known + '["suport"]', tmp_path).startswith(
        "callers.sam: there is no role 'suport' in roles; did you"
    )
    assert refusal('roles = "support"', tmp_path).startswith("roles must be a list of strings")


@pytest.mark.parametrize("chosen", ["strict", "exact", "lenient"])
def test_what_may_be_done_to_arguments(chosen: str, tmp_path: Path) -> None:
    file = tmp_path / "surehand.toml"
    file.write_text(f'arguments = "{chosen}"', encoding="utf-8")
    assert sh.read_project(file)[0].arguments == chosen
    assert sh.Settings().arguments == "exact"


def test_there_are_few_settings() -> None:
    assert len(fields(sh.Settings)) <= 25
