"""control: a candidate is trained on shuffled answers; what it then knows shows a leak."""

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.leftovers import make_aside_folder
from plumbline.stages.train import describe_training, learn, refuse_unvalidated
from plumbline.tracking.records import RunFacts


def control(params: Params, task: Task[Params], candidate: str) -> None:
    """Write models/control.<candidate>/ and what is beside a bundle, by the code of `train`."""
    refuse_unvalidated()
    name = layout.name_control(candidate)
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(layout.CHECKPOINTS.parent, "control") as examples:
        max_rows = params.control.max_rows
        task.data.shuffle_labels(layout.EXAMPLES, examples, params.seed, max_rows)
        shuffled = params.model_copy(update={"candidates": {name: params.candidates[candidate]}})
        learn(shuffled, task, name, examples, must_learn=False)


def describe_run(status: str, params: Params, task: Task[Params], candidate: str) -> RunFacts:
    """Describe the training, of which no model is kept."""
    facts = RunFacts()
    describe_training(facts, params, task, layout.name_control(candidate), status)
    return facts
