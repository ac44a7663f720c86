"""What a newcomer meets in the project that `surehand init` writes: what is wrong is told, and what is next works."""

import json
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import Project, Ran

pytestmark = pytest.mark.timeout(120)

REFUND = '{"order_id": "A-1", "amount_cents": 18000}'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """As `surehand init` writes it."""
    folder = tmp_path_factory.mktemp("shop")
    project = Project(folder)
    assert project.run("init").code == 0
    return project


def lines(ran: Ran, name: str) -> list[str]:
    return [line.partition(": ")[2] for line in ran.out.splitlines() if line.startswith(f"{name}: ")]


def then(ran: Ran) -> list[str]:
    """The arguments of the command that a line `next:` is, whole."""
    (command,) = lines(ran, "next")
    program, *args = shlex.split(command)
    assert program == "surehand"
    return args


def script(shop: Project, name: str, *steps: dict[str, Any]) -> str:
    (shop.folder / f"{name}.json").write_text(json.dumps({"steps": steps}), encoding="utf-8")
    return f"script:{name}.json"


def refund(order: str) -> dict[str, Any]:
    return {"text": "I ask.", "calls": [{"name": "refund", "arguments": {"order_id": order, "amount_cents": 10001}}]}


def test_every_next_of_a_run_is_a_command_that_works(shop: Project) -> None:
    left = shop.run("run", "Please.", "--model", "script:model.json", "--as", "sam", "--run", "first")
    go_on = ["run", "--run", "first", "--model", "script:model.json", "--as", "sam"]
    assert (left.code, then(left)) == (3, go_on)
    early = shop.run(*go_on, "--json").document
    assert (early["status"], early["text"]) == (
        "waiting",
        "The lamp was delivered and cost 180.00. I ask for the refund.",
    )
    (waiting,) = early["approvals"]
    open_call = shop.run("call", "resume", waiting["call_id"], "--as", "sam")
    assert (open_call.code, then(open_call)) == (3, go_on)
    assert lines(open_call, "note") == [
        f"mia decides it with `surehand approvals approve {waiting['approval_id']} --as mia`"
    ]
    decided = shop.run("approvals", "approve", waiting["approval_id"], "--as", "mia", "--yes")
    assert then(decided) == go_on
    ended = shop.run(*then(decided))
    assert (ended.code, lines(ended, "reason"), lines(ended, "next")) == (0, ["completed"], [])
    told = ended.out.splitlines()
    assert not [line for line in told if ": ask " in line]  # nobody is asked any more
    assert "call 2.1 refund: ok" in told

    over = shop.run("run", "cancel", "first", "--as", "sam")
    assert (over.code, lines(over, "reason")) == (0, ["completed"])
    assert over.err == "surehand: run first had ended before; nothing was cancelled\n"
    events = shop.json("run", "show", "first", "--as", "sam")["events"]
    assert {one["data"]["decision"] for one in events if one["kind"] == "call.decided"} == {"allow", "ask"}


def test_a_rejected_call_of_a_run_goes_on_with_its_run(shop: Project) -> None:
    model = script(shop, "no", refund("A-3"), {"text": "I see."})
    left = shop.run("run", "Please.", "--model", model, "--as", "sam", "--json").document
    (waiting,) = left["approvals"]
    decided = shop.run("approvals", "reject", waiting["approval_id"], "--as", "mia", "--reason", "no")
    ended = shop.run(*then(decided), "--json").document
    assert (ended["run_id"], ended["text"]) == (left["run_id"], "I see.")


def test_who_is_not_entitled_is_told_before_anything_else(shop: Project) -> None:
    call = ("call", "refund", "--args", REFUND.replace("A-1", "A-4"), "--as", "sam")
    pending = shop.run(*call)
    (approval_id,) = lines(pending, "approval")
    refused = shop.run("approvals", "approve", approval_id, "--as", "sam")
    assert refused.code == 1
    assert "sam asked for this and may not decide it" in refused.err
    assert "--yes" not in refused.err
    assert shop.run(*then(pending)).code == 3  # it reports how it stands


def test_a_script_that_does_not_fit_leaves_a_run_to_go_on_with(shop: Project) -> None:
    model = script(shop, "misfit", {"expect": {"user": "Bye"}, "text": "Hm."})
    ran = shop.run("run", "Hello.", "--model", model, "--as", "sam")
    assert (ran.code, lines(ran, "status"), lines(ran, "reason")) == (1, ["running"], ["failed"])
    assert lines(ran, "why")[0].startswith("the script does not fit the run: ")
    script(shop, "misfit", {"text": "Hello."})
    again = shop.run(*then(ran), "--json")
    assert (again.code, again.document["text"], again.document["reason"]) == (0, "Hello.", "completed")


def test_a_run_of_a_dead_process_is_free_after_the_lease(shop: Project) -> None:
    (shop.folder / "slow.py").write_text(
        "import asyncio\nfrom pathlib import Path\nimport surehand as sh\n\n\n"
        "@sh.tool(read_only=True)\nasync def rest() -> str:\n"
        '    """Rests."""\n    Path("resting").touch()\n    await asyncio.sleep(60)\n    return ""\n',
        encoding="utf-8",
    )
    toml = (shop.folder / "surehand.toml").read_text(encoding="utf-8").replace('["tools"]', '["tools", "slow"]')
    (shop.folder / "slow.toml").write_text(f"{toml}\n[limits]\nlease_s = 60\n", encoding="utf-8")
    model = script(shop, "rest", {"calls": [{"name": "rest", "arguments": {}}]})
    go_on = ("--run", "rest", "--model", model, "--as", "sam", "--project", "slow.toml")
    process = shop.start("run", "Rest.", *go_on)
    deadline = time.monotonic() + 60
    while not (shop.folder / "resting").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    said = "; if that process is dead, the run is free 60 s after its last sign of life: try again then\n"
    refused = shop.run("run", *go_on)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith(said)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        pytest.param("run Hi. --model foo --as sam", 2, "'foo' is not a model; write openai:NAME", id="model"),
        pytest.param("run Hi. --model openai: --as sam", 2, "'openai:' is not a model", id="no-name"),
        pytest.param("run shwo", 2, "no command `surehand run shwo`; did you mean `surehand run show`?", id="typo"),
        pytest.param("run Hi.", 2, "--model: it is missing; write openai:NAME", id="no-model"),
        pytest.param("policy explain refund", 2, "--of: say whose call it would be; callers are mia, sam", id="of"),
        pytest.param(
            "run --run nope --model script:model.json --as sam", 1,
            "there is no run 'nope'; `surehand run list` shows those there are", id="run",
        ),
        pytest.param("run cancel nope --as sam", 1, "'nope'; `surehand run list` shows those there are", id="cancel"),
        pytest.param("call resume call_x --as sam", 1, "'call_x'; `surehand audit list` shows calls, to", id="call"),
        pytest.param("call show call_x --as sam", 1, "'call_x'; `surehand audit list` shows calls, to", id="story"),
        pytest.param("approvals show apr_x --as mia", 1, "'apr_x'; `surehand approvals list --status all`", id="apr"),
        pytest.param("approvals dismiss x --as mia", 1, "'x'; `surehand approvals deputies` lists those", id="deputy"),
        pytest.param("grants show x --as mia", 1, "'x'; `surehand grants list --all` shows all", id="grant"),
        pytest.param(
            "grants give no --of sam --policy refund-large --uses 1 --expires 1h --where {} --as mia", 1,
            "there is no tool 'no' here, so nobody can answer for it; `surehand tools list` shows those", id="granted",
        ),
        pytest.param("changes confirm x --as mia", 1, "'x' that waits; `surehand changes list` shows", id="change"),
        pytest.param("tools alias other no --as mia", 1, "no tool 'no' here; `surehand tools list` shows", id="alias"),
        pytest.param("tools disable no@1 --as mia", 1, "no tool 'no@1' here; `surehand tools list` shows", id="tool"),
        pytest.param("approvals list --status no --as mia", 2, "for '--status': 'no' is not one of", id="status"),
        pytest.param("kill --as mia", 2, "name one of TOOL, --agent NAME, --tenant NAME and --everything", id="kill"),
        pytest.param("kill refund --agent a --as mia", 2, "name one of TOOL, --agent NAME, --tenant", id="kill-two"),
        pytest.param("revive --everything --tenant acme --as mia", 2, "name one of TOOL, --agent", id="revive"),
        pytest.param("revive --as sam", 1, "sam may neither administer nor read the audit; choose --as mia", id="off"),
        pytest.param("policy test no.toml", 1, "cannot be read (No such file or directory); name a TOML", id="rows"),
        pytest.param("call refund --args @no --as sam", 2, "no cannot be read: No such file or directory (", id="args"),
        pytest.param("tools list --project no.toml", 1, "; `surehand init DIR` writes one that runs\n", id="init"),
        pytest.param("audit verify --tenant no", 1, "tenant 'no'; `surehand audit verify` checks all", id="tenant"),
        pytest.param(
            "audit list --as sam", 1,
            "surehand: sam may not read the audit: no policy permits reading the audit; it needs the role auditor; "
            "choose --as mia\n", id="once",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_names_the_thing_and_what_to_do(shop: Project, args: str, code: int, said: str) -> None:
    ran = shop.run(*args.split())
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


@pytest.mark.parametrize(
    "args",
    [
        "approvals deputies", "approvals list", "audit list", "call unknown list", "changes list", "grants list",
        "grants list --all", "limits show", "policy shadow", "revive", "run list", "tools health",
        "tools history no", "tools list",
    ],
)  # fmt: skip
def test_an_empty_list_has_no_rows(tmp_path: Path, args: str) -> None:
    project = Project(tmp_path)
    project.run("init")
    ran = project.run(*args.split(), "--as", "mia")
    assert (ran.code, ran.out, ran.err.count("\n")) == (0, "", 1)


def test_the_help_of_run_names_every_exit_code(shop: Project) -> None:
    for command in (["run"], ["run", "start"], []):
        assert "130 interrupted" in " ".join(shop.run(*command, "--help").out.split())


REFERENCE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.timeout(300)  # one process a line
def test_the_examples_of_the_reference_work_as_they_stand(tmp_path: Path) -> None:
    block = REFERENCE.read_text(encoding="utf-8").partition("\n\n    surehand ")[2].partition("\n\n")[0]
    commands = [shlex.split(line) for line in f"surehand {block}".splitlines()]
    assert commands[0] == ["surehand", "demo"]
    project, approval, call = Project(tmp_path), "", ""
    for program, *args in commands[1:]:  # the demo has a test of its own
        if program == "cd":
            project = Project(project.folder / args[0])
            continue
        told = {"apr_...": approval, "call_...": call}
        ran = project.run(*[told.get(one, one) for one in args], *(["--yes"] if "approve" in args else []))
        assert ran.code in (0, 3), (args, ran)
        for line in ran.out.splitlines():
            name, _, value = line.partition(": ")
            approval = value if name == "approval" and value.startswith("apr_") else approval
            call = value if name == "call" else call
