"""What `plumbline selftest` plants in a policy, and the small pipeline it does so in.

It has four agents and a conditional logit, which is solved in seconds.
"""

from pathlib import Path

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.answer_consensus.data.storage import read_answers, write_answers

PARAMS = Path(__file__).with_name("params.yaml")
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


FAULTS = (
    Fault("questions of train's templates in test", "leakage", "refuse", _plant_shared_groups),
)
