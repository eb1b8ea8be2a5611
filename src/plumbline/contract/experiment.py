"""Whether a stage runs inside an experiment of DVC, where the test split is not for use.

`dvc exp run` tries many values. An evaluation in it scores validation alone, unless params say
`evaluation.final: true`.
"""

import os

from plumbline.contract import layout
from plumbline.contract.params import Params

VARIABLE = "DVC_EXP_BASELINE_REV"  # which `dvc exp run` sets for its stages
# In a folder that evaluate depends on. DVC records what a stage depends on when it has ended: with
# this file. `register`, which follows, removes it. So what an experiment computed is never taken
# for the result of `dvc repro`.
MARKER = layout.TRAINING / "experiment"


def is_trial_run(params: Params) -> bool:
    """Whether this process is to leave the test split and the registry alone."""
    return VARIABLE in os.environ and not params.evaluation.final


def set_marker(*, present: bool) -> None:
    """Create the marker, or remove it."""
    if present:
        MARKER.parent.mkdir(parents=True, exist_ok=True)
        MARKER.touch()
    else:
        MARKER.unlink(missing_ok=True)
