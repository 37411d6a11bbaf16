"""Check tools and forms of answers at a path for chats: calls, their arguments, and sizes.

A text may come before a call, so one that is cut shows nothing, unless it is the text without
tools. Source: OpenAI's reference of chat completions (tools, tool_choice, response_format).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.defaults import ServerDefaults, fit
from sampler_parity.programs.servers.dialects import DIALECTS, Dialect
from sampler_parity.programs.servers.fingerprint.self_report import json_at
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation, ServerTest, observe
from sampler_parity.programs.servers.server_record import ServerResult

PASSING: list[ServerVerdict] = ["honoured", "documented change", "refused"]
SIZES = (97, 100, 103)  # kB: servers were reported that drop tools from about 100 kB on
COUNT = 58  # tools of a request that a server was reported to refuse
_LARGE = 20  # tools that share such a size
_LENGTH, _CUT = 256, ("length", "limit")  # tokens, and how a text ends that would go on
_PROMPT = "What is the weather in Rome for the next three days? Reply in JSON."
_ABOUT = "Get the weather of a city for some days. "
Schema = Mapping[str, Any]
Fields = Mapping[str, Any]
Calls = list[tuple[str, str]]
Judge = Callable[[Client, Answer], Observation]


def _object(**properties: Schema) -> dict[str, Any]:
    closed = {"required": [*properties], "additionalProperties": False}
    return {"type": "object", "properties": properties, **closed}


# No model chooses these words by itself.
_CITY = {"type": "string", "enum": ["Qorvale", "Ulmstad"]}
WEATHER = _object(city=_CITY, days={"type": "integer", "minimum": 4, "maximum": 9})
_CLOCK = _object(zone={"type": "string", "enum": ["Q-7", "U-8"]})


def tool(name: str, parameters: Schema = WEATHER, about: str = _ABOUT) -> dict[str, Any]:
    function = {"name": name, "description": about, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


_REQUIRED = {"tools": [tool("get_weather"), tool("get_time", _CLOCK)], "tool_choice": "required"}
_SCHEMA = {"name": "weather", "strict": True, "schema": WEATHER}


def large(size: int) -> list[dict[str, Any]]:
    """Return tools that have so many kB, most of them in their descriptions."""
    bare = [tool(f"get_weather_{i}", about="") for i in range(_LARGE)]
    about = (_ABOUT * 200)[: (size * 1000 - len(json.dumps(bare))) // _LARGE]
    return [tool(f"get_weather_{i}", about=about) for i in range(_LARGE)]


def check_tools(client: Client, defaults: ServerDefaults) -> Iterator[ServerResult]:
    """Return a result for each test, if the server has a path for chats."""
    if (dialect := chat_of(client.dialect)) is None:
        return
    chat = replace(client, dialect=fit(dialect, defaults))
    for result in observe("tools", tool_tests(client.quick), chat):
        yield result.model_copy(update={"required": PASSING})


def chat_of(dialect: Dialect) -> Dialect | None:
    """Return the dialect at the path for chats; None if none is documented."""
    if dialect.name.startswith("llama-server"):
        return DIALECTS["llama-server-chat"]
    return DIALECTS[dialect.name] if dialect.chat else None


def tool_tests(quick: bool = False) -> dict[str, ServerTest]:
    """Return the tests by name. quick: without large requests."""
    schema = {"type": "json_schema", "json_schema": _SCHEMA}
    tests: dict[str, ServerTest] = {
        "tool_choice required": partial(_observed, _called, _REQUIRED),
        "tool_choice of a function": _named,
        "tool_choice none": partial(_observed, _maybe_called, _REQUIRED | {"tool_choice": "none"}),
        "tool_choice auto": partial(_observed, _maybe_called, _REQUIRED | {"tool_choice": "auto"}),
        "a call in a stream": partial(_observed, _called, _REQUIRED | {"stream": True}),
        "response_format json_object": partial(
            _observed, _formed, {"response_format": {"type": "json_object"}}
        ),
        "response_format json_schema": partial(_observed, _formed, {"response_format": schema}),
    }
    if not quick:
        tests |= {f"{size} kB of tools": partial(_many, large(size)) for size in SIZES}
        tests[f"{COUNT} tools"] = partial(_many, [tool(f"get_weather_{i}") for i in range(COUNT)])
    return tests


def _completed(client: Client, fields: Fields) -> Answer:
    dialect = client.dialect
    greedy = {**dialect.neutral, "temperature": 0.0, dialect.length: _LENGTH}
    ask = client.streamed if "stream" in fields else client.complete
    return ask(_PROMPT, {**greedy, **fields})


def _observed(judge: Judge, fields: Fields, client: Client) -> Observation:
    answer = _completed(client, fields)
    if answer.refusal:
        return Observation("refused", answer.refusal, answer)
    return judge(client, answer)


def _named(client: Client) -> Observation:
    """Name the function that is not called if any may be."""
    called = dict(calls_of(_completed(client, _REQUIRED)))
    name = "get_weather" if "get_time" in called else "get_time"
    return _observed(_called, _choosing(name), client)


def _many(tools: Sequence[Fields], client: Client) -> Observation:
    """Require a call of the last tool, if a function can be named, and else of any."""
    fields = _REQUIRED if _named(client).verdict != "honoured" else _choosing(_name_of(tools[-1]))
    return _observed(_called, fields | {"tools": tools}, client)


def _choosing(name: str) -> dict[str, Any]:
    return _REQUIRED | {"tool_choice": {"type": "function", "function": {"name": name}}}


def _name_of(tool: Fields) -> str:
    return str(tool["function"]["name"])


def _called(client: Client, answer: Answer) -> Observation:
    """Require a call of one of the tools, and of the one that the choice names."""
    if not (calls := calls_of(answer)):
        return _without_a_call(client, answer)
    choice, names = answer.sent["tool_choice"], {name for name, _ in calls}
    if isinstance(choice, dict) and names != {_name_of(choice)}:
        line = f"{', '.join(sorted(names))} is called instead of {_name_of(choice)}"
        return Observation("silently ignored", line, answer)
    return _judged(calls, answer)


def _maybe_called(client: Client, answer: Answer) -> Observation:
    """Require no call where none is allowed, and else right arguments."""
    may, calls = answer.sent["tool_choice"] != "none", calls_of(answer)
    if calls and may:
        return _judged(calls, answer)
    if calls:
        return Observation("silently ignored", f"{calls[0][0]} is called", answer)
    return Observation("skipped" if may else "honoured", "no call came", answer)


def _without_a_call(client: Client, answer: Answer) -> Observation:
    """Judge a text in place of a call. llama-server reports a template that takes no tools."""
    same = answer.text == _completed(client, {}).text != ""
    if answer.ended in _CUT and not same:
        return Observation("skipped", f"no call within {_LENGTH} tokens", answer)
    template = json_at(client.address, "/props", client.seconds).get("chat_template_caps")
    if isinstance(template, dict) and template.get("supports_tools") is False:
        line = "no call, and /props reports a template that supports no tools"
        return Observation("documented change", line, answer)
    line = f"{'the text without tools' if same else 'no call'}: {answer.got}"
    return Observation("silently ignored", line, answer)


def _judged(calls: Calls, answer: Answer) -> Observation:
    """Require calls of tools, with arguments that obey their schemas."""
    schemas = {_name_of(tool): tool["function"]["parameters"] for tool in answer.sent["tools"]}
    if answer.ended in _CUT:
        return Observation("skipped", f"cut after {_LENGTH} tokens", answer)
    for name, arguments in calls:
        if name not in schemas:
            return Observation("other meaning", f"{name!r} is called: no tool", answer)
        if wrong := broken(arguments, schemas[name]):
            return Observation("silently ignored", f"arguments of {name}: {wrong}", answer)
    return Observation("honoured", " ".join(calls[0]), answer)


def _formed(client: Client, answer: Answer) -> Observation:
    """Require a text in JSON that obeys the schema, if there is one."""
    begins = answer.text.lstrip().startswith("{") or not answer.text
    if answer.ended in _CUT and begins:
        return Observation("skipped", f"cut after {_LENGTH} tokens", answer)
    schema = answer.sent["response_format"].get("json_schema", {}).get("schema", {})
    wrong = broken(answer.text, schema)
    return Observation("silently ignored" if wrong else "honoured", wrong or answer.got, answer)


def calls_of(answer: Answer) -> Calls:
    """Return names and arguments of the first choice's calls. Those of a stream come in parts.
    Raises ServerFailure for what is no call."""
    calls: dict[int, tuple[str, str]] = {}
    try:
        for choice in (choice for event in answer.events for choice in event["choices"][:1]):
            message = choice.get("message") or choice.get("delta") or {}
            for i, call in enumerate(message.get("tool_calls") or ()):
                function, index = call["function"], call.get("index") if "delta" in choice else i
                index = i if index is None else int(index)
                name, arguments = calls.get(index, ("", ""))
                name = name or str(function.get("name") or "")
                calls[index] = name, arguments + (function.get("arguments") or "")
    except (LookupError, TypeError, ValueError, AttributeError):
        line = f"the answer has a tool call that is none: {str(answer.events)[:120]}"
        raise ServerFailure("rejected", line) from None
    return [*calls.values()]


def broken(text: str, schema: Schema) -> str:
    """Return how a text is no JSON, or no object, or breaks a schema; "" if it does not."""
    try:
        data = json_of(text, constants=False)
    except ValueError as error:
        return f"no JSON ({error}): {text[:60]!r}"
    if not isinstance(data, dict):
        return f"no object: {text[:60]!r}"
    return f"the schema does not allow it: {wrong}" if (wrong := _breach(data, schema)) else ""


def _breach(value: Any, schema: Schema) -> str:
    """Return where a value breaks a schema of this file."""
    if "properties" in schema:
        if value.keys() != schema["properties"].keys():
            return f"the fields are {', '.join(value)[:60]}"
        parts = ((k, _breach(value[k], part)) for k, part in schema["properties"].items())
        return next((f"{name} is {wrong}" for name, wrong in parts if wrong), "")
    allowed = schema.get("enum") or range(schema.get("minimum", 0), schema.get("maximum", 0) + 1)
    right = not schema or (value in allowed and not isinstance(value, bool))
    return "" if right else repr(value)[:60]
