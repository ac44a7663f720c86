"""`@tool`: a contract derived from a function. Its annotations become the schema, its docstring the descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Unpack, get_args, get_origin, get_type_hints, overload

from ..errors import SpecError
from .bind import require_runner, target_of
from .docstring import split_docstring
from .fields import ToolFields, contract_values
from .injected import Injected
from .tool_spec import Handler, Tool, ToolSpec


@overload
def tool(function: Handler, /) -> Tool: ...
@overload
def tool(**fields: Unpack[ToolFields]) -> Callable[[Handler], Tool]: ...
def tool(function: Handler | None = None, /, **fields: Unpack[ToolFields]) -> Tool | Callable[[Handler], Tool]:
    """Makes a tool of a function, sync or async: `@tool` or `@tool(version="1.2.0", risk="medium", ...)`.

    Types may be plain JSON types, `Literal`, enums, dates, `Decimal` (a string in JSON, so that it stays exact),
    `UUID`, `Secret` and pydantic's `SecretStr`, pydantic models, dataclasses, `TypedDict`, and lists, dicts and unions
    of these; `Annotated[T, pydantic.Field(...)]` adds constraints. Arguments are written back as JSON for policies and
    approvers, so a type must make equal values of what it wrote: a value of which it makes another is refused. A
    `default_factory` is asked once a call; one that never gives the same value makes every approval stale. The result
    is still callable like the function.

    Args:
        function: Set by the bare form `@tool`.
        **fields: See `ToolFields` and `ToolSpec`.

    Raises:
        SpecError: The signature or a field cannot be a contract; the message says what to write instead.
    """
    if function is not None and not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
        raise SpecError(
            f"@tool stands on a function; fields come by keyword, as in @tool(name=...), not {function!r:.80}"
        )
    frame = inspect.currentframe()
    # Where annotations are looked up that name a type defined in a function, as the tool is.
    scope = dict(frame.f_back.f_locals) if frame is not None and frame.f_back is not None else {}
    if function is not None:
        return _make(function, {}, scope)

    def decorate(function: Handler) -> Tool:
        return _make(function, fields, scope)

    return decorate


def _make(function: Handler, fields: Mapping[str, Any], scope: Mapping[str, Any]) -> Tool:
    from .typed import Parameter, derive_arguments, derive_output  # pydantic costs 75 ms: only for who uses @tool

    if not callable(function):
        raise SpecError(f"@tool(...) stands on a function, not on {function!r:.80}")
    own_name = getattr(function, "__name__", "")
    values = contract_values(f"tool {fields.get('name', own_name)!r:.200}", fields, ToolFields)
    name = values.pop("name", own_name)
    hints = _hints(function, name, scope)
    description, documented = split_docstring(getattr(function, "__doc__", None))
    parameters: list[Parameter] = []
    injected: dict[str, str] = {}
    for parameter in _signature(function, name).parameters.values():
        annotation = _annotation(parameter, hints, name)
        source = _source(annotation)
        if source is not None:
            injected[parameter.name] = source
        else:
            parameters.append(
                Parameter(parameter.name, annotation, parameter.default, documented.get(parameter.name, ""))
            )
    arguments = derive_arguments(name, parameters)
    output = derive_output(name, hints.get("return", Any))
    bound = {key: values.pop(key, None) for key in ("status_check", "check", "preview", "undo", "health_check")}
    samples = values.pop("samples", ())
    values.setdefault("description", description)
    spec = ToolSpec(
        name=name,
        parameters=arguments.schema,
        output_schema=output.schema,
        injected=injected,
        target=target_of(function),
        **values,
    )
    require_runner(spec, function)
    return Tool(
        spec=spec,
        handler=function,
        bind=arguments.bind,
        canonical=arguments.canonical,
        dump=output.dump,
        **bound,
        samples=samples,
        declared=frozenset(fields),
    )


def _signature(function: Handler, name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        raise SpecError(f"tool {name!r}: its signature cannot be read; wrap it in a function of your own") from None


def _hints(function: Handler, name: str, scope: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(scope), include_extras=True)
    except NameError as error:
        raise SpecError(
            f"tool {name!r}: an annotation names {error.name!r}, which is not defined where @tool is"
        ) from None
    except Exception as error:  # an annotation is code
        raise SpecError(f"tool {name!r}: annotations cannot be read: {error}") from None


def _annotation(parameter: inspect.Parameter, hints: Mapping[str, Any], name: str) -> Any:
    def refuse(why: str) -> SpecError:
        return SpecError(f"tool {name!r}: parameter {parameter.name!r} {why}")

    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            raise refuse(f"is *{parameter.name}; write a parameter of type list[...] instead")
        case inspect.Parameter.VAR_KEYWORD:
            raise refuse(f"is **{parameter.name}; name each argument, or write a parameter of type dict[str, ...]")
        case inspect.Parameter.POSITIONAL_ONLY:
            raise refuse("is positional-only; remove the '/' from the signature")
        case _:
            pass
    if isinstance(parameter.default, Injected):
        source = parameter.default.source
        raise refuse(f"has Injected as its default; write {parameter.name}: Annotated[..., Injected({source!r})]")
    if parameter.name not in hints:
        raise refuse(f"has no annotation; write its type, such as {parameter.name}: str")
    return hints[parameter.name]


def _source(annotation: Any) -> str | None:
    if get_origin(annotation) is Annotated:
        for mark in get_args(annotation)[1:]:
            if isinstance(mark, Injected):
                return mark.source
    return None
