"""The command `sampler-parity`, and `python -m sampler_parity.harness.cli`.

Ctrl-C is one line while modules are imported, too: so nothing is imported before `main`.
"""

import sys


def main() -> None:
    try:
        from sampler_parity.harness.cli.app import main as run_app
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("sampler-parity: interrupted\n")
        sys.exit(130)
    run_app()


if __name__ == "__main__":
    main()
