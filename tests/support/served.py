"""Bundles of checked servers."""

from pathlib import Path

from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.report_bundles import read_back, run_info

CURL = 'curl http://127.0.0.1:1/completion -d \'{"prompt": [' + "4090, " * 80 + "1]}'"


def asked(name: str, **fields: object) -> ServerResult:
    fields = {"group": "parameter", "verdict": "honoured", "evidence": "the greedy text", **fields}
    return ServerResult.model_validate(
        {"id": f"mine/{name}", "server": "mine", "name": name, "curl": CURL, "got": "a", **fields}
    )


def servers_in(folder: Path) -> Path:
    results = [
        asked("top_k"),
        asked("min_p", verdict="ignored"),
        asked("top_p", verdict="clamped", required=["clamped"], silent=["wrong type"]),
        asked("seed", verdict="skipped", evidence="no seed repeats"),
        asked("penalties", group="exact"),
        asked("1 client", group="speed"),
    ]
    return read_back(folder, run_info("mine"), [], results).folder
