"""The commands by name: each is loaded when it is used, and `--help` loads none.

The help of the whole command line is plain text: the library for boxes takes longer to load than
all else that is needed for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

from sampler_parity.harness.cli.output import print_data
from sampler_parity.harness.rows import joined, load

COMMANDS = {row.name: row for row in sorted(joined("COMMANDS"), key=lambda row: row.place)}


def registered(*names: str) -> typer.Typer:
    """Load commands, and return them as one application."""
    app = typer.Typer()
    for name in names:
        row, file = COMMANDS[name], name.replace("-", "_")
        module = load(f"{row.package}.{file}")
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
