"""The command line `sampler-parity`. Exit status: 0 met, 1 not met, 2 usage or set-up error.

The modules of this room hold the commands: their options, and what they print. What a command works
with is imported as it begins, so that another does not wait for it.
"""

import sys

import typer

from sampler_parity.harness.cli import builds, bundles, gate, golden, measure, run, trie
from sampler_parity.harness.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Checks LLM token samplers against a reference, to the bit.",
)

app.command("run")(run.run_command)
app.command("explain")(bundles.explain)
app.command("report")(bundles.report)
app.command("compare")(bundles.compare)
app.command("gate")(gate.gate_command)
app.command("backends")(builds.backends)
app.command("capture")(golden.capture)
app.command("calibrate")(measure.calibrate)
app.command("timing-selfcheck")(measure.timing_selfcheck)
app.command("trie-bench")(trie.trie_bench)
app.command("selftest")(measure.selftest)
app.command("lint")(golden.lint)
app.add_typer(bundles.history_app, name="history")
app.add_typer(golden.golden_app, name="golden")
app.add_typer(builds.builds_app, name="builds")
app.add_typer(builds.adapter_app, name="adapter")


def main() -> None:
    """Entry point: every InputError is one line on stderr and exit status 2."""
    try:
        app()
    except InputError as error:
        print(f"sampler-parity: {error}", file=sys.stderr)
        sys.exit(2)
    except RuntimeError as error:
        from concurrent.futures import BrokenExecutor  # loads more than all of this room

        if not isinstance(error, BrokenExecutor):
            raise
        print("sampler-parity: a process of the run died: run with --resume", file=sys.stderr)
        sys.exit(2)
