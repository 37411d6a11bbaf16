"""What this folder adds to the core, a row each (harness/rows)."""

from sampler_parity.harness.rows import (
    CHECK_MINE,
    CommandRow,
    FolderRow,
    GateRow,
    PageRow,
    RecordRow,
)

_CLI = "programs.cli"
_RULES = "programs.servers.server_rules"

COMMANDS = (
    CommandRow(
        "record",
        70,
        CHECK_MINE,
        "Run a program that uses llama.cpp, or an engine in Python, and record every sampler"
        " chain.",
        _CLI,
        {"ignore_unknown_options": True},
    ),
    CommandRow("check", 80, CHECK_MINE, "Judge a recording.", _CLI),
    CommandRow("why", 90, CHECK_MINE, "Explain why a token of a recording was chosen.", _CLI),
    CommandRow("diff", 95, CHECK_MINE, "Explain why two runs of a model differ.", _CLI),
    CommandRow("audit", 97, CHECK_MINE, "Audit the tokens that a service sent.", _CLI),
    CommandRow(
        "upgrade", 100, CHECK_MINE, "Compare two versions of an engine on your settings.", _CLI
    ),
    CommandRow(
        "settings",
        105,
        CHECK_MINE,
        "Show the chain of samplers that an engine builds from your settings.",
        _CLI,
    ),
    CommandRow(
        "redact", 110, CHECK_MINE, "Write the verdicts of a recording without its tokens.", _CLI
    ),
    CommandRow("server", 160, CHECK_MINE, "Servers: what one does with each parameter.", _CLI),
)

RECORDS = (
    RecordRow(
        "server",
        "programs.servers.server_record:ServerResult",
        ordered=False,
        page=PageRow("programs.pages.servers:SERVERS", 80),
        gate=(
            GateRow(
                "server",
                "rules for results of servers",
                "results of servers",
                f"{_RULES}:ServerRule",
                f"{_RULES}:judge_servers",
                f"{_RULES}:unruled_servers",
            ),
            GateRow(
                "server_not_worse",
                "rules for servers against the baseline bundle",
                "",
                f"{_RULES}:ServerNotWorseRule",
                f"{_RULES}:judge_servers_not_worse",
            ),
        ),
        refused=f"{_RULES}:refused",
        compared="programs.servers.server_verdicts:compared",
    ),
)

SUITES = ("programs.upgrade.suite:written_suite",)

FOLDERS = (
    FolderRow("*.events", "a recording", "programs.pages.recording:write_recording", "diff"),
)
