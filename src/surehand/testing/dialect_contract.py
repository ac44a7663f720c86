"""What every `Dialect` must do, as tests to inherit.

Needs pytest. Write down how the provider says things (`WireFormat`), and inherit:

    class TestMyDialect(DialectContract):
        @pytest.fixture
        def wire(self):
            return MyWireFormat()
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from ..call import ToolCall
from ..providers import (
    CallDelta,
    CallResult,
    Export,
    Message,
    ModelTurn,
    ResultMessage,
    SystemMessage,
    TextDelta,
    UserMessage,
)
from ..schema.keywords import walk
from .dialect_wire import (
    BOX,
    COMBINATORS,
    EITHER,
    MAP,
    STREAMED,
    Cut,
    SentResult,
    WireFormat,
    WrittenCall,
    spec_of,
    view_of,
)


def _whole(text: str) -> list[str]:
    return [text]


def _id(wire: WireFormat, given: str) -> str:
    """What becomes of an id: nothing, where calls have none on the wire. Then the order alone pairs the results."""
    return given if wire.dialect.profile.ids else ""


def _cutter(seed: int) -> Cut:
    source = random.Random(seed)  # noqa: S311

    def cut(text: str) -> list[str]:
        places = sorted(source.sample(range(len(text) + 1), min(len(text), source.randint(0, 6))))
        return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]

    return cut


class ExportContract:
    """Tools of a view, as the provider accepts them."""

    def test_names_lead_back(self, wire: WireFormat) -> None:
        """Each has one that fits, the same in any order and in any company that it does not collide with."""
        names = ["read", "a.b", "a_b", "a-b", "x" * 100, "x" * 99 + "y", "a.b.c", "a_b.c"]
        export = wire.dialect.export(view_of(*map(spec_of, names)))
        assert sorted(export.wire_names.values()) == sorted(names)
        assert {tool.name for tool in wire.tools(export)} == set(export.wire_names)
        assert all(len(name) <= 64 for name in export.wire_names)
        assert export.wire_names["read"] == "read"
        again = wire.dialect.export(view_of(*map(spec_of, reversed(names))))
        assert (again.tools, again.wire_names) == (export.tools, export.wire_names)

    def test_an_export_can_be_given_as_it_is(self, wire: WireFormat) -> None:
        """It iterates over its tools."""
        export = wire.dialect.export(view_of(spec_of("read"), spec_of("write")))
        assert list(export) == export.tools
        assert len(export) == 2

    def test_C01_every_object_is_closed(self, wire: WireFormat) -> None:
        """And the contract is not changed. A provider without strict mode says so of each tool."""
        rules = wire.dialect.profile.strict
        schema: dict[str, Any] = deepcopy(BOX)
        if rules is not None and rules.needs_required:
            schema["properties"]["box"]["required"] = ["w"]
        spec = spec_of("box", deepcopy(schema))
        export = wire.dialect.export(view_of(spec), strict=True)
        (tool,) = wire.tools(export)
        assert spec.parameters == schema
        if rules is None:
            assert (tool.strict, export.verdicts, len(export.notes)) == (False, {"box": "unsupported"}, 1)
            return
        assert tool.strict
        nodes = [node for _, node in walk(tool.parameters) if "properties" in node]
        assert len(nodes) == 2
        for node in nodes:
            if wire.dialect.profile.schema == "json-schema":
                assert node["additionalProperties"] is False
            assert set(node.get("required", [])) <= node["properties"].keys()
        assert export.verdicts == {"box": "lossy"}

    def test_C01_a_map_is_sent_without_strict(self, wire: WireFormat) -> None:
        """As without strict, with the reason; the other tools stay strict, unless the provider takes all or none."""
        profile = wire.dialect.profile
        read_spec = spec_of("read", {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]})
        view = view_of(spec_of("tally", deepcopy(MAP)), read_spec)
        export = wire.dialect.export(view, strict=True)
        read, tally = sorted(wire.tools(export), key=lambda tool: tool.name)
        others = profile.strict is not None and profile.strict_by_tool
        assert (read.strict, tally.strict) == (others, False)
        assert tally.parameters == wire.tools(wire.dialect.export(view))[1].parameters
        assert tally.parameters == MAP or profile.schema == "openapi"
        assert export.verdicts == {"read": "lossless" if others else "unsupported", "tally": "unsupported"}
        *rest, note = export.notes
        assert note.startswith("tally: unsupported, sent without strict: ")
        assert ("properties/counts" in note) is (profile.strict is not None)
        assert [one.partition(":")[0] for one in rest] == ([] if others else ["read"])
        assert profile.strict is None or all("tally cannot be" in one for one in rest)

    def test_C05_no_combinator_at_the_root(self, wire: WireFormat) -> None:
        """What it named can still be given, and the rule is told."""
        for strict in (False, True):
            export = wire.dialect.export(view_of(spec_of("post", deepcopy(EITHER)), spec_of("read")), strict=strict)
            post = next(tool for tool in wire.tools(export) if tool.name == "post")
            assert post.parameters["type"].lower() == "object"
            assert not COMBINATORS & post.parameters.keys()
            assert post.parameters["properties"].keys() == {"ws", "text", "url"}
            assert "ws" in post.parameters["required"]
            assert "`text`" in post.description
            assert "`url`" in post.description
            assert len([note for note in export.notes if note.startswith("post: ")]) == 1

    def test_C46_a_tool_without_parameters(self, wire: WireFormat) -> None:
        """Has an object's schema all the same, or none where an object without properties is refused."""
        for strict in (False, True):
            (tool,) = wire.tools(wire.dialect.export(view_of(spec_of("now", {"type": "object"})), strict=strict))
            if wire.dialect.profile.schema == "openapi":
                assert tool.parameters == {}
            else:
                assert (tool.parameters["type"], tool.parameters["properties"]) == ("object", {})


class AnswerContract:
    """What a model said, whole and streamed."""

    @staticmethod
    def export(wire: WireFormat) -> Export:
        """Of some tools."""
        names = ("read", "functionshell", "functions", "web_search", "list.all", "list_all")
        return wire.dialect.export(view_of(*map(spec_of, names)))

    def test_text_and_calls(self, wire: WireFormat) -> None:
        """In order, under the model's ids and our names."""
        calls = (WrittenCall("c1", "read", '{"a":1}'), WrittenCall("c2", "list_all"))
        turn = wire.dialect.decode(wire.response("Hm.", calls, wire.words["tool_calls"]), self.export(wire))
        assert (turn.dialect, turn.text, turn.stop) == (wire.dialect.profile.name, "Hm.", "tool_calls")
        assert [(call.id, call.name) for call in turn.calls] == [
            (_id(wire, "c1"), "read"),
            (_id(wire, "c2"), "list_all"),
        ]
        assert turn.calls[0].arguments in ('{"a":1}', {"a": 1})
        assert turn.wire_names == ("read", "list_all")
        assert not turn.truncated_call

    def test_C53_names_are_hardly_repaired(self, wire: WireFormat) -> None:
        """An exact match wins; blanks and `functions.` go; nothing else is guessed."""
        export = self.export(wire)
        rows = {
            "functions.read": "read",
            "read \n": "read",
            " functions.read ": "read",
            "functionshell": "functionshell",
            "functions": "functions",
            "web_search": "web_search",
            "web-search": "web-search",
            "execute_read": "execute_read",
            "READ": "READ",
            "functions.shell": "functions.shell",
            "": "",
        }
        for written, expected in rows.items():
            response = wire.response("", [WrittenCall("c1", written)], wire.words["tool_calls"])
            turn = wire.dialect.decode(response, export)
            assert (turn.calls[0].name, turn.wire_names) == (expected, (written,))
        for wired, ours in export.wire_names.items():
            turn = wire.dialect.decode(wire.response("", [WrittenCall("c1", wired)], wire.words["tool_calls"]), export)
            assert turn.calls[0].name == ours

    def test_C21_the_content_wins(self, wire: WireFormat) -> None:
        """Over the word that the provider gives for it."""
        call = WrittenCall("c1", "read")
        rows: list[tuple[str, list[WrittenCall], str]] = [
            ("stop", [call], "tool_calls"),
            ("tool_calls", [], "stop"),
            ("stop", [], "stop"),
            ("length", [call], "length"),
        ]
        rows += [("content_filter", [call], "content_filter")] if "content_filter" in wire.words else []
        for word, calls, stop in rows:
            turn = wire.dialect.decode(wire.response("", calls, wire.words[word]), self.export(wire))
            assert (turn.stop, len(turn.calls), turn.raw_stop) == (stop, len(calls), wire.words[word])
        unheard = wire.dialect.decode(wire.response("Hi", [], "unheard of"), self.export(wire))
        assert unheard.stop == "unknown"

    def test_C13_a_cut_call_is_marked(self, wire: WireFormat) -> None:
        """Valid or not."""
        for arguments in ('{"path":"x","body":"ab', '{"path":"x"}'):
            response = wire.response("", [WrittenCall("c1", "read", arguments)], wire.words["length"])
            for turn in (
                wire.dialect.decode(response, self.export(wire)),
                self.fold(wire, wire.stream(response, _whole)),
            ):
                assert (turn.stop, turn.truncated_call, len(turn.calls)) == ("length", True, 1)
        silent = wire.dialect.decode(wire.response("So it", [], wire.words["length"]), self.export(wire))
        assert (silent.stop, silent.truncated_call) == ("length", False)

    def fold(self, wire: WireFormat, events: Sequence[Mapping[str, Any]]) -> ModelTurn:
        """The turn of a stream."""
        fold = wire.dialect.fold(self.export(wire))
        for event in events:
            fold.feed(event)
        return fold.end()

    def test_any_cutting_gives_the_same_turn(self, wire: WireFormat) -> None:
        """The one of the whole response, the provider's own message included."""
        for text, calls in STREAMED:
            response = wire.response(text, calls, wire.words["tool_calls" if calls else "stop"])
            turn = wire.dialect.decode(response, self.export(wire))
            for cut in (_whole, list, *map(_cutter, range(30))):
                streamed = self.fold(wire, wire.stream(response, cut))
                assert streamed == turn

    def test_what_is_shown_while_it_streams(self, wire: WireFormat) -> None:
        """The text, and each call once, by its whole name."""
        for text, calls in STREAMED:
            response = wire.response(text, calls, wire.words["tool_calls" if calls else "stop"])
            fold = wire.dialect.fold(self.export(wire))
            deltas = [delta for event in wire.stream(response, list) for delta in fold.feed(event)]
            assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == text
            shown = [(one.position, one.id, one.name) for one in deltas if isinstance(one, CallDelta)]
            assert shown == [(place, _id(wire, call.id), call.name) for place, call in enumerate(calls)]

    def test_a_broken_stream_is_a_cut_answer(self, wire: WireFormat) -> None:
        """Wherever it breaks before its end was said."""
        calls = (WrittenCall("c1", "read", '{"path":"x"}'), WrittenCall("c2", "read", '{"path":"y"}'))
        events = wire.stream(wire.response("Hm.", calls, wire.words["tool_calls"]), list)
        said = [index for index in range(len(events) + 1) if self.fold(wire, events[:index]).raw_stop]
        assert said
        for index in range(said[0]):
            turn = self.fold(wire, events[:index])
            assert (turn.stop, turn.truncated_call) == ("length", bool(turn.calls))
            wire.dialect.request([UserMessage(content="go"), turn], self.export(wire))

    def test_nothing_of_an_answer_is_expected(self, wire: WireFormat) -> None:
        """An empty one is no error."""
        turn = wire.dialect.decode({}, self.export(wire))
        assert (turn.text, turn.calls, turn.stop) == ("", (), "unknown")


class HistoryContract:
    """A conversation, as the provider accepts it. The ids are of a form that every provider takes."""

    @staticmethod
    def turn(*calls: ToolCall, text: str = "") -> ModelTurn:
        """A turn in neutral terms."""
        return ModelTurn(dialect="another", text=text, calls=calls, stop="tool_calls" if calls else "stop")

    @staticmethod
    def request(wire: WireFormat, *messages: Message) -> dict[str, Any]:
        """A request, made twice: the same bytes, and nothing of the history has changed."""
        export = wire.dialect.export(view_of(*map(spec_of, ("f", "g", "a.b"))))
        before = msgspec.json.encode(messages)
        request = wire.dialect.request(messages, export)
        assert msgspec.json.encode(wire.dialect.request(messages, export)) == msgspec.json.encode(request)
        assert msgspec.json.encode(messages) == before
        return request

    def test_C16_each_call_has_one_result(self, wire: WireFormat) -> None:
        """An orphan is left out, a missing one is told, and no message is empty."""
        request = self.request(
            wire,
            ResultMessage(results=(CallResult(tool_call_id="call00000", content="orphaned"),)),
            UserMessage(content="go"),
            UserMessage(content=" \n"),
            self.turn(),
            self.turn(ToolCall(id="call00001", name="f"), ToolCall(id="call00002", name="g")),
            ResultMessage(results=(CallResult(tool_call_id="call00001", content="r1"),)),
            UserMessage(content="next"),
        )
        assert [call.id for call in wire.calls(request)] == [_id(wire, "call00001"), _id(wire, "call00002")]
        assert wire.results(request) == [
            SentResult(_id(wire, "call00001"), "r1"),
            SentResult(_id(wire, "call00002"), "not executed"),
        ]
        assert len(wire.assistants(request)) == 1
        assert "orphaned" not in str(request)

    def test_C18_repeated_ids_are_told_apart(self, wire: WireFormat) -> None:
        """Over turns and within one, paired by occurrence; the first keeps its id."""
        messages: list[Message] = [UserMessage(content="go")]
        for number in (1, 2, 3):
            messages.append(self.turn(ToolCall(id="call00000", name="f", arguments={"i": number})))
            messages.append(ResultMessage(results=(CallResult(tool_call_id="call00000", content=f"r{number}"),)))
        messages.append(self.turn(*(ToolCall(id="xxxxxxxxx", name="g", arguments={"k": k}) for k in (1, 2))))
        results = tuple(CallResult(tool_call_id="xxxxxxxxx", content=f"k{k}") for k in (1, 2))
        messages.append(ResultMessage(results=results))
        request = self.request(wire, *messages)
        ids = [call.id for call in wire.calls(request)]
        assert len(ids) == 5
        assert len(set(ids)) == (5 if wire.dialect.profile.ids else 1)
        assert (ids[0], ids[3]) == (_id(wire, "call00000"), _id(wire, "xxxxxxxxx"))
        assert [result.id for result in wire.results(request)] == ids
        assert [result.content for result in wire.results(request)] == ["r1", "r2", "r3", "k1", "k2"]
        assert [call.id for call in wire.calls(self.request(wire, *messages[:5]))] == ids[:2]

    def test_C56_arguments_have_the_right_type(self, wire: WireFormat) -> None:
        """What was malformed goes as an empty object, and its text in the result."""
        request = self.request(
            wire,
            UserMessage(content="go"),
            self.turn(
                ToolCall(id="call00001", name="f", arguments={"a": 1}),
                ToolCall(id="call00002", name="f", arguments='{"v": '),
                ToolCall(id="call00003", name="f", arguments='{"b":2}'),
                ToolCall(id="call00004", name="f", arguments="[1]"),
                ToolCall(id="call00005", name="f", arguments={"x": float("inf")}),
            ),
            ResultMessage(results=(CallResult(tool_call_id="call00002", content="invalid JSON", is_error=True),)),
        )
        assert [call.arguments for call in wire.calls(request)] == [{"a": 1}, {}, {"b": 2}, {}, {}]
        told = wire.results(request)[1].content
        assert told.startswith("invalid JSON")
        assert '{"v": ' in told

    def test_C08_no_arguments_are_an_empty_object(self, wire: WireFormat) -> None:
        """However they were written, and however they are read again."""
        for blank in ("", "  \n", "null", "{}"):
            export = wire.dialect.export(view_of(spec_of("f")))
            turn = wire.dialect.decode(wire.response("", [WrittenCall("call00001", "f", blank)], "stop"), export)
            assert turn.calls[0].arguments in ("", "{}", {})
            for one in (turn, self.turn(ToolCall(id="call00001", name="f", arguments=blank))):
                (call,) = wire.calls(self.request(wire, UserMessage(content="go"), one))
                assert call.arguments == {}

    def test_a_turn_goes_back_unchanged(self, wire: WireFormat) -> None:
        """Its provider's own message, whole or streamed, what nobody knows included."""
        export = wire.dialect.export(view_of(spec_of("f")))
        response = wire.response("Hm.", [WrittenCall("call00001", "f", '{"a":1}')], wire.words["tool_calls"])
        turn = wire.dialect.decode(response, export)
        stored = msgspec.json.decode(msgspec.json.encode(turn), type=ModelTurn)
        assert wire.assistants(self.request(wire, UserMessage(content="go"), stored)) == [turn.raw]

    def test_ids_and_names_of_others_are_made_to_fit(self, wire: WireFormat) -> None:
        """An id that is too long or empty, and a name that is in no table."""
        request = self.request(
            wire,
            SystemMessage(content="Be brief."),
            UserMessage(content="go"),
            self.turn(
                ToolCall(id="i" * 100, name="a.b"), ToolCall(id="", name=""), ToolCall(id="", name="no such tool")
            ),
        )
        sent = wire.calls(request)
        assert len(sent) == 3
        if wire.dialect.profile.ids:
            assert len({call.id for call in sent}) == 3
            assert all(call.id and len(call.id) <= 64 for call in sent)
        assert [call.name for call in sent] == ["a_b", "_", "no_such_tool"]
        assert "Be brief." in str(request)


class DialectContract(ExportContract, AnswerContract, HistoryContract):
    """All of it. Needs the fixture `wire`, a `WireFormat`."""
