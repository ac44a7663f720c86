"""`surehand tools check`, `diff`, `review`."""

import json

import pytest

from tests.cli.driver import PROJECT, TOOLS, Project, make

pytestmark = pytest.mark.timeout(120)

MORE = '''

@sh.tool(name="send", version="1.0.0", risk="low", permissions=["desk:use"], idempotency="single_effect", key=["to"],
         owner="desk", health_check=lambda: True)
async def send(to: str, text: str) -> str:
    """Sends a text."""
    if to == "slow":
        await asyncio.sleep(30)
    with open(HERE / "sent", "a") as file:
        file.write(to)
    return "sent"


@sh.tool(name="send", version="2.0.0", risk="low", permissions=["desk:use"], idempotency="single_effect", key=["to"],
         owner="desk", stage="draft")
async def send2(to: str, text: str, copy: str) -> str:
    """Sends a text.\u202e"""
    return "sent"
'''
SAMPLES = """
[[sample]]
tool = "send"
kind = "good"
caller = "alice"
arguments = { to = "bob", text = "hello" }

[[sample]]
tool = "send"
kind = "bad"
arguments = { to = "bob" }

[[sample]]
tool = "send"
kind = "denied"
caller = "eve"
arguments = { to = "carol", text = "hello" }

[[sample]]
tool = "send"
kind = "slow"
arguments = { to = "slow", text = "hello" }
timeout_s = 0.2
"""
ADMIN = """
[callers.ada]
tenant = "acme"
roles = ["admin"]
scopes = ["desk:use"]

[callers.otto]
tenant = "acme"
roles = ["admin"]

[review]
owners = ["desk"]
"""


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make(tmp_path_factory.mktemp("release") / "desk")
    (project.folder / "desk.py").write_text(TOOLS + MORE, encoding="utf-8")
    (project.folder / "surehand.toml").write_text(PROJECT + ADMIN, encoding="utf-8")
    (project.folder / "samples.toml").write_text(SAMPLES, encoding="utf-8")
    return project


def test_a_check_says_what_is_missing_and_leaves_no_call_behind(releases: Project) -> None:
    fit = releases.run(
        "tools", "check", "send@1.0.0", "--samples", "samples.toml", "--alerts", "--rollback", "2.0.0", "--as", "ada"
    )
    assert fit.code == 0, fit.out
    assert fit.out.splitlines()[0] == "send@1.0.0: fit for active"
    assert "idempotency.tested\tpass\tthe repeat was replayed, one effect" in fit.out
    assert (releases.folder / "sent").read_text() == "bob"
    document = releases.run("tools", "check", "send", "--as", "ada", "--json")
    assert (document.code, document.document["ok"]) == (1, False)
    failed = [row["id"] for row in document.document["rows"] if row["verdict"] == "fail"]
    assert failed == ["idempotency.tested", "samples", "timeout", "alert", "rollback"]
    assert releases.json("audit", "list", "--as", "bob")["records"] == []


def test_only_who_may_publish_runs_handlers_by_a_check(releases: Project) -> None:
    refused = releases.run("tools", "check", "send", "--as", "alice")
    assert (refused.code, refused.out) == (1, "")
    assert "alice may not check send@1.0.0, since checks run its handler" in refused.err
    usage = releases.run("tools", "check", "send", "--to", "draft", "--as", "ada")
    assert (usage.code, "write test, canary, active" in usage.err) == (2, True)


def test_who_publishes_need_not_see_the_tool(releases: Project) -> None:
    assert releases.run("tools", "list", "--as", "otto").out == ""
    checked = releases.run("tools", "check", "send@1.0.0", "--as", "otto")
    assert (checked.code, checked.out.splitlines()[0]) == (1, "send@1.0.0: not fit for active")


def test_a_difference_shows_what_does_not_show(releases: Project) -> None:
    shown = releases.run("tools", "diff", "send", "1.0.0", "2.0.0", "--as", "alice")
    assert shown.code == 1
    assert "  + Sends a text.\\u202e" in shown.out.splitlines()
    assert "parameters.copy narrowed: is new and must be there" in shown.out.splitlines()
    assert "\u202e" not in shown.out
    document = releases.run("tools", "diff", "send", "1.0.0", "2.0.0", "--as", "alice", "--json").document
    assert (document["same"], len(document["hash"])) == (False, 64)
    same = releases.run("tools", "diff", "send", "1.0.0", "1.0.0", "--as", "alice")
    assert (same.code, same.out) == (0, "send@1.0.0 and send@1.0.0 are the same but for the version\n")


def test_a_hidden_version_is_not_compared(releases: Project) -> None:
    hidden = releases.run("tools", "diff", "vault", "1.0.0", "1.0.0", "--as", "alice")
    missing = releases.run("tools", "diff", "vaults", "1.0.0", "1.0.0", "--as", "alice")
    assert (hidden.code, hidden.out) == (1, "")
    assert hidden.err.replace("'vault@", "'vaults@") == missing.err


def test_a_review_opens_dated_tasks(releases: Project) -> None:
    first = releases.run("tools", "review", "--tasks", "tasks.json", "--as", "ada", "--json")
    assert first.code == 0
    tasks = {task["id"]: task for task in first.document["tasks"]}
    assert "echo@1.0.0:owner" in tasks
    assert "send@1.0.0:owner" not in tasks
    kept = json.loads((releases.folder / "tasks.json").read_text())
    again = releases.run("tools", "review", "--tasks", "tasks.json", "--as", "ada", "--json").document
    assert again["tasks"] == first.document["tasks"]
    for task in kept:
        task["due_us"] = 1
    (releases.folder / "tasks.json").write_text(json.dumps(kept))
    overdue = releases.run("tools", "review", "--tasks", "tasks.json", "--as", "ada")
    assert overdue.code == 1
    assert "echo@1.0.0\towner\t1970" in overdue.out


def test_a_review_is_for_administrators(releases: Project) -> None:
    refused = releases.run("tools", "review", "--as", "alice")
    assert (refused.code, "it needs the action admin" in refused.err) == (1, True)
    usage = releases.run("tools", "review", "--apply", "everything", "--as", "ada")
    assert (usage.code, "there is no kind 'everything'" in usage.err) == (2, True)
