"""The commands by name: each is loaded when it is used, and `--help` loads none.

The help of the whole command line is plain text: the library for boxes takes longer to load than
all else that is needed for it.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

from sampler_parity.harness.cli.output import print_data

_MINE, _MEASURE, _GATE, _MAINTAIN = "Check mine", "Measure", "Gate", "For maintainers"


class CommandRow(NamedTuple):
    """A command. panel: its part of the help. about: the beginning of its docstring, so that the
    help need not load the command."""

    panel: str
    about: str
    settings: dict[str, Any] = {}


COMMANDS = {
    "init": CommandRow(_MINE, "Write a working adapter with one sampler to fill in."),
    "list": CommandRow(_MINE, "List suites, cases, samplers or backends."),
    "run": CommandRow(_MINE, "Run suites on backends, compare with the reference, write a bundle."),
    "explain": CommandRow(_MINE, "Show every group of failures, the worst first; or a case."),
    "predict": CommandRow(
        _MINE, "Predict from the reference whether a case repeats on other platforms."
    ),
    "repro": CommandRow(_MINE, "Write a program that shows a failing case."),
    "record": CommandRow(
        _MINE,
        "Run a program that uses llama.cpp, or an engine in Python, and record every sampler"
        " chain.",
        {"ignore_unknown_options": True},
    ),
    "check": CommandRow(_MINE, "Judge a recording."),
    "why": CommandRow(_MINE, "Explain why a token of a recording was chosen."),
    "upgrade": CommandRow(_MINE, "Compare two versions of an engine on your settings."),
    "redact": CommandRow(_MINE, "Write the verdicts of a recording without its tokens."),
    "report": CommandRow(_MINE, "Write the report of one or more bundles."),
    "fuzz": CommandRow(_MINE, "Try generated chains, state scripts and hostile logits."),
    "backends": CommandRow(
        _MINE, "List what is configured, what runs here, and why the rest does not."
    ),
    "adapter": CommandRow(_MINE, "For authors of adapters."),
    "server": CommandRow(_MINE, "Servers: what one does with each parameter."),
    "engines": CommandRow(_MINE, "Engines of others, each with its packages."),
    "compare": CommandRow(_MEASURE, "Show how bundles differ."),
    "trie-bench": CommandRow(
        _MEASURE, "Measure what a token trie saves against llama.cpp's grammar."
    ),
    "capture": CommandRow(_MEASURE, "Capture the logits of any model as a fixture."),
    "history": CommandRow(_MEASURE, "Bundles of many dates as a trend."),
    "gate": CommandRow(_GATE, "Judge a bundle by a policy: may this release go out?"),
    "lint": CommandRow(_MAINTAIN, "Check suites, golden provenance and schemas."),
    "selftest": CommandRow(_MAINTAIN, "Run every planted fault as a backend; all must be caught."),
    "calibrate": CommandRow(_MAINTAIN, "Measure what the distribution tests themselves get wrong."),
    "timing-selfcheck": CommandRow(_MAINTAIN, "Measure how often timings mislead here."),
    "builds": CommandRow(_MAINTAIN, "Other builds of llama.cpp."),
    "golden": CommandRow(_MAINTAIN, "The recorded logits and results."),
}


def registered(*names: str) -> typer.Typer:
    """Load commands, and return them as one application."""
    app = typer.Typer()
    for name in names:
        row, file = COMMANDS[name], name.replace("-", "_")
        module = import_module(f"{__package__}.{file}")
        group = getattr(module, f"{file}_app", None)
        if group is not None:
            app.add_typer(group, name=name, rich_help_panel=row.panel)
            continue
        function = getattr(module, f"{file}_command", None) or getattr(module, file)
        settings = row.settings or None
        app.command(name, rich_help_panel=row.panel, context_settings=settings)(function)
    return app


class _Loaded(Mapping[str, Any]):
    """The commands as typer has them, each loaded when it is asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            if name not in COMMANDS:
                raise KeyError(name)
            self._known[name] = get_group(registered(name)).commands[name]
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyCommands(TyperGroup):
    """The whole command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, _Loaded())

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for panel in dict.fromkeys(row.panel for row in COMMANDS.values()):
            with formatter.section(panel):
                rows = [(name, row.about) for name, row in COMMANDS.items() if row.panel == panel]
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write its lines as they are, as far as they fit."""
        formatter.write("\n")
        for line in (self.epilog or "").splitlines():
            formatter.current_indent = len(line) - len(line.lstrip())
            formatter.write_text(line.strip())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            print_data(f"{self.get_help(ctx)}\n")
            ctx.exit(2)
        return super().parse_args(ctx, args)
