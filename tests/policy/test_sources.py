"""Reading policy files, and the built-in ones."""

from pathlib import Path

import pytest

from surehand.errors import PolicyError
from surehand.policy import PolicySource, read_policies
from surehand.policy.sources import statements
from tests.policy.samples import load, problems


def test_a_folder_is_read_in_sorted_order_without_subfolders(tmp_path: Path) -> None:
    (tmp_path / "b.cedar").write_text("// b", encoding="utf-8")
    (tmp_path / "a.cedar").write_text("// ä", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no policy", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.cedar").write_text("// c", encoding="utf-8")
    a, b = PolicySource("a.cedar", "// ä"), PolicySource("b.cedar", "// b")
    assert read_policies(tmp_path) == [a, b]
    assert read_policies(str(tmp_path / "b.cedar")) == [b]
    assert read_policies([tmp_path / "b.cedar", tmp_path / "a.cedar"]) == [b, a]


def test_the_policies_of_a_tenant_are_in_a_folder_of_its_name(tmp_path: Path) -> None:
    for name in ("base.cedar", "tenants/acme/b.cedar", "tenants/acme/a.cedar", "tenants/big corp/a.cedar"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"// {name}", encoding="utf-8")
    (tmp_path / "tenants" / ".keep").touch()
    assert [(source.name, source.tenant) for source in read_policies(tmp_path)] == [
        ("base.cedar", None),
        ("tenants/acme/a.cedar", "acme"),
        ("tenants/acme/b.cedar", "acme"),
        ("tenants/big corp/a.cedar", "big corp"),
    ]


@pytest.mark.parametrize("name", ["tenants/acme.cedar", "tenants/acme/notes.txt"])
def test_what_would_hold_for_no_tenant_is_a_problem(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("// nothing", encoding="utf-8")
    (tmp_path / "base.cedar").write_text("// base", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"not a folder with \*\.cedar files"):
        read_policies(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty", None, "no *.cedar file in this folder"),
        ("missing.cedar", None, "cannot be read (No such file or directory)"),
        ("latin.cedar", "// ä".encode("latin-1"), "not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_a_problem(tmp_path: Path, name: str, content: bytes | None, expected: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    elif "." not in name:
        path.mkdir()
    with pytest.raises(PolicyError) as caught:
        read_policies(path)
    assert [expected in problem and str(path) in problem for problem in caught.value.problems] == [True]


def test_no_path_is_a_problem() -> None:
    with pytest.raises(PolicyError, match="no policy path"):
        read_policies([])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("// only; a comment\n", []),
        ("a;\n b ;", [(1, "a;"), (2, "b ;")]),
        ('// c; "\n\na "x;\\";y"; b', [(3, 'a "x;\\";y";'), (3, "b")]),
        ("a // not; here\n;\n// end", [(1, "a // not; here\n;")]),
    ],
)
def test_a_text_is_split_into_its_policies(text: str, expected: list[tuple[int, str]]) -> None:
    assert list(statements(text)) == expected


def test_builtin_policies_are_readable_and_name_the_approver_group() -> None:
    policies = load(approver_group="risk-officer")
    assert '@approvers("risk-officer")' in policies.builtin
    assert '@approvers("approver")' not in policies.builtin
    assert sorted(policies.rules) == [
        "surehand.admin", "surehand.approve", "surehand.audit", "surehand.high", "surehand.medium",
        "surehand.publish", "surehand.resolve", "surehand.scopes",
    ]  # fmt: skip
    assert "surehand.irreversible" in load(irreversible="deny").rules


@pytest.mark.parametrize("group", ["", " a", "self", 'a"b', "a,b", "a\nb"])
def test_an_approver_group_must_be_a_role(group: str) -> None:
    assert "approver_group" in problems(approver_group=group)[0]


def test_digest_covers_every_text_in_force_and_not_their_order() -> None:
    one, two = PolicySource("1", "// a"), PolicySource("2", "// b")
    digests = {
        load().digest,
        load("// a").digest,
        load("// b").digest,
        load(approver_group="boss").digest,
        load(irreversible="deny").digest,
        load(tenant_scopes={"acme": ["a"]}).digest,
        load(tenant_scopes={"acme": []}).digest,
    }
    assert len(digests) == 7
    from surehand.policy import Policies
    from tests.policy.samples import catalog

    assert Policies.load([one, two], catalog()).digest == Policies.load([two, one], catalog()).digest
    assert Policies.load([one, two], catalog()).sources() == (one, two)
