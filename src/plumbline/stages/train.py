"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from plumbline import bundle
from plumbline.contract import layout, trainings
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.machine import describe_machine
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.process import ranks
from plumbline.process.dvc_lock import refuse_changed_params
from plumbline.process.files import (
    digest_path,
    publish,
    read_json,
    read_validation,
    write_aside,
    write_json,
)
from plumbline.process.leftovers import make_aside_folder
from plumbline.tracking.dataset_facts import describe_dataset
from plumbline.tracking.records import FINISHED, OWN, RUNNING, RunFacts
from plumbline.tracking.stage_runs import show_progress
from plumbline.training.checkpoint_folders import remove_checkpoints

TEST = "test"  # the split whose answers decide


def train(params: Params, task: Task[Params], candidate: str) -> None:
    """Write models/<candidate>/, with what it was trained, and reports/training/<candidate>.csv.

    With `seeds`, models/<candidate>.seeds/ has the trainings after the first; else it is empty. If
    it is killed and run again, it continues from its last checkpoint.
    """
    refuse_unvalidated()
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(layout.CHECKPOINTS.parent, "train") as examples:
        link_all_but_test(layout.EXAMPLES, examples)
        (layout.MODELS / trainings.name_seeds(candidate)).mkdir(parents=True, exist_ok=True)
        if len(trainings.list_trainings(params, candidate)) > 1:
            _learn_seeds(params, task, candidate, examples)
        else:

            def show_curve() -> None:
                show_progress(OWN.get(), describe_run(RUNNING, params, task, candidate))

            learn(params, task, candidate, examples, must_learn=True, on_epoch=show_curve)


def describe_run(status: str, params: Params, task: Task[Params], candidate: str) -> RunFacts:
    """Describe the trainings of a candidate: its curves, and what each bundle is."""
    facts = RunFacts()
    for seed, name in trainings.list_trainings(params, candidate).items():
        prefix = "" if name == candidate else f"seed/{seed}/"
        describe_training(facts, params, task, name, status, prefix)
        if status == FINISHED:
            folder = layout.locate_bundle(name)
            facts.tags[f"{prefix}plumbline.bundle"] = bundle.digest(folder)
            facts.metrics[f"{prefix}bundle/num_bytes"] = bundle.num_bytes(folder)
            facts.add_file(folder / bundle.SEAL, f"{prefix}bundle")
    return facts


def describe_training(
    facts: RunFacts, params: Params, task: Task[Params], name: str, status: str, prefix: str = ""
) -> None:
    """Add what a training is about, which leaves the bundle `name`, and how it went.

    The names of its metrics begin with `prefix`.
    """
    candidate = trainings.name_candidate(name).removeprefix(layout.CONTROL)
    facts.add_curve(trainings.locate_curve(name), prefix)
    if not prefix:
        training = params.training.model_dump(mode="json")
        facts.params = {"candidate": name, "seed": params.seed, "training": training}
        facts.params |= params.candidates[candidate].model_dump(mode="json")
    if status != FINISHED:
        return
    if not prefix:
        hardware = read_json(trainings.locate_hardware(name))
        if hardware["precision"]:  # something was iterated
            facts.params |= {key: hardware[key] for key in ("device", "precision", "processes")}
        facts.datasets.append(describe_dataset(task.name, "training"))
        facts.add_file(trainings.locate_curve(name))
    speed = trainings.read_speed(name)
    facts.metrics |= {f"{prefix}{key}": value for key, value in speed.items()}


def link_all_but_test(examples: Path, target: Path) -> None:
    """Give `target` the files of `examples` without those of the test split (`test`, `test.*`).

    Who learns never gets the answers that decide. Raises DataError where no file is of the test
    split alone: then another file holds it.
    """
    if not [*examples.rglob(TEST), *examples.rglob(f"{TEST}.*")]:
        raise DataError(
            f"{examples}: no file {TEST}.*, so another file holds the test split, and a candidate "
            "must not learn from it; run `dvc repro ingest`, or let the task write one file a split"
        )
    hidden = shutil.ignore_patterns(TEST, f"{TEST}.*")
    shutil.copytree(examples, target, ignore=hidden, copy_function=_link, dirs_exist_ok=True)


def learn(
    params: Params,
    task: Task[Params],
    candidate: str,
    examples: Path,
    *,
    must_learn: bool,
    keep_checkpoints: bool = False,
    on_epoch: Callable[[], None] | None = None,
) -> str:
    """Train one candidate on a folder of examples; publish its sealed bundle and learning curve.

    Its checkpoints are removed, unless they are to be kept. `on_epoch` is called after each epoch.
    Returns the bundle's digest; "" in the other processes that train with the first one.
    """
    announce("loads libraries and examples")
    learner = task.models.build_learner(params, candidate, examples)
    if learner.solve:
        if not ranks.is_main():
            return ""
        learner.solve()
        trainings.locate_speed(candidate).unlink(missing_ok=True)
        with write_aside(trainings.locate_curve(candidate)) as aside:
            aside.write_text("epoch\n", encoding="utf-8")  # nothing was iterated
        return _publish(learner, params, task, candidate, "cpu", None)
    from plumbline.training import fitting  # seconds of import that a closed form need not wait for

    hardware = fitting.fit(learner, params, candidate, must_learn=must_learn, on_epoch=on_epoch)
    if not ranks.is_main():
        return ""
    digest = _publish(learner, params, task, candidate, hardware.device, hardware.precision)
    if not keep_checkpoints:
        refuse_changed_params()
        remove_checkpoints(candidate)
    return digest


def refuse_unvalidated() -> None:
    """Raise RejectedError for data that was not validated, or that changed since.

    DataError where the report of validate is damaged.
    """
    if not layout.VALIDATION.exists():
        raise RejectedError(
            f"{layout.VALIDATION} is missing, so nothing was validated; run `dvc repro validate`"
        )
    report = read_validation()
    for name, path in (("manifest", layout.MANIFEST), ("examples", layout.EXAMPLES)):
        if report.get(name) != digest_path(path):
            raise RejectedError(f"{path} is not what was validated; run `dvc repro validate`")
    if report.get("accepted") is not True:
        raise RejectedError(f"validate rejected {layout.MANIFEST}; see {layout.VALIDATION_PAGE}")


def _link(path: str, target: str) -> None:
    try:
        os.link(path, target)
    except OSError:  # another disk, or one without links
        shutil.copyfile(path, target)


def _learn_seeds(params: Params, task: Task[Params], candidate: str, examples: Path) -> None:
    """Train the candidate once with each of its seeds.

    Checkpoints are kept until the last one has come to its end: after a kill those that were
    finished are written again from them.
    """
    for seed, name in trainings.list_trainings(params, candidate).items():
        training = trainings.name_unfinished(name)
        own = {training: params.candidates[candidate]}
        seeded = params.model_copy(update={"seed": seed, "candidates": own})
        digest = learn(seeded, task, training, examples, must_learn=True, keep_checkpoints=True)
        if digest and name != candidate:
            publish(layout.locate_bundle(training), layout.locate_bundle(name))
            for locate in (trainings.locate_curve, trainings.locate_hardware):
                publish(locate(training), locate(name))
    refuse_changed_params()
    remove_checkpoints(candidate)


def _publish(
    learner: Learner,
    params: Params,
    task: Task[Params],
    candidate: str,
    device: str,
    precision: str | None,
) -> str:
    """Publish the sealed bundle, whole, and return its digest.

    What it was trained with is recorded beside it: equal weights are equal bundles, wherever they
    were trained. A closed form has no precision to choose.
    """
    layout.MODELS.mkdir(exist_ok=True)
    with make_aside_folder(layout.MODELS, candidate) as aside:
        announce("writes the graph that answers")
        learner.save(aside)
        source = params.describe_source()
        digest = bundle.seal(aside, task, trainings.name_candidate(candidate), source)
        publish(aside, layout.locate_bundle(candidate))
    facts = {"device": device, "precision": precision, "processes": ranks.get_world_size()}
    write_json(trainings.locate_hardware(candidate), describe_machine() | facts)
    return digest
