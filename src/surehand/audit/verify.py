"""Verification: whether rows, checkpoints and anchor still say what was recorded. Pure, one pass, any length.

What is compared: each row's columns with its body, its body with its digest, its digest with the chain; the chain
with the signed checkpoints; those with the anchor. A row is trusted once a signed checkpoint at or after it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from .anchor import Anchored
from .chain import is_signed, link
from .record import AuditRow, Checkpoint

if TYPE_CHECKING:
    from surehand.secrets import VerifyKey

FindingKind = Literal[
    "body_edited",
    "column_edited",
    "foreign_row",
    "row_missing",
    "row_misplaced",
    "chain_broken",
    "chain_rewritten",
    "tail_cut",
    "checkpoint_forged",
    "checkpoint_missing",
    "anchor_broken",
    "anchor_forged",
    "anchor_missing",
    "checkpoint_conflict",
]
"""What was found: a body that does not have its digest; a column that contradicts the body; a row of another tenant;
a gap; a row out of order or twice at one place; a row that is not what was sealed at its place; a chain that a signed
checkpoint contradicts; rows that a checkpoint or the anchor knows and the database lacks; a checkpoint without a valid
signature; one that the anchor has and the database lacks, or rows that no checkpoint covers; an anchor whose lines were
cut or changed; an anchored checkpoint without a valid signature; one that the anchor skipped; two that contradict."""

MAX_FINDINGS = 100


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was recorded."""

    kind: FindingKind
    seq: int | None
    """Place in the chain, where there is one."""
    row_id: str | None
    message: str
    """For people. Quotes no body."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What verification of one tenant found."""

    tenant: str
    ok: bool
    """Whether nothing was found. An unsealed tail and rows not anchored yet are no findings."""
    rows: int
    """Looked at: sealed and unsealed."""
    sealed: int
    unsealed_tail: int
    """Rows that no chain protects yet."""
    last_seq: int
    """Of the chain; 0 if nothing is sealed."""
    last_anchor_seq: int | None
    """`None`: there is no anchor, or it holds nothing of this tenant."""
    not_anchored: int
    """Sealed rows that the anchor does not vouch for yet."""
    torn_anchor_lines: int
    findings: tuple[Finding, ...]
    """The first 100."""
    findings_left_out: int


class _Columns(msgspec.Struct, frozen=True):
    """What body and columns both say."""

    row_id: str
    tenant: str
    kind: str
    call_id: str | None
    run_id: str | None
    at_us: int


_COMPARED = ("row_id", "kind", "call_id", "run_id", "at_us")  # the tenant is compared with the one asked for
_decoder = msgspec.json.Decoder(_Columns)


class Verification:
    """A verification that is fed piece by piece. Holds checkpoints in memory (about 1 KB each), rows not.

    Of a record that grows meanwhile: read the anchor first. Then page by page: read rows after `seq`, and if the
    page goes beyond `last_signed`, read the checkpoints again and add them before the page. The unsealed come last.

    Args:
        tenant: Whose record.
        key: Of the signer.
        anchored: What the anchor holds; `None` if there is no anchor.
        start: A checkpoint that an earlier verification reached, to go on from.
    """

    def __init__(
        self, tenant: str, *, key: VerifyKey, anchored: Anchored | None, start: Checkpoint | None = None
    ) -> None:
        self.seq = start.seq if start else 0
        """Of the last row."""
        self.last_signed = self.seq
        """The farthest place that a valid checkpoint of the database covers."""
        self._tenant = tenant
        self._key = key
        self._begin = self.seq
        self._anchored = anchored or Anchored()
        self._findings: list[Finding] = []
        self._count = 0
        self._sealed = 0
        self._tail = 0
        self._chain: str | None = start.chain if start else ""
        """Of the last row; `None` after a gap, where the next row's link cannot be checked."""
        self._held: dict[int, Checkpoint] = {}
        """Valid checkpoints of the database."""
        self._kept: dict[int, Checkpoint] = {}
        """Valid checkpoints of the anchor."""
        self._refused: set[tuple[FindingKind, Checkpoint]] = set()
        for fault in self._anchored.faults:
            self._found("anchor_broken", f"the anchor: {fault}")
        self._take(self._anchored.checkpoints, self._kept, "anchor_forged", "a checkpoint in the anchor")
        self._last_anchor = max(self._kept, default=0)
        if start is not None:
            self._check_start(start)

    def add_checkpoints(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Takes checkpoints of the database; those that were added before are passed over."""
        self._take(checkpoints, self._held, "checkpoint_forged", "a checkpoint in the database")
        self.last_signed = max(self._begin, max(self._held, default=0))

    def add(self, rows: Iterable[AuditRow]) -> None:
        """Checks the next sealed rows, by seq."""
        for row in rows:
            self._sealed += 1
            self._check_content(row)
            self._check_place(row)

    def add_unsealed(self, rows: Iterable[AuditRow]) -> None:
        """Checks that rows which no chain protects yet are consistent in themselves."""
        for row in rows:
            self._tail += 1
            self._check_content(row)

    def report(self) -> Report:
        """What was found. Ends the verification."""
        self._compare_checkpoints()
        self._check_end()
        return Report(
            tenant=self._tenant,
            ok=not self._count,
            rows=self._sealed + self._tail,
            sealed=self._sealed,
            unsealed_tail=self._tail,
            last_seq=self.seq,
            last_anchor_seq=self._last_anchor or None,
            not_anchored=max(0, self.seq - max(self._last_anchor, self._begin)),
            torn_anchor_lines=self._anchored.torn_lines,
            findings=tuple(self._findings),
            findings_left_out=self._count - len(self._findings),
        )

    def _found(self, kind: FindingKind, message: str, *, seq: int | None = None, row_id: str | None = None) -> None:
        self._count += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(Finding(kind=kind, seq=seq, row_id=row_id, message=message))

    def _take(
        self, checkpoints: Iterable[Checkpoint], into: dict[int, Checkpoint], kind: FindingKind, what: str
    ) -> None:
        for statement in checkpoints:
            seq = statement.seq
            held = into.get(seq)
            if held == statement or (kind, statement) in self._refused:
                continue
            if not self._is_valid(statement):
                self._refused.add((kind, statement))
                self._found(kind, f"{what} at {seq} is not validly signed for this tenant", seq=seq)
            elif held is not None and held.chain != statement.chain:
                self._found("checkpoint_conflict", f"two signed checkpoints at {seq} differ", seq=seq)
            else:
                into[seq] = statement

    def _is_valid(self, statement: Checkpoint) -> bool:
        # A signature takes longer to check than ten rows: one that the anchor has too was checked before.
        known = self._kept.get(statement.seq) == statement
        return known or (statement.tenant == self._tenant and is_signed(statement, self._key))

    def _check_start(self, start: Checkpoint) -> None:
        seq = start.seq
        if not self._is_valid(start):
            self._found("checkpoint_forged", f"the starting checkpoint at {seq} is not validly signed", seq=seq)
        if (kept := self._kept.get(seq)) is not None and kept.chain != start.chain:
            self._found("checkpoint_conflict", f"the starting checkpoint at {seq} is not the anchor's", seq=seq)

    def _check_content(self, row: AuditRow) -> None:
        if hashlib.sha256(row.body).hexdigest() != row.digest:
            self._found("body_edited", "the body does not have its digest", seq=row.seq, row_id=row.row_id)
        try:
            body = _decoder.decode(row.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._found("body_edited", "the body is not a record", seq=row.seq, row_id=row.row_id)
            return
        if self._tenant != row.tenant or self._tenant != body.tenant:
            self._found("foreign_row", "the row is another tenant's", seq=row.seq, row_id=row.row_id)
        wrong = [name for name in _COMPARED if getattr(body, name) != getattr(row, name)]
        if wrong:
            self._found("column_edited", f"{', '.join(wrong)} contradicts the body", seq=row.seq, row_id=row.row_id)

    def _check_place(self, row: AuditRow) -> None:
        seq = row.seq
        if seq is None or row.chain is None or seq <= self.seq:
            # It takes no place in the chain, so the rows after it are still checked against those before it.
            message = f"after {self.seq} comes a row at {seq}: moved, or inserted"
            self._found("row_misplaced", message, seq=seq, row_id=row.row_id)
            return
        if seq != self.seq + 1:
            last = seq - 1
            gap = f"row {last} is" if last == self.seq + 1 else f"rows {self.seq + 1} to {last} are"
            self._found("row_missing", f"{gap} missing", seq=self.seq + 1)
        elif self._chain is not None and link(self._chain, seq, row.digest) != row.chain:
            self._found("chain_broken", f"row {seq} is not what was sealed there", seq=seq, row_id=row.row_id)
        # On with what the row says, so that one change is one finding.
        self.seq, self._chain = seq, row.chain
        for signed, where in ((self._held.get(seq), "database"), (self._kept.get(seq), "anchor")):
            if signed is not None and signed.chain != row.chain:
                message = f"the chain at {seq} is not what the checkpoint in the {where} signs"
                self._found("chain_rewritten", message, seq=seq, row_id=row.row_id)

    def _compare_checkpoints(self) -> None:
        for seq in sorted(self._held.keys() | self._kept.keys()):
            if seq <= self._begin:
                continue
            held, kept = self._held.get(seq), self._kept.get(seq)
            if held is None:
                self._found("checkpoint_missing", f"the database lacks the anchor's checkpoint at {seq}", seq=seq)
            elif kept is None:
                if seq < self._last_anchor:
                    self._found("anchor_missing", f"the anchor has later checkpoints but not {seq}", seq=seq)
            elif held.chain != kept.chain:
                self._found(
                    "checkpoint_conflict", f"database and anchor hold different signed chains at {seq}", seq=seq
                )

    def _check_end(self) -> None:
        known = max(self.last_signed, self._last_anchor)
        if self.seq < known:
            where = "the anchor" if known > self.last_signed else "a checkpoint"
            self._found("tail_cut", f"the chain ends at {self.seq}, but {where} knows {known}", seq=self.seq)
        elif self.seq > known:
            self._found("checkpoint_missing", f"no signed checkpoint covers what is after {known}", seq=known + 1)


def verify(
    tenant: str,
    rows: Iterable[AuditRow],
    *,
    key: VerifyKey,
    checkpoints: Iterable[Checkpoint],
    anchored: Anchored | None,
    unsealed: Iterable[AuditRow] = (),
    start: Checkpoint | None = None,
) -> Report:
    """Checks one tenant's record in one go. For a record that grows meanwhile see `Verification`.

    Args:
        tenant: Whose record.
        rows: Sealed rows by seq, as the database gives them; with `start`, those after it. Never held in memory.
        key: Of the signer. Have it from elsewhere than the database.
        checkpoints: Of the database.
        anchored: What the anchor holds; `None` if there is no anchor.
        unsealed: Rows that are not in the chain yet.
        start: A checkpoint that an earlier verification reached: what lies before is not read again.
    """
    verification = Verification(tenant, key=key, anchored=anchored, start=start)
    verification.add_checkpoints(checkpoints)
    verification.add(rows)
    verification.add_unsealed(unsealed)
    return verification.report()
