"""Read a server's description of itself, and choose the dialect to ask it in."""

import time
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address

_PATHS = ("/props", "/api/version", "/version", "/v1/models")


@dataclass(frozen=True)
class SelfReport:
    """A server's report. dialect: by the paths that answer; "" if unknown. text: in its own words.
    model: the first that it names."""

    dialect: str
    text: str
    model: str


def self_report(address: Address, seconds: float) -> SelfReport:
    """Ask a few paths. seconds: for all of them."""
    until = time.monotonic() + seconds
    answers = {path: json_at(address, path, until - time.monotonic()) for path in _PATHS}
    model = first_model(answers["/v1/models"])
    props, version = answers["/props"], answers["/version"]
    # The specific paths first: several engines also answer /v1/models.
    if props.get("build_info") or "default_generation_settings" in props:
        return SelfReport("llama-server", f"/props: build {props.get('build_info', 'unnamed')}", "")
    if answers["/api/version"].get("version"):
        return SelfReport(
            "ollama", f"/api/version: {answers['/api/version']['version']}", model["id"]
        )
    if version.get("version") and model["owned_by"] == "vllm":
        return SelfReport("vllm", f"/version: vLLM {version['version']}", model["id"])
    owner = model["owned_by"]
    text = f"/v1/models: owned by {owner}" if owner else "nothing"
    if owner == "me":  # llama_cpp/server/app.py
        return SelfReport("llama-cpp-python", text, "")
    return SelfReport("openai" if answers["/v1/models"] else "", text, model["id"])


def dialect_name(address: Address, itself: SelfReport) -> str:
    """Return the name of a dialect. Raises InputError if no path shows it."""
    if not itself.dialect:
        fix = "name its dialect with --dialect"
        raise InputError(address.url, f"none of {', '.join(_PATHS)} answers", fix)
    return itself.dialect


def json_at(address: Address, path: str, seconds: float) -> dict[str, Any]:
    """Return the object that a path answers with; {} without one."""
    try:
        reply = http.ask(address, path, seconds=seconds)
    except http.ServerFailure:
        return {}
    return reply.data if not reply.refused and isinstance(reply.data, dict) else {}


def first_model(models: dict[str, Any]) -> dict[str, str]:
    """Return the name and the owner of the first model of /v1/models."""
    listed = models.get("data")
    first = listed[0] if isinstance(listed, list) and listed else {}
    model = first if isinstance(first, dict) else {}
    return {name: str(model.get(name) or "")[:200] for name in ("id", "owned_by")}
