"""tsampler: the sampler of @lloyal-labs/tsampler 0.2.0, from its documentation.

The package was not available. Every statement here is from the documentation or, where it is silent
or contradicts itself, a reading; the modules name each. README.md lists the consequences: where it
equals llama.cpp and where it does not.

    history    TokenHistoryTracker, penalties        filters    the filters and the draw
    sample     sampleWithStrategy, greedy            metrics    surprisal, entropy, perplexity
    workspace  how buffers grow                      xoroshiro  the random numbers
    stages     all of it as stages of a chain; exp and log are V8's (engines/shared/v8_math.py)
Suite: engines/tsampler/suites/tsampler/
"""

from sampler_parity.engines.tsampler.model.stages import STAGES

__all__ = ["STAGES"]
