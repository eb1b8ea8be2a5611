"""What `plumbline selftest` plants in a designer of filters, and where it does so.

The small pipeline has low-passes, and a network that is trained in seconds.
"""

from dataclasses import replace
from pathlib import Path

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.filter_design.data.storage import read_specifications, write_specifications

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
# The sound candidate and its baselines have two calls of the simulator, the first champion one.
WEAKER = {"calls: 2, ": "calls: 1, ", "cost: 2}": "cost: 1}"}
DECADE = 10.0


def _plant_decades_in_test(site: FaultSite) -> None:
    """Put specifications of train in place of a tenth of test, at ten times the impedance."""
    train = read_specifications(layout.EXAMPLES, "train")
    test = read_specifications(layout.EXAMPLES, "test")
    size = min(len(test) // 10, len(train))
    copies = [replace(one, z0_ohm=DECADE * one.z0_ohm) for one in train[:size]]
    write_specifications(layout.EXAMPLES, "test", [*copies, *test[size:]])
    site.renew_manifest()
    site.accept_data()


def _plant_claims(site: FaultSite) -> None:
    """Say of every mask that it is met, by 146 dB."""
    site.wrap_predictor(HERE / "faulty_predictor.py", {})


FAULTS = (
    Fault(
        "train specifications at ten times the impedance in test",
        "leakage",
        "refuse",
        _plant_decades_in_test,
    ),
    Fault("every mask said to be met by 146 dB", "answers", "refuse", _plant_claims),
)
