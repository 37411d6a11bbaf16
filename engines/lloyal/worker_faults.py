"""Faults of lloyal.node; lloyal.mjs plants them in the package."""

from sampler_parity.harness.faults.engine_faults import Fault

FAULTS = [
    Fault(
        "lloyal/min_p-left-out",
        "min-p has no effect.",
        case="lloyal/temperature-last",
        stage="lloyal",
    ),
    Fault(
        "lloyal/window-of-64", "Every penalty's window is 64.", case="lloyal/window", stage="lloyal"
    ),
    Fault("lloyal/another-seed", "The seed is one more.", case="lloyal/state", stage="lloyal"),
    Fault(
        "lloyal/temperature-zero-draws",
        "Temperature 0 is taken for 1 and draws.",
        case="lloyal/greedy-every-time",
        stage="lloyal",
    ),
    Fault(
        "lloyal/accepts-nothing",
        "A branch has no history.",
        case="lloyal/greedy-with-penalties",
        stage="lloyal",
    ),
]
