"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import os
import shutil
from pathlib import Path

from plumbline import bundle
from plumbline.contract import layout, trainings
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.listing import has_listing, read_listing
from plumbline.contract.machine import describe_machine
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.contract.validation_report import read_validation
from plumbline.process import ranks
from plumbline.process.files import digest_path, publish, write_aside, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.sources.shard_writer import write_listing
from plumbline.sources.shards import verify_files
from plumbline.tracking import run_log
from plumbline.tracking.seed_log import SeedLog
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
        with run_log.track_run(params, "train", candidate) as log:
            log.log_dataset(task.name, "training")
            (layout.MODELS / trainings.name_seeds(candidate)).mkdir(parents=True, exist_ok=True)
            if len(trainings.list_trainings(params, candidate)) > 1:
                _learn_seeds(params, task, candidate, examples, log)
                return
            digest = learn(params, task, candidate, examples, log, must_learn=True)
            if digest:
                _log_bundle(log, params, candidate, digest)


def link_all_but_test(examples: Path, target: Path) -> None:
    """Give `target` the files of `examples` without those of the test split (`test.*`).

    Who learns never gets the answers that decide. Raises DataError where no file is of the test
    split alone: then another file holds it; and for a shard that is not what its listing says.
    """
    if has_listing(examples):
        _share_shards(examples, target)
        return
    files = sorted(path for path in examples.rglob("*") if path.is_file())
    kept = [path for path in files if path.name.partition(".")[0] != TEST]
    if len(kept) == len(files):
        raise DataError(
            f"{examples}: no file {TEST}.*, so another file holds the test split, and a candidate "
            "must not learn from it; run `dvc repro ingest`, or let the task write one file a split"
        )
    for path in kept:
        linked = target / path.relative_to(examples)
        linked.parent.mkdir(parents=True, exist_ok=True)
        _link(path, linked)


def learn(
    params: Params,
    task: Task[Params],
    candidate: str,
    examples: Path,
    log: run_log.RunLog,
    *,
    must_learn: bool,
    keep_checkpoints: bool = False,
) -> str | None:
    """Train one candidate on a folder of examples; publish its sealed bundle and learning curve.

    Its checkpoints are removed, unless they are to be kept. Returns the bundle's digest; None in
    the other processes that train with the first one.
    """
    config = params.candidates[candidate].model_dump(mode="json")
    training = params.training.model_dump(mode="json")
    log.log_params({"candidate": candidate, "seed": params.seed, "training": training} | config)
    announce("loads libraries and examples")
    learner = task.models.build_learner(params, candidate, examples)
    if learner.solve:
        if not ranks.is_main():
            return None
        learner.solve()
        with write_aside(trainings.locate_curve(candidate)) as aside:
            aside.write_text("epoch\n", encoding="utf-8")  # nothing was iterated
        return _publish(learner, task, candidate, "cpu", None)
    from plumbline.training import fitting  # seconds of import that a closed form need not wait for

    hardware = fitting.fit(learner, params, candidate, log, must_learn=must_learn)
    log.draw_learning_curve()
    if not ranks.is_main():
        return None
    digest = _publish(learner, task, candidate, hardware.device, hardware.precision)
    if not keep_checkpoints:
        remove_checkpoints(candidate)
    return digest


def refuse_unvalidated() -> None:
    """Raise RejectedError for data that was not validated, or that changed since.

    DataError where the report of validate is damaged.
    """
    report = read_validation() if layout.VALIDATION.exists() else {}
    for name, path in (("manifest", layout.MANIFEST), ("examples", layout.EXAMPLES)):
        if report.get(name) != digest_path(path):
            raise RejectedError(f"{path} is not what was validated; run `dvc repro validate`")
    if report.get("accepted") is not True:
        raise RejectedError(f"validate rejected {layout.MANIFEST}; see {layout.VALIDATION_PAGE}")


def _share_shards(examples: Path, target: Path) -> None:
    """Give `target` the listing without the test split, and the shards that are in `examples`."""
    listing = read_listing(examples).replace_split(TEST, ())
    verify_files(examples, listing)
    if listing.address is None:
        for shard in listing.shards:
            _link(examples / shard.name, target / shard.name)
    write_listing(target, listing)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # another disk, or one without links
        shutil.copyfile(path, target)


def _learn_seeds(
    params: Params, task: Task[Params], candidate: str, examples: Path, log: run_log.RunLog
) -> None:
    """Train the candidate once with each of its seeds.

    Checkpoints are kept until the last one has come to its end: after a kill those that were
    finished are written again from them.
    """
    digests = {}
    for seed, name in trainings.list_trainings(params, candidate).items():
        training = trainings.name_unfinished(name)
        own = {training: params.candidates[candidate]}
        seeded = params.model_copy(update={"seed": seed, "candidates": own})
        seed_log = log if name == candidate else SeedLog(log, seed)
        digest = learn(
            seeded, task, training, examples, seed_log, must_learn=True, keep_checkpoints=True
        )
        if digest and name != candidate:
            publish(layout.locate_bundle(training), layout.locate_bundle(name))
            for locate in (trainings.locate_curve, trainings.locate_hardware):
                publish(locate(training), locate(name))
        if digest:
            digests[name] = digest
    remove_checkpoints(candidate)
    for name, digest in digests.items():
        _log_bundle(log, params, name, digest)


def _log_bundle(log: run_log.RunLog, params: Params, name: str, digest: str) -> None:
    """Log the bundle as a model of MLflow: its seal names every file, DVC keeps the files."""
    folder = layout.locate_bundle(name)
    candidate = trainings.name_candidate(name)
    model = candidate
    prefix = ""
    if name != candidate:
        model = f"{candidate}-seed-{folder.name}"
        prefix = f"seed/{folder.name}/"
    log.log_artifact(folder / bundle.SEAL, f"{prefix}bundle")
    log.log_metrics({f"{prefix}bundle/num_bytes": bundle.num_bytes(folder)})
    facts = params.candidates[candidate].model_dump(mode="json")
    log.log_model(model, digest, facts, prefix)


def _publish(
    learner: Learner, task: Task[Params], candidate: str, device: str, precision: str | None
) -> str:
    """Publish the sealed bundle, whole, and return its digest.

    What it was trained with is recorded beside it: equal weights are equal bundles, wherever they
    were trained. A closed form has no precision to choose.
    """
    layout.MODELS.mkdir(exist_ok=True)
    with make_aside_folder(layout.MODELS, candidate) as aside:
        announce("writes the graph that answers")
        learner.save(aside)
        digest = bundle.seal(aside, task, trainings.name_candidate(candidate))
        publish(aside, layout.locate_bundle(candidate))
    facts = {"device": device, "precision": precision, "processes": ranks.get_world_size()}
    write_json(trainings.locate_hardware(candidate), describe_machine() | facts)
    return digest
