"""What can be told from the tree of a policy alone."""

import pytest

from surehand.policy import cedar
from surehand.policy.syntax import reads_of, scope_of


def heads(action: str = "action", resource: str = "resource") -> tuple[bool, ...]:
    """Whether a head covers: the call of a@1, of a@2, of b@1; viewing a; auditing the system."""
    tree = cedar.parse(f"permit (principal, {action}, {resource});")
    (template,) = (*tree.static_policies.values(), *tree.templates.values())
    scope = scope_of(template)
    calls = [scope.covers_call(*tool) for tool in (("a", "1"), ("a", "2"), ("b", "1"))]
    return (*calls, scope.covers_plain("view", "a"), scope.covers_plain("audit", None))


@pytest.mark.parametrize(
    ("action", "resource", "expected"),
    [
        ("action", "resource", (1, 1, 1, 1, 1)),
        ("action", "resource is Tool", (1, 1, 1, 1, 0)),
        ("action", "resource is System", (0, 0, 0, 0, 1)),
        ("action", 'resource == Tool::"a"', (1, 1, 0, 1, 0)),
        ("action", 'resource in Tool::"b"', (0, 0, 1, 0, 0)),
        ("action", 'resource is Tool in Tool::"a"', (1, 1, 0, 1, 0)),
        ("action", 'resource is Tool in System::"a"', (0, 0, 0, 0, 0)),
        ("action", 'resource == System::"surehand"', (0, 0, 0, 0, 1)),
        ("action", "resource == ?resource", (1, 1, 1, 1, 1)),
        ('action == Action::"call"', "resource", (1, 1, 1, 0, 0)),
        ('action in Action::"call/a"', "resource", (1, 1, 0, 0, 0)),
        ('action == Action::"call/a@2"', "resource", (0, 1, 0, 0, 0)),
        ('action in [Action::"call/b", Action::"view"]', "resource", (0, 0, 1, 1, 0)),
        ('action in [Action::"call/a", Action::"call/b"]', 'resource == Tool::"b"', (0, 0, 1, 0, 0)),
        ('action == Action::"audit"', "resource", (0, 0, 0, 0, 1)),
        ("action in []", "resource", (0, 0, 0, 0, 0)),
    ],
)
def test_what_a_head_covers(action: str, resource: str, expected: tuple[int, ...]) -> None:
    assert heads(action, resource) == tuple(map(bool, expected))


@pytest.mark.parametrize(
    ("condition", "values", "presence"),
    [
        ("true", [], []),
        ("context.arguments.a.b > 1", ["arguments.a.b"], []),
        ('context["arguments"]["a b"] == 1', ["arguments.a b"], []),
        ("context has arguments.a", [], ["arguments", "arguments.a"]),
        ("context.arguments has a && !(context.arguments.a)", ["arguments.a"], ["arguments.a"]),
        ("[1].contains(context.x) && {k: context.y} == {k: 1}", ["x", "y"], []),
        ('(if context.x then context.y else context.z).k like "a*"', ["x", "y", "z"], []),
        ("context == {}", [""], []),
        ("principal.context.arguments && resource.context", [], []),
    ],
)
def test_what_a_condition_looks_at(condition: str, values: list[str], presence: list[str]) -> None:
    (template,) = cedar.parse(f"permit (principal, action, resource) when {{ {condition} }};").static_policies.values()
    found = reads_of(template.clauses)
    assert sorted(".".join(path) for path in found.values) == values
    assert sorted(".".join(path) for path in found.presence) == presence


@pytest.mark.parametrize(
    ("condition", "tool", "itself"),
    [
        ("principal.x", [], False),
        ('resource.risk == "low" && resource has owner', ["owner", "risk"], False),
        ('resource == Tool::"a"', [], True),
        ("resource is Tool", [], True),
        ("principal.favourite == resource", [], True),
        ('action in Action::"call/a"', [], True),
    ],
)
def test_whether_it_matters_which_tool_it_is(condition: str, tool: list[str], itself: bool) -> None:
    (template,) = cedar.parse(f"permit (principal, action, resource) when {{ {condition} }};").static_policies.values()
    found = reads_of(template.clauses)
    assert (sorted(found.tool), found.itself) == (tool, itself)
