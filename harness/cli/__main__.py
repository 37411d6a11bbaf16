"""`python -m sampler_parity.harness.cli`: the command line where its script is not installed."""

from sampler_parity.harness.cli.app import main

main()
