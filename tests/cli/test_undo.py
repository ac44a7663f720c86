"""`surehand call undo`, and what `call show` tells of it."""

from pathlib import Path

import pytest

from tests.cli.driver import make

pytestmark = pytest.mark.timeout(120)

BOOK = '''

def give_back(arguments, result, key):
    return f"{arguments['seat']} is free again"


@sh.tool(permissions=["desk:use"], key=["seat"], undo=give_back)
def book(seat: str) -> str:
    """Books a seat."""
    return f"{seat} is yours"
'''


def test_a_call_is_undone_and_both_stories_tell_of_it(tmp_path: Path) -> None:
    project = make(tmp_path / "desk")
    with (project.folder / "desk.py").open("a", encoding="utf-8") as file:
        file.write(BOOK)
    booked = project.json("call", "book", "--args", '{"seat": "4a"}', "--as", "alice")
    undo = ("call", "undo", booked["call_id"])
    assert project.run(*undo, "--as", "alice").code == 2
    assert project.run(*undo, "--reason", "ill", "--as", "eve").code == 1
    done = project.run(*undo, "--reason", "ill", "--as", "alice")
    assert (done.code, done.out.splitlines()[:2]) == (0, ["status: ok", "tool: book.undo@1.0.0"])
    assert done.out.splitlines()[-1] == "  4a is free again"
    again = project.json(*undo, "--reason", "ill", "--as", "alice")
    assert again["replayed"] is True
    story = project.run("call", "show", booked["call_id"], "--as", "alice").out
    assert f"effect: the tool ran, and its effect was taken back by call {again['call_id']}" in story
    assert f"undoes: {booked['call_id']}" in project.run("call", "show", again["call_id"], "--as", "alice").out
