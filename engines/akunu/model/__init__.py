"""Akunu's two sampling pipelines and their distributions.

    pipeline      the CPU pipeline                    gumbel_max    the GPU's Gumbel-max path
    bisection     its top-p by bisection              distribution  exact distributions of both
Suites: engines/akunu/suites
"""

from sampler_parity.engines.akunu.model.gumbel_max import AkunuGumbel
from sampler_parity.engines.akunu.model.pipeline import Akunu

STAGES = {
    "akunu": Akunu,
    "akunu_gumbel": AkunuGumbel,
}
