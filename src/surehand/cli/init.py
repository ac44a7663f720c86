"""`surehand init`: a small project that runs, to be read and changed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .failures import OK
from .session import PROJECT, Session

_TOML = """\
# The project: `surehand` reads this file in the folder that it is started in. Paths are relative to it.

store = "sqlite:///surehand.db"       # calls, approvals, runs and the audit
policies = "policies"                 # every *.cedar file in this folder
tools = ["tools"]                     # modules that hold tools: here tools.py

# Who the command line may act as. A server authenticates its callers instead.
[callers.sam]                         # of support, with the agent that works for him
tenant = "acme"
roles = ["support"]
scopes = ["orders:read", "refunds:write"]
agent = "support-bot"

[callers.mia]                         # who decides about large refunds, and may read the audit
tenant = "acme"
roles = ["manager", "auditor", "operator"]
"""

_TOOLS = '''\
"""Two tools: one reads, one has an effect. A model sees their names, docstrings and types, and nothing else."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

import surehand as sh

OrderId = Annotated[str, Field(pattern=r"^[A-Z]-[0-9]{1,6}$", description="Such as A-1.")]
PAID = Path(__file__).with_name("refunds.txt")
ORDERS = {
    "A-1": {"item": "desk lamp", "paid_cents": 18000, "state": "delivered"},
    "A-2": {"item": "notebook", "paid_cents": 900, "state": "open"},
}


@sh.tool(read_only=True, permissions=["orders:read"], owner="shop", display="Looking up order {order_id}")
def find_order(order_id: OrderId) -> dict[str, str | int]:
    """Gives one order: its item, what was paid, and its state.

    Use it before a refund; not to guess order numbers. Changes nothing. Never returns who the customer is.
    """
    if order_id not in ORDERS:
        raise sh.BusinessError(f"There is no order {order_id}.")  # the model reads this
    return ORDERS[order_id]


# `key` names the effect: whatever is repeated, an order is refunded once.
@sh.tool(permissions=["refunds:write"], key=["order_id"], owner="shop", display="Refunding order {order_id}")
def refund(order_id: OrderId, amount_cents: int) -> str:
    """Refunds an order, in whole or in part. Moves real money and cannot be undone.

    Use it when the customer asks for money back, never for an order that you have not looked at.
    """
    if order_id not in ORDERS:
        raise sh.BusinessError(f"There is no order {order_id}.")
    if amount_cents > int(ORDERS[order_id]["paid_cents"]):
        raise sh.BusinessError("That is more than was paid.")
    with PAID.open("a", encoding="utf-8") as file:
        file.write(f"{order_id} {amount_cents}\\n")
    return f"refunded {amount_cents} cents of order {order_id}"
'''

_POLICY = """\
// Who has all permissions of a tool may call it: that is built in. Everything else is denied, and a forbid always wins.
// `surehand policy check` says whether these fit the tools; `surehand policy explain` what they decide, and why.

// An ask: with @approvers, somebody of that role can lift the forbid, and not whoever asked.
@id("refund-large") @approvers("manager") @reason("refunds over 100.00 need a manager")
forbid (principal, action == Action::"call/refund", resource)
when { context.arguments.amount_cents > 10000 };

// A plain forbid: nobody can lift it.
@id("refund-by-people") @reason("money moves on behalf of support only")
forbid (principal, action == Action::"call/refund", resource)
unless { principal in Role::"support" };
"""

_SCRIPT = """\
{
  "steps": [
    {
      "text": "Let me look at the order.",
      "calls": [{"name": "find_order", "arguments": {"order_id": "A-1"}}]
    },
    {
      "expect": {"results": ["desk lamp"]},
      "text": "The lamp was delivered and cost 180.00. I ask for the refund.",
      "calls": [{"name": "refund", "arguments": {"order_id": "A-1", "amount_cents": 18000}}]
    },
    {
      "text": "That is what I could do for you; the answer to the refund is above."
    }
  ]
}
"""

_COMMANDS = (
    'surehand run "The lamp of order A-1 arrived broken, please refund it." '
    "--model script:model.json --as sam --approve-as mia",
    """surehand policy explain refund --args '{"order_id": "A-1", "amount_cents": 18000}' --as sam""",
    "surehand audit verify",
)
"""What to try first. A test does."""

_README = f"""\
# A Surehand project

| file | holds |
|---|---|
| `surehand.toml` | the project: where it keeps things, which tools and policies, who may act |
| `tools.py` | two tools: one reads, one has an effect that happens once |
| `policies/refunds.cedar` | what is asked and what is forbidden, with reasons |
| `model.json` | a script in the place of a model: no key, no network |

Try:

    {_COMMANDS[0]}
    {_COMMANDS[1]}
    {_COMMANDS[2]}

The first one plays the script. The refund is large, so the run asks mia on this terminal: `y` approves exactly what is
shown. Run it again and `refunds.txt` still has one line: the effect has a key. Without a terminal, or without
`--approve-as`, the run is left waiting; mia decides with `surehand approvals list --as mia`, and the command that was
printed goes on with it. The second one says why the refund asks, and who could say yes; the third one that nobody
changed the record.

With a real model: `--model openai:NAME`, `--model anthropic:NAME` or another, and its key in the environment
(`pip install "surehand[openai]"`). `surehand doctor` looks whether all is well here.

Surehand makes `surehand.db`, its key file `surehand.db.keys` and the audit's anchor `surehand.db.anchor` beside this
file. The key file opens what is stored: keep it secret, and back it up.
"""

_IGNORED = """\
surehand.db*
refunds.txt
__pycache__/
"""

_FILES = {
    PROJECT: _TOML,
    "tools.py": _TOOLS,
    "policies/refunds.cedar": _POLICY,
    "model.json": _SCRIPT,
    "README.md": _README,
    ".gitignore": _IGNORED,
}


def init(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; made if it is not there.")] = Path(),
) -> int:
    """Write a small project that runs: two tools, policies with comments, a script for a run. Overwrites nothing."""
    session = Session(ctx.obj)
    _write(folder)
    here = folder.resolve() == Path.cwd()
    commands = [*([] if here else [f"cd {shlex.quote(str(folder))}"]), *_COMMANDS]
    if session.json:
        session.out.document({"folder": str(folder.resolve()), "files": list(_FILES), "commands": commands})
        return OK
    session.out.facts(("wrote", str(folder / name)) for name in _FILES)
    session.out.line("next:")
    for command in commands:
        session.out.block(command)
    return OK


def _write(folder: Path) -> None:
    """All files, or none.

    Raises:
        ConfigError: One of them is there already, or cannot be written.
    """
    taken = [name for name in _FILES if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        raise ConfigError(f"{folder} has {', '.join(taken)} already; name a new folder: surehand init DIR")
    try:
        for name, text in _FILES.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as new:
                new.write(text)
    except OSError as error:
        raise ConfigError(f"{error.filename or folder} cannot be written: {error.strerror}") from error
