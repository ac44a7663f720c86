"""What the handler's outcome comes to for the model: text, structured data and artifacts, checked and within bounds."""

from __future__ import annotations

import hashlib
from typing import Any, cast

from ..call import Artifact, ResultStatus, ToolResult
from ..errors import ToolError
from ..normalize import Value, cap, display, failures
from ..ports import StoredArtifact
from ..redact import Redactor
from ..spec.hashes import content_hash
from ..types import Caller, Trust
from .events import redactor_of
from .passage import Passage
from .services import Services, new_id


async def outcome_result(p: Passage, s: Services) -> ToolResult:
    """The result of a call whose handler ended, or that evidence settled."""
    outcome = p.outcome
    assert outcome is not None
    error = outcome.error
    value = outcome.value
    if value is not None and outcome.answered_by is None:
        error = _check_output(p, value)
    if error is not None or value is None:
        return make_result(p, s, outcome.status, error.message if error else "Done.", error=error)
    redactor = redactor_of(p, s)
    structured = redactor.value(value.structured, p.spec.output_schema)
    text = redactor.text(value.text)
    if outcome.answered_by is not None:
        text = f"`{p.spec.name}` was not run. A person answered instead of the tool: {text}"
    artifacts: list[StoredArtifact] = [
        _artifact(p, s, media_type, _without_secrets(redactor, media_type, body))
        for media_type, body in value.attachments
    ]
    if len(text) > s.limits.result_chars:
        whole = _artifact(p, s, "text/plain; charset=utf-8", text.encode())
        artifacts.append(whole)
        text, structured = cap(text, s.limits.result_chars, reference=whole.artifact.id), None
    if sum(one.artifact.size_bytes for one in artifacts) > s.limits.artifact_bytes:
        error = failures.output_invalid(p.spec, f"it is larger than {s.limits.artifact_bytes} bytes")
        return make_result(p, s, outcome.status, error.message, error=error)
    if artifacts:
        await s.store.put_artifacts(artifacts)
        named = artifacts[: len(value.attachments)]
        text = "\n".join([*([text] if value.text != "(empty)" else []), *(_named(one.artifact) for one in named)])
    return make_result(
        p, s, outcome.status, text, structured=structured, artifacts=tuple(one.artifact for one in artifacts)
    )


def _check_output(p: Passage, value: Value) -> ToolError | None:
    assert p.entry is not None
    if p.entry.output is None or value.not_finite:
        # null stands for NaN and infinity, which a schema of numbers would refuse although the tool kept it
        return None
    violations = p.entry.output.errors(value.text if value.structured is None else value.structured)
    if not violations:
        return None
    # Not the message: it quotes the value, which is what is being withheld.
    return failures.output_invalid(p.spec, f"at {violations[0].path} it is not {violations[0].expected}")


def make_result(
    p: Passage,
    s: Services,
    status: ResultStatus,
    content: str,
    *,
    structured: Any = None,
    artifacts: tuple[Artifact, ...] = (),
    error: ToolError | None = None,
) -> ToolResult:
    """A result of this call."""
    answered_by = None if p.outcome is None else p.outcome.answered_by
    return ToolResult(
        call_id=p.call_id if p.record is None else p.record.call_id,
        tool_call_id=p.call.id,
        name=p.spec.name,
        version=p.spec.version,
        status=status,
        content=content,
        structured=structured,
        artifacts=artifacts,
        error=error,
        is_error=error is not None or (status != "ok" and answered_by is None),
        answered_by=answered_by,
        approval_id=None if p.record is None else p.record.approval_id,
        display=display_text(p, s),
        trust=trust_of(p),
    )


def trust_of(p: Passage) -> Trust:
    """A tool that is told what stood only in untrusted results may say it again, and vouches for none of it."""
    tainted = p.tainted or (p.outcome is not None and p.outcome.tainted) or "untrusted" in p.labels.values()
    return "untrusted" if tainted else p.spec.trust or "untrusted"


def display_text(p: Passage, s: Services) -> str:
    """The tool's display text for people, filled in."""
    if p.entry is None:
        return p.call.name
    if not p.spec.display:
        return p.spec.name
    shown: Any = redactor_of(p, s).value(p.arguments, p.spec.parameters, names=True)
    return display(p.spec.display, p.spec.name, cast("dict[str, Any]", shown) if isinstance(shown, dict) else {})


def _artifact(p: Passage, s: Services, media_type: str, body: bytes) -> StoredArtifact:
    artifact = Artifact(
        id=new_id("art"), media_type=media_type, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest()
    )
    call_id = p.call_id if p.record is None else p.record.call_id
    return StoredArtifact(
        artifact=artifact,
        tenant=p.caller.tenant,
        call_id=call_id,
        body=s.keyring.seal(body, context=artifact_context(artifact.id, p.caller)),
    )


def _without_secrets(redactor: Redactor, media_type: str, body: bytes) -> bytes:
    """Text is redacted like any result; other files are what they are."""
    if not media_type.startswith("text/"):
        return body
    text = body.decode(errors="surrogateescape")
    return redactor.text(text).encode(errors="surrogateescape")


def artifact_context(artifact_id: str, caller: Caller) -> str:
    """Where a sealed artifact opens: only for the person whose call it belongs to, whatever the database says."""
    return content_hash(["artifact", artifact_id, caller.tenant, caller.id])


def _named(artifact: Artifact) -> str:
    return f"[{artifact.media_type}, {artifact.size_bytes} bytes: artifact {artifact.id}]"
