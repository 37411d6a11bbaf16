"""The command `demo`."""


def demo() -> None:
    """Show a wrong top_p and llama.cpp's on one row: the token that differs, and why.

    It needs no compiler, no network and no model, and takes a few seconds.

    Examples:
      sampler-parity demo

    Exit status: 0.
    """
    from sampler_parity.functions.demo import story
    from sampler_parity.harness.cli.output import print_line

    for line in story():
        print_line(line)
