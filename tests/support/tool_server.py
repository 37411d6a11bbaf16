"""A server that calls tools, as llama-server does, and the faults of a proxy before one."""

import json
from collections.abc import Callable
from typing import Any

from sampler_parity.programs.servers import tools
from tests.support.fake_server import Answered, Answering, Sent, instance
from tests.support.server_faults import Faulty

# The golden model continues an observation with "Action:", so a grammar for calls begins there.
TEMPLATE = """\
{%- if tools -%}{{ "Tools: " + tools[0].function.name + "\\n" }}{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "assistant" -%}
{%- if message.content -%}{{ message.content + "\\n" }}{%- endif -%}
{%- for call in message.tool_calls -%}
Action: {"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
{% endfor -%}
{%- else -%}{{ message.role }}: {{ message.content }}
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}Observation: {"status": "ok", "count": 10}
{% endif -%}
"""


def calling(sent: Sent) -> Answered:
    """Return a call of the first tool, or of the one that is named; else a text."""
    functions = [tool["function"] for tool in sent.get("tools", ())]
    choice, form = sent.get("tool_choice", "auto"), sent.get("response_format", {})
    if isinstance(choice, dict):
        functions = [f for f in functions if f["name"] == choice["function"]["name"]]
        if not functions:
            return 400, {"error": "no such function"}
    if functions and choice != "none":
        function = functions[0]
        arguments = json.dumps(instance(function["parameters"], {}))
        call = {"function": {"name": function["name"], "arguments": arguments}}
        return 200, _message({"content": None, "tool_calls": [call]}, "tool_calls")
    schema = form.get("json_schema", {}).get("schema", {"const": {}})
    formed = form.get("type", "text") != "text"
    content = json.dumps(instance(schema, {})) if formed else "Rain."
    return 200, _message({"content": content}, "stop")


def _message(message: Sent, ended: str) -> Sent:
    return {"choices": [{"index": 0, "message": message, "finish_reason": ended}]}


def _sends(change: Callable[[Sent], Sent]) -> Faulty:
    return lambda server: lambda sent: server(sent | change(sent))


def _calls(change: Callable[[str], Any]) -> Faulty:
    """Change the arguments of each call."""

    def answering(server: Answering, sent: Sent) -> Answered:
        status, data = server(sent)
        for choice in data.get("choices", ()):
            for call in choice["message"].get("tool_calls") or ():
                call["function"]["arguments"] = change(call["function"]["arguments"])
        return status, data

    return lambda server: lambda sent: answering(server, sent)


def _size(sent: Sent) -> int:
    return len(json.dumps(sent.get("tools", [])))


def _instead(name: str, value: Any, where: Callable[[Any], bool]) -> Faulty:
    """Send another value of a field."""
    return _sends(lambda sent: {name: value} if name in sent and where(sent[name]) else {})


_FAILED = 500, {"error": "too large"}
_NO_TOOLS: Sent = {"tools": [], "tool_choice": "auto"}
FORMS = ("response_format json_object", "response_format json_schema")
NAMED, STREAMED = "tool_choice of a function", "a call in a stream"
_REQUIRED = ("tool_choice required", STREAMED)
SIZES = tuple(f"{size} kB of tools" for size in tools.SIZES)
COUNT = f"{tools.COUNT} tools"
_ALL = (*_REQUIRED, "tool_choice auto", NAMED, *SIZES, COUNT)
# The name, the results that fail, a word in the evidence of the first, and the proxy.
FAULTS: tuple[tuple[str, tuple[str, ...], str, Faulty], ...] = (
    ("drops tools", (*_REQUIRED, NAMED, *SIZES, COUNT), "the text without tools",
              _sends(lambda _: _NO_TOOLS)),
    ("drops tools above 98 kB", SIZES[1:], "the text without tools",
              _sends(lambda sent: _NO_TOOLS if _size(sent) > 98_000 else {})),
    ("fails above 101 kB", SIZES[2:], "status 500",
              lambda server: lambda sent: _FAILED if _size(sent) > 101_000 else server(sent)),
    ("drops more than 50 tools", (COUNT,), "the text without tools",
              _sends(lambda sent: _NO_TOOLS if len(sent.get("tools", [])) > 50 else {})),
    ("cuts arguments", _ALL, "no JSON", _calls(lambda text: text[:-1])),
    ("sends other arguments", _ALL, "does not allow",
              _calls(lambda text: text.replace("Qorvale", "Rome").replace("Q-7", "CET"))),
    ("sends arguments as an object", _ALL, "a tool call that is none", _calls(json.loads)),
    ("calls although it must not", ("tool_choice none",), "get_weather is called",
              _instead("tool_choice", "required", lambda choice: choice == "none")),
    ("takes a function for any", (NAMED,), "get_weather is called",
              _instead("tool_choice", "required", lambda choice: isinstance(choice, dict))),
    ("drops the form", FORMS, "no JSON",
              _instead("response_format", {"type": "text"}, lambda _: True)),
    ("drops schemas", FORMS[1:], "does not allow",
              _instead("response_format", {"type": "json_object"}, lambda _: True)),
)  # fmt: skip
