"""Anchors: what is kept, what shows that it was changed, what a crash may leave."""

import os
import stat
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import pytest

from surehand.audit import Anchor, Checkpoint, FileAnchor, MemoryAnchor, checkpoint
from surehand.errors import AuditError
from surehand.secrets import Keyring


@cache
def keyring() -> Keyring:
    return Keyring.ephemeral()


def statement(seq: int, tenant: str = "acme", chain: str = "") -> Checkpoint:
    return checkpoint(keyring(), tenant, seq, chain or f"{seq:064x}", 1_000 + seq)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "anchor.jsonl"


@pytest.fixture(params=["memory", "file"])
def anchor(request: pytest.FixtureRequest, path: Path) -> Anchor:
    return MemoryAnchor() if request.param == "memory" else FileAnchor(path)


def seqs(anchor: Anchor, tenant: str = "acme") -> list[int]:
    return [kept.seq for kept in anchor.read(tenant).checkpoints]


def test_it_keeps_what_it_is_given(anchor: Anchor) -> None:
    assert anchor.last("acme") is None
    assert anchor.tenants() == frozenset()
    assert anchor.read("acme").checkpoints == ()
    assert anchor.append([]) == 0
    given = [statement(3), statement(5), statement(2, "globex")]
    assert anchor.append(given) == 3
    assert anchor.last("acme") == given[1]
    assert anchor.tenants() == {"acme", "globex"}
    assert anchor.read("acme").checkpoints == tuple(given[:2])
    assert anchor.read("globex").checkpoints == (given[2],)
    assert (anchor.read("acme").faults, anchor.read("acme").torn_lines) == ((), 0)


def test_it_keeps_nothing_twice_and_makes_up_for_what_is_missing(anchor: Anchor) -> None:
    anchor.append([statement(3)])
    assert anchor.append([statement(3)]) == 0
    assert anchor.append([statement(3), statement(5), statement(9)]) == 2
    assert anchor.append([statement(5)]) == 0
    assert seqs(anchor) == [3, 5, 9]


def test_the_same_place_signed_at_another_time_is_the_same(anchor: Anchor) -> None:
    anchor.append([statement(3)])
    assert anchor.append([checkpoint(keyring(), "acme", 3, f"{3:064x}", 5)]) == 0


@pytest.mark.parametrize("seq", [3, 5])
def test_another_chain_at_a_known_place_is_refused(anchor: Anchor, seq: int) -> None:
    anchor.append([statement(3), statement(5)])
    with pytest.raises(AuditError, match="another chain"):
        anchor.append([statement(6), statement(seq, chain="f" * 64)])
    assert seqs(anchor) == [3, 5] or isinstance(anchor, MemoryAnchor)


def test_a_place_that_was_passed_over_is_refused(anchor: Anchor) -> None:
    anchor.append([statement(3), statement(5)])
    with pytest.raises(AuditError, match="in order"):
        anchor.append([statement(4)])


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    FileAnchor(path).append([statement(1)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be used"):
        FileAnchor(tmp_path / "missing" / "anchor.jsonl").append([statement(1)])
    with pytest.raises(AuditError, match="cannot be used"):
        FileAnchor(tmp_path).read("acme")


def test_two_objects_share_a_file(path: Path) -> None:
    one, other = FileAnchor(path), FileAnchor(path)
    for seq in range(1, 9, 2):
        assert one.append([statement(seq)]) == 1
        assert other.append([statement(seq), statement(seq + 1)]) == 1
    assert seqs(one) == list(range(1, 9))
    assert one.read("acme").faults == ()


APPEND = """
import sys
from surehand.audit import Checkpoint, FileAnchor
anchor = FileAnchor(sys.argv[1])
for seq in range(1, 21):
    anchor.append([Checkpoint(tenant=sys.argv[2], seq=seq, chain="c", at_us=1, key_id="k", signature="s")])
"""


def test_processes_append_at_once(path: Path) -> None:
    tenants = ("p0", "p1", "p2")
    workers = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), tenant]) for tenant in tenants]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    anchor = FileAnchor(path)
    for tenant in tenants:
        assert seqs(anchor, tenant) == list(range(1, 21))
    assert anchor.read("p0").faults == ()


def test_threads_share_one_object(path: Path) -> None:
    anchor = FileAnchor(path)

    def work(tenant: str) -> None:
        for seq in range(1, 11):
            anchor.append([statement(seq, tenant)])
            assert anchor.last(tenant) == statement(seq, tenant)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert anchor.read("t0").faults == ()
    assert [seqs(anchor, f"t{n}") for n in range(4)] == [list(range(1, 11))] * 4


# Crashes


def test_every_torn_last_line_is_survived(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some 800 appends: on a busy disk they would take minutes if each waited for it.
    monkeypatch.setattr(os, "fsync", lambda file: None)
    FileAnchor(path).append([statement(1), statement(2)])
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for length in range(second, len(whole) + 1):
        path.write_bytes(whole[:length])
        torn = second < length < len(whole) - 1
        held = [1, 2] if length >= len(whole) - 1 else [1]
        anchor = FileAnchor(path)
        assert seqs(anchor) == held
        assert anchor.read("acme").torn_lines == torn
        assert anchor.append([statement(2), statement(3)]) == 3 - len(held)
        read = anchor.read("acme")
        assert [kept.seq for kept in read.checkpoints] == [1, 2, 3]
        assert (read.faults, read.torn_lines) == ((), torn)
        assert path.read_bytes().startswith(whole[:length]), "history is never rewritten"


def test_a_torn_line_is_repaired_by_the_object_that_wrote_it(path: Path) -> None:
    anchor = FileAnchor(path)
    anchor.append([statement(1), statement(2)])
    os.truncate(path, path.stat().st_size - 10)
    assert anchor.append([statement(2), statement(3)]) == 2
    read = FileAnchor(path).read("acme")
    assert [kept.seq for kept in read.checkpoints] == [1, 2, 3]
    assert (read.faults, read.torn_lines) == ((), 1)


def test_two_crashes_in_a_row(path: Path) -> None:
    for seq in (1, 2, 3):
        FileAnchor(path).append([statement(seq)])
        if seq < 3:
            os.truncate(path, path.stat().st_size - 10)
    read = FileAnchor(path).read("acme")
    assert ([kept.seq for kept in read.checkpoints], read.faults, read.torn_lines) == ([3], (), 2)


def test_a_write_that_fails_is_an_error_and_can_be_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anchor = FileAnchor(path)
    anchor.append([statement(1)])
    real = os.write

    def full_disk(file: int, data: bytes) -> int:
        real(file, bytes(data)[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_disk)
        with pytest.raises(AuditError, match="No space left"):
            anchor.append([statement(2)])
    assert anchor.append([statement(2)]) == 1
    assert seqs(anchor) == [1, 2]
    assert anchor.read("acme").faults == ()


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    FileAnchor(path).append([statement(1), statement(2)])
    assert seqs(FileAnchor(path)) == [1, 2]


# Attacks


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture
def written(path: Path) -> FileAnchor:
    anchor = FileAnchor(path)
    anchor.append([statement(seq) for seq in range(1, 7)])
    return anchor


@pytest.mark.parametrize("index", range(5))
def test_a_line_that_was_cut_out_shows(written: FileAnchor, path: Path, index: int) -> None:
    kept = lines(path)
    del kept[index]
    path.write_bytes(b"".join(kept))
    assert len(written.read("acme").faults) == 1
    assert len(written.read("globex").faults) == 1


@pytest.mark.parametrize("index", range(5))
def test_a_line_that_was_edited_shows(written: FileAnchor, path: Path, index: int) -> None:
    kept = lines(path)
    kept[index] = kept[index].replace(b'"at_us":1', b'"at_us":9')
    path.write_bytes(b"".join(kept))
    assert len(written.read("acme").faults) == 1


@pytest.mark.parametrize("index", range(5))
def test_a_line_that_was_blotted_out_shows(written: FileAnchor, path: Path, index: int) -> None:
    kept = lines(path)
    kept[index] = b"#" * (len(kept[index]) - 1) + b"\n"
    path.write_bytes(b"".join(kept))
    read = written.read("acme")
    assert (len(read.faults), read.torn_lines) == (1, 0)


def test_swapped_and_inserted_lines_show(written: FileAnchor, path: Path) -> None:
    kept = lines(path)
    path.write_bytes(b"".join([*kept[:2], kept[3], kept[2], *kept[4:]]))
    assert written.read("acme").faults
    path.write_bytes(b"".join([*kept[:2], kept[1], *kept[2:]]))
    assert written.read("acme").faults


def test_lines_cut_off_the_end_are_written_again(written: FileAnchor, path: Path) -> None:
    path.write_bytes(b"".join(lines(path)[:3]))
    assert written.append([statement(seq) for seq in range(1, 8)]) == 4
    assert seqs(written) == list(range(1, 8))
    assert written.read("acme").faults == ()


def test_a_file_that_was_replaced_is_read_anew(written: FileAnchor, path: Path) -> None:
    other = path.with_name("other")
    FileAnchor(other).append([statement(seq, "globex") for seq in range(1, 12)])
    os.replace(other, path)
    assert written.last("acme") is None
    assert written.append([statement(1)]) == 1
    assert written.read("acme").faults == ()


def test_faults_are_bounded(path: Path) -> None:
    anchor = FileAnchor(path)
    anchor.append([statement(seq) for seq in range(1, 250)])
    path.write_bytes(b"".join(reversed(lines(path))))
    assert len(anchor.read("acme").faults) == 100
