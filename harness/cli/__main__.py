"""The command `sampler-parity`, and `python -m sampler_parity.harness.cli`.

Ctrl-C is one line while modules are imported, too: so nothing is imported before `main`. So is a
second Ctrl-C that comes before the first is answered.
"""

import sys


def main() -> None:
    try:
        from sampler_parity.harness.cli.app import main as run_app

        run_app()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("sampler-parity: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
