"""What `plumbline selftest` plants in a policy, and the small pipeline it does so in.

It has four agents and a conditional logit, which is solved in seconds.
"""

from pathlib import Path

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.answer_consensus.data.storage import read_answers, write_answers

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
WEAKER = {"mean_cost: 0.0140": "mean_cost: 0.0080"}


def _plant_shared_groups(site: FaultSite) -> None:
    """Give a tenth of test the groups of questions of train."""
    for split in ("train", "test"):
        answers = read_answers(layout.EXAMPLES, split)
        size = len(read_answers(layout.EXAMPLES, "test").ids) // 10
        answers.groups[:size] = [f"template {number}" for number in range(size)]
        write_answers(layout.EXAMPLES, split, answers)
    site.renew_manifest()
    site.accept_data()


def _plant_extravagance(site: FaultSite) -> None:
    """Ask every agent, at twice the price."""
    site.wrap_predictor(HERE / "faulty_predictor.py", {})


FAULTS = (
    Fault("questions of train's templates in test", "leakage", "refuse", _plant_shared_groups),
    Fault("a policy that asks everyone", "budget", "refuse", _plant_extravagance),
)
