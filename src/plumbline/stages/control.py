"""control: a candidate is trained on shuffled answers; what it then knows shows a leak."""

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.leftovers import make_aside_folder
from plumbline.stages.train import learn, refuse_unvalidated
from plumbline.tracking import run_log


def control(params: Params, task: Task[Params], candidate: str) -> None:
    """Write models/control.<candidate>/ and what is beside a bundle, by the code of `train`."""
    refuse_unvalidated()
    name = layout.name_control(candidate)
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(layout.CHECKPOINTS.parent, "control") as examples:
        max_rows = params.control.max_rows
        task.data.shuffle_labels(layout.EXAMPLES, examples, params.seed, max_rows)
        shuffled = params.model_copy(update={"candidates": {name: params.candidates[candidate]}})
        with run_log.track_run(params, "control", candidate) as log:
            log.log_dataset(task.name, "training")
            learn(shuffled, task, name, examples, log, must_learn=False)
