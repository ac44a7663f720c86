"""Whether a contract and the function that fulfils it say the same."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast, get_type_hints

from ..errors import SpecError
from ..spec import Tool
from ..types import Stage
from .change import covers, exclude, shown
from .report import Row, doubtful, met, unmet

_WANTS: Final = "the handler takes what the contract lets in, and returns what it promises"


def check_signature(tool: Tool, to: Stage) -> Row:
    """Compares signature and annotations of the handler with the schemas of the contract."""
    if tool.raw:
        return doubtful("schema", _WANTS, "skipped: a raw handler takes JSON text; samples show what it does with it")
    try:
        signature = inspect.signature(tool.handler)
    except (TypeError, ValueError):
        return doubtful("schema", _WANTS, "the signature cannot be read; wrap the handler in a function of your own")
    problems = [*_names(tool, signature)]
    try:
        hints = get_type_hints(tool.handler, include_extras=True)
    except Exception as error:  # an annotation is code
        hints = {}
        if tool.bind is None and not problems:
            return doubtful("schema", _WANTS, f"annotations cannot be read ({type(error).__name__}), names fit")
    if tool.bind is None:  # else the schemas were made of the annotations
        problems += [*_types(tool, signature, hints), *_output(tool, hints)]
    if problems:
        return unmet("schema", _WANTS, "; ".join(problems), to)
    return met("schema", _WANTS, "they fit" if hints or not signature.parameters else "names fit; types are not said")


def _names(tool: Tool, signature: inspect.Signature) -> Iterator[str]:
    spec = tool.spec
    properties = cast("Mapping[str, Any]", spec.parameters.get("properties", {}))
    always = {*cast("list[str]", spec.parameters.get("required", [])), *spec.injected}
    always |= {name for name, schema in properties.items() if isinstance(schema, Mapping) and "default" in schema}
    taken = signature.parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
    for name in (*properties, *spec.injected):
        if name not in taken and not anything and tool.bind is None:
            yield f"the handler does not take {shown(name)}; add it, or take it out of the contract"
    for name, parameter in taken.items():
        variable = parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        if variable or parameter.default is not inspect.Parameter.empty or name in always or tool.bind is not None:
            continue
        there = "may be left out by the contract" if name in properties else "is not in the contract"
        yield f"the handler needs {shown(name)}, which {there}; give it a default, or require it"


def _types(tool: Tool, signature: inspect.Signature, hints: Mapping[str, Any]) -> Iterator[str]:
    from ..spec.typed import Parameter, derive_arguments  # pydantic is slow to load

    contract = tool.spec.parameters
    for name, schema in cast("Mapping[str, Any]", contract.get("properties", {})).items():
        if name not in hints or name not in signature.parameters:
            continue
        try:
            derived = derive_arguments(
                tool.spec.name, [Parameter(name, hints[name], inspect.Parameter.empty, "")]
            ).schema
        except SpecError as error:
            yield f"{shown(name)}: {error}"
            continue
        taken = next(iter(derived["properties"].values()))
        if covers(taken, derived, schema, contract) is False:
            yield f"{shown(name)}: the contract lets in what its annotation does not take; narrow or widen one of them"


def _output(tool: Tool, hints: Mapping[str, Any]) -> Iterator[str]:
    from ..spec.typed import derive_output

    promised = tool.spec.output_schema
    if promised is None or "return" not in hints:
        return
    try:
        derived = derive_output(tool.spec.name, hints["return"]).schema
    except SpecError as error:
        yield f"the result: {error}"
        return
    if derived is not None and exclude(promised, derived):
        yield "the result: nothing of its annotation is what output_schema promises; correct the one that is wrong"
