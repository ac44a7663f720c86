"""Each attack on the record is carried out here on rows, and has to be found."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.audit import (
    Anchored,
    AuditRow,
    Checkpoint,
    FileAnchor,
    MemoryAnchor,
    Report,
    Verification,
    audit_row,
    checkpoint,
    link,
    verify,
)
from surehand.audit.verify import MAX_FINDINGS
from surehand.secrets import Keyring
from surehand.spec.hashes import canonical_json

TENANT = "acme"


@cache
def keyring() -> Keyring:
    return Keyring.ephemeral()


def plain_row(number: int, tenant: str = TENANT) -> AuditRow:
    return audit_row(
        row_id=f"row-{tenant}-{number:04}",
        tenant=tenant,
        kind="call.finished",
        call_id=f"call-{number}",
        run_id=None,
        at_us=1_000_000 + number,
        facts={"name": "refund", "status": "ok", "arguments": {"amount_cents": number}},
    )


def changed(row: AuditRow, **fields: object) -> AuditRow:
    return msgspec.structs.replace(row, **fields)


@dataclass
class Database:
    """Rows and checkpoints as one who can write the database has them; the anchor is elsewhere."""

    rows: list[AuditRow] = field(default_factory=list)
    unsealed: list[AuditRow] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    anchor: MemoryAnchor = field(default_factory=MemoryAnchor)

    def seal(self, rows: list[AuditRow], *, tenant: str = TENANT, anchored: bool = True) -> None:
        for row in rows:
            seq = len(self.rows) + 1
            previous = self.rows[-1].chain or "" if self.rows else ""
            self.rows.append(changed(row, seq=seq, chain=link(previous, seq, row.digest)))
        head = self.rows[-1]
        assert head.chain
        self.checkpoints.append(checkpoint(keyring(), tenant, len(self.rows), head.chain, head.at_us))
        if anchored:
            last = self.anchor.last(tenant)
            self.anchor.append([c for c in self.checkpoints if last is None or c.seq > last.seq])

    def rechain(self, start: int = 0) -> None:
        """What anybody can do who knows how chains are made: no key is needed."""
        previous = (self.rows[start - 1].chain or "") if start else ""
        for index in range(start, len(self.rows)):
            row = self.rows[index]
            previous = link(previous, index + 1, row.digest)
            self.rows[index] = changed(row, seq=index + 1, chain=previous)

    def edit(self, index: int, *, digest: bool) -> None:
        row = self.rows[index]
        body = row.body.replace(b'"amount_cents":', b'"amount_cents":9')
        assert body != row.body
        self.rows[index] = changed(row, body=body, digest=hashlib.sha256(body).hexdigest() if digest else row.digest)

    def report(self, *, start: Checkpoint | None = None, anchored: Anchored | None = None) -> Report:
        rows = [row for row in self.rows if start is None or (row.seq or 0) > start.seq]
        return verify(
            TENANT,
            iter(rows),
            key=keyring().verify_key,
            checkpoints=self.checkpoints,
            anchored=anchored or self.anchor.read(TENANT),
            unsealed=self.unsealed,
            start=start,
        )


def database(*, batches: int = 4, size: int = 5) -> Database:
    db = Database()
    for batch in range(batches):
        db.seal([plain_row(batch * size + n) for n in range(size)])
    return db


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


def test_an_honest_record_is_ok() -> None:
    db = database()
    db.seal([plain_row(100)], anchored=False)
    db.unsealed = [plain_row(101), plain_row(102)]
    report = db.report()
    assert report == Report(
        tenant=TENANT,
        ok=True,
        rows=23,
        sealed=21,
        unsealed_tail=2,
        last_seq=21,
        last_anchor_seq=20,
        not_anchored=1,
        torn_anchor_lines=0,
        findings=(),
        findings_left_out=0,
    )


def test_nothing_recorded_is_ok() -> None:
    report = Database().report()
    assert (report.ok, report.rows, report.last_anchor_seq) == (True, 0, None)


def test_without_an_anchor_nothing_is_anchored() -> None:
    db = database()
    report = verify(TENANT, db.rows, key=keyring().verify_key, checkpoints=db.checkpoints, anchored=None)
    assert (report.ok, report.last_anchor_seq, report.not_anchored) == (True, None, 20)


Attack = Callable[[Database], None]


def edit_body(db: Database) -> None:
    db.edit(7, digest=False)


def edit_body_and_digest(db: Database) -> None:
    db.edit(7, digest=True)


def edit_last_body_and_digest(db: Database) -> None:
    db.edit(19, digest=True)


def body_is_no_record(db: Database) -> None:
    db.rows[7] = changed(db.rows[7], body=b"\xff{")


def delete_row(db: Database) -> None:
    del db.rows[7]


def delete_first_row(db: Database) -> None:
    del db.rows[0]


def delete_rows_around_a_checkpoint(db: Database) -> None:
    del db.rows[3:7]


def delete_row_and_close_the_gap(db: Database) -> None:
    del db.rows[7]
    db.rows = [changed(row, seq=n) for n, row in enumerate(db.rows, 1)]


def delete_row_and_rechain(db: Database) -> None:
    del db.rows[7]
    db.rechain()


def swap_rows(db: Database) -> None:
    db.rows[7], db.rows[8] = db.rows[8], db.rows[7]


def swap_places(db: Database) -> None:
    a, b = db.rows[7], db.rows[8]
    db.rows[7:9] = [changed(b, seq=a.seq), changed(a, seq=b.seq)]


def swap_places_with_their_hashes(db: Database) -> None:
    a, b = db.rows[7], db.rows[8]
    db.rows[7:9] = [changed(b, seq=a.seq, chain=a.chain), changed(a, seq=b.seq, chain=b.chain)]


def insert_row_twice_at_one_place(db: Database) -> None:
    db.rows.insert(8, changed(plain_row(500), seq=8, chain=db.rows[7].chain))


def insert_row_without_place(db: Database) -> None:
    db.rows.insert(8, plain_row(500))


def insert_row_and_rechain(db: Database) -> None:
    db.rows.insert(8, plain_row(500))
    db.rechain()


def append_row_to_the_chain(db: Database) -> None:
    db.rows.append(plain_row(500))
    db.rechain()


def append_row_with_forged_checkpoint(db: Database) -> None:
    append_row_to_the_chain(db)
    head = db.rows[-1]
    assert head.chain
    db.checkpoints.append(checkpoint(Keyring.ephemeral(), TENANT, 21, head.chain, 1))


def cut_tail(db: Database) -> None:
    del db.rows[12:]


def cut_tail_with_its_checkpoints(db: Database) -> None:
    del db.rows[15:]
    del db.checkpoints[3:]


def cut_everything(db: Database) -> None:
    db.rows.clear()
    db.checkpoints.clear()


def unseal_tail(db: Database) -> None:
    db.unsealed = [changed(row, seq=None, chain=None) for row in db.rows[15:]]
    del db.rows[15:]


def rewrite_chain(db: Database) -> None:
    db.edit(7, digest=True)
    db.rechain()


def rewrite_chain_and_drop_checkpoints(db: Database) -> None:
    rewrite_chain(db)
    db.checkpoints.clear()


def rewrite_chain_and_forge_checkpoints(db: Database) -> None:
    rewrite_chain(db)
    foreign = Keyring.ephemeral()
    chains = {row.seq: row.chain or "" for row in db.rows}
    db.checkpoints = [checkpoint(foreign, TENANT, c.seq, chains[c.seq], c.at_us) for c in db.checkpoints]


def rewrite_chain_and_keep_signatures(db: Database) -> None:
    rewrite_chain(db)
    chains = {row.seq: row.chain for row in db.rows}
    db.checkpoints = [msgspec.structs.replace(c, chain=chains[c.seq]) for c in db.checkpoints]


def delete_a_checkpoint(db: Database) -> None:
    del db.checkpoints[1]


def move_a_checkpoint_to_another_place(db: Database) -> None:
    moved = msgspec.structs.replace(db.checkpoints[1], seq=11, chain=db.rows[10].chain)
    db.checkpoints.insert(2, moved)


def take_another_tenants_checkpoint(db: Database) -> None:
    c = db.checkpoints[1]
    db.checkpoints[1] = checkpoint(keyring(), "globex", c.seq, c.chain, c.at_us)


def move_in_another_tenants_row(db: Database) -> None:
    db.rows[7] = changed(plain_row(7, "globex"), tenant=TENANT, seq=8, chain=db.rows[7].chain)


def move_in_another_tenants_row_as_it_is(db: Database) -> None:
    db.rows[7] = changed(plain_row(7, "globex"), seq=8, chain=db.rows[7].chain)


def set_back_and_go_on(db: Database) -> None:
    """The database is restored from a backup, and goes on with keys and all, but past what the anchor knows."""
    del db.rows[15:]
    del db.checkpoints[3:]
    db.seal([plain_row(600 + n) for n in range(5)], anchored=False)


@pytest.mark.parametrize(
    ("attack", "found"),
    [
        (edit_body, {"body_edited"}),
        (edit_body_and_digest, {"chain_broken"}),
        (edit_last_body_and_digest, {"chain_broken"}),
        (body_is_no_record, {"body_edited"}),
        (delete_row, {"row_missing"}),
        (delete_first_row, {"row_missing"}),
        (delete_rows_around_a_checkpoint, {"row_missing"}),
        (delete_row_and_close_the_gap, {"chain_broken", "chain_rewritten", "tail_cut"}),
        (delete_row_and_rechain, {"chain_rewritten", "tail_cut"}),
        (swap_rows, {"row_missing", "row_misplaced"}),
        (swap_places, {"chain_broken"}),
        (swap_places_with_their_hashes, {"chain_broken"}),
        (insert_row_twice_at_one_place, {"row_misplaced"}),
        (insert_row_without_place, {"row_misplaced"}),
        (insert_row_and_rechain, {"chain_rewritten", "checkpoint_missing"}),
        (append_row_to_the_chain, {"checkpoint_missing"}),
        (append_row_with_forged_checkpoint, {"checkpoint_forged", "checkpoint_missing"}),
        (cut_tail, {"tail_cut"}),
        (cut_tail_with_its_checkpoints, {"tail_cut", "checkpoint_missing"}),
        (cut_everything, {"tail_cut", "checkpoint_missing"}),
        (unseal_tail, {"tail_cut"}),
        (rewrite_chain, {"chain_rewritten"}),
        (rewrite_chain_and_drop_checkpoints, {"chain_rewritten", "checkpoint_missing"}),
        (rewrite_chain_and_forge_checkpoints, {"chain_rewritten", "checkpoint_missing", "checkpoint_forged"}),
        (rewrite_chain_and_keep_signatures, {"chain_rewritten", "checkpoint_missing", "checkpoint_forged"}),
        (delete_a_checkpoint, {"checkpoint_missing"}),
        (move_a_checkpoint_to_another_place, {"checkpoint_forged"}),
        (take_another_tenants_checkpoint, {"checkpoint_forged", "checkpoint_missing"}),
        (move_in_another_tenants_row, {"foreign_row", "chain_broken"}),
        (move_in_another_tenants_row_as_it_is, {"foreign_row", "chain_broken"}),
        (set_back_and_go_on, {"checkpoint_conflict", "chain_rewritten"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_attack_is_found(attack: Attack, found: set[str]) -> None:
    db = database()
    attack(db)
    report = db.report()
    assert not report.ok
    assert kinds(report) == found


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "call.refused"),
        ("call_id", "call-0"),
        ("call_id", None),
        ("run_id", "run-1"),
        ("at_us", 5),
        ("row_id", "row-acme-0000"),
    ],
)
def test_a_column_that_contradicts_the_body_is_found(column: str, value: object) -> None:
    db = database()
    db.rows[7] = changed(db.rows[7], **{column: value})
    report = db.report()
    assert kinds(report) == {"column_edited"}
    assert column in report.findings[0].message
    assert report.findings[0].seq == 8


def test_the_tenant_column_counts_too() -> None:
    db = database()
    db.rows[7] = changed(db.rows[7], tenant="globex")
    assert kinds(db.report()) == {"foreign_row"}


def test_unsealed_rows_must_be_consistent_in_themselves() -> None:
    db = database()
    row = plain_row(200)
    db.unsealed = [changed(row, body=row.body + b" ")]
    assert kinds(db.report()) == {"body_edited"}


def test_one_edit_is_one_finding_at_its_place() -> None:
    db = database()
    db.edit(7, digest=False)
    (finding,) = db.report().findings
    assert (finding.seq, finding.row_id) == (8, db.rows[7].row_id)
    assert "9" not in finding.message


def test_findings_are_bounded_and_counted() -> None:
    db = database(batches=1, size=MAX_FINDINGS + 50)
    for index in range(len(db.rows)):
        db.edit(index, digest=False)
    report = db.report()
    assert len(report.findings) == MAX_FINDINGS
    assert report.findings_left_out == 50


# The anchor


def test_a_line_cut_out_of_the_anchor_is_found() -> None:
    db = database()
    kept = db.anchor.read(TENANT).checkpoints
    report = db.report(anchored=Anchored(checkpoints=kept[:1] + kept[2:]))
    assert kinds(report) == {"anchor_missing"}


def test_a_forged_anchor_line_is_found() -> None:
    db = database()
    *kept, last = db.anchor.read(TENANT).checkpoints
    forged = checkpoint(Keyring.ephemeral(), TENANT, last.seq, last.chain, last.at_us)
    assert kinds(db.report(anchored=Anchored(checkpoints=(*kept, forged)))) == {"anchor_forged"}


def test_faults_of_the_anchor_are_findings() -> None:
    db = database()
    kept = db.anchor.read(TENANT).checkpoints
    report = db.report(anchored=Anchored(checkpoints=kept, faults=("line 3 was changed",), torn_lines=1))
    assert kinds(report) == {"anchor_broken"}
    assert report.torn_anchor_lines == 1


def test_a_torn_line_alone_is_no_finding() -> None:
    db = database()
    assert db.report(anchored=Anchored(checkpoints=db.anchor.read(TENANT).checkpoints, torn_lines=1)).ok


def test_two_signed_checkpoints_at_one_place_contradict() -> None:
    db = database()
    db.checkpoints.insert(2, checkpoint(keyring(), TENANT, 10, "f" * 64, 1))
    assert kinds(db.report()) == {"checkpoint_conflict"}


def test_end_to_end_with_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    db = database()
    anchor = FileAnchor(tmp_path_factory.mktemp("anchor") / "anchor.jsonl")
    anchor.append(db.checkpoints)
    assert db.report(anchored=anchor.read(TENANT)).ok
    cut_tail_with_its_checkpoints(db)
    assert kinds(db.report(anchored=anchor.read(TENANT))) == {"tail_cut", "checkpoint_missing"}


# From a checkpoint


def test_verification_goes_on_from_a_checkpoint() -> None:
    db = database()
    start = db.checkpoints[1]
    db.edit(3, digest=False)
    report = db.report(start=start)
    assert report.ok
    assert (report.sealed, report.last_seq) == (10, 20)
    db.edit(13, digest=True)
    assert kinds(db.report(start=start)) == {"chain_broken"}


def test_nothing_new_since_the_checkpoint() -> None:
    db = database()
    report = db.report(start=db.checkpoints[-1])
    assert (report.ok, report.sealed, report.not_anchored) == (True, 0, 0)


def test_a_row_deleted_right_after_the_checkpoint_is_found() -> None:
    db = database()
    del db.rows[10]
    assert kinds(db.report(start=db.checkpoints[1])) == {"row_missing"}


def test_a_forged_start_is_found() -> None:
    db = database()
    start = checkpoint(Keyring.ephemeral(), TENANT, 10, db.rows[9].chain or "", 1)
    assert kinds(db.report(start=start)) == {"checkpoint_forged"}


def test_a_start_that_the_anchor_contradicts_is_found() -> None:
    db = database()
    start = checkpoint(keyring(), TENANT, 10, "f" * 64, 1)
    assert kinds(db.report(start=start)) == {"checkpoint_conflict", "chain_broken"}


# Piece by piece


def test_a_record_may_grow_while_it_is_verified() -> None:
    db = database()
    check = Verification(TENANT, key=keyring().verify_key, anchored=db.anchor.read(TENANT))
    check.add_checkpoints(list(db.checkpoints))
    check.add(db.rows[:12])
    db.seal([plain_row(300)])
    check.add_checkpoints(db.checkpoints)
    assert check.last_signed == 21
    check.add(db.rows[check.seq :])
    report = check.report()
    assert (report.ok, report.last_seq, report.not_anchored) == (True, 21, 1)


def test_a_refused_checkpoint_is_reported_once() -> None:
    db = database()
    append_row_with_forged_checkpoint(db)
    check = Verification(TENANT, key=keyring().verify_key, anchored=None)
    check.add_checkpoints(db.checkpoints)
    check.add_checkpoints(db.checkpoints)
    check.add(db.rows)
    assert [finding.kind for finding in check.report().findings] == ["checkpoint_forged", "checkpoint_missing"]


def test_rows_are_not_kept() -> None:
    alive: list[int] = []

    class Watched(bytes):
        def __del__(self) -> None:
            alive[0] -= 1

    def rows() -> Iterator[AuditRow]:
        previous = ""
        for number in range(1, 500):
            row = plain_row(number)
            previous = link(previous, number, row.digest)
            alive[0] += 1
            most[0] = max(most[0], alive[0])
            yield changed(row, body=Watched(row.body), seq=number, chain=previous)

    alive.append(0)
    most = [0]
    report = verify(TENANT, rows(), key=keyring().verify_key, checkpoints=[], anchored=None)
    assert report.sealed == 499
    assert most[0] <= 3


# Laws


@given(
    size=st.integers(1, 12),
    index=st.integers(0, 11),
    position=st.integers(0, 10_000),
    flip=st.integers(1, 255),
)
def test_any_changed_byte_of_any_body_is_found(size: int, index: int, position: int, flip: int) -> None:
    db = database(batches=1, size=size)
    row = db.rows[index % size]
    body = bytearray(row.body)
    body[position % len(body)] ^= flip
    db.rows[index % size] = changed(row, body=bytes(body))
    assert not db.report().ok


@given(st.permutations(range(8)))
def test_any_other_order_is_found(order: list[int]) -> None:
    db = database(batches=2, size=4)
    db.rows = [db.rows[n] for n in order]
    honest = order == sorted(order)
    assert db.report().ok == honest
    db.rows = [changed(row, seq=seq) for seq, row in enumerate(db.rows, 1)]
    assert db.report().ok == honest
    db.rechain()
    assert db.report().ok == honest


@given(st.sets(st.integers(0, 11), min_size=1))
def test_any_missing_rows_are_found(missing: set[int]) -> None:
    db = database(batches=3, size=4)
    db.rows = [row for n, row in enumerate(db.rows) if n not in missing]
    assert not db.report().ok
    db.rechain()
    assert not db.report().ok


@given(st.dictionaries(st.sampled_from(["tenant", "seq", "chain", "at_us", "key_id"]), st.integers(1, 9), min_size=1))
def test_a_signature_covers_every_field(fields: dict[str, int]) -> None:
    db = database(batches=1)
    (signed,) = db.checkpoints
    moved = {name: getattr(signed, name) + (n if name in ("seq", "at_us") else str(n)) for name, n in fields.items()}
    db.checkpoints = [msgspec.structs.replace(signed, **moved)]
    report = verify(TENANT, db.rows, key=keyring().verify_key, checkpoints=db.checkpoints, anchored=None)
    assert "checkpoint_forged" in kinds(report)


def test_the_link_covers_all_that_it_is_given() -> None:
    digest = hashlib.sha256(canonical_json({})).hexdigest()
    inputs = [("", 1, digest), ("a", 1, digest), ("", 2, digest), ("", 1, digest[::-1]), ("", 11, digest[1:])]
    assert len({link(*given) for given in inputs}) == len(inputs)
