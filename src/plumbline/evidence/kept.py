"""What an evaluation measured, kept in this checkout: a limit of a gate changes no answer.

Where all that measurements depend on is as it was, the next evaluation asks the gates alone. Who
asks the same once more, or types `plumbline run --force`, wants it measured again.
"""

import os
import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.dotted_keys import flatten
from plumbline.contract.machine import read_cpu_name
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.contract.task_packages import SOURCES, find_task_folder
from plumbline.evidence.choice import choose, put_first
from plumbline.evidence.document import compute_seal, describe_params, seal_evidence
from plumbline.evidence.gather import Subjects
from plumbline.evidence.judge import read_candidate
from plumbline.evidence.measure import Exhibits, complete_candidate
from plumbline.evidence.records import Measurements, read_measurements
from plumbline.process.files import digest_path, list_files, publish, read_json_object, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.registry.package.clean_process import count_cpus

PACKAGE = Path(__file__).parents[1]
# What only gates, pages and the choice of the winner read of params; of tasks none may read it.
LIMITS = ("card.", *(f"evaluation.{name}." for name in (
    "floor", "min_gain_over_baseline", "simple_candidate", "champion", "planned_looks",
    "max_test_changes", "max_validation_gap", "max_detectable_difference", "min_slice_rows",
    "max_slice_loss", "groups", "max_leakage", "max_calibration_error", "min_behaviour",
    "budget.one_p95_ms", "budget.batch_p95_ms", "budget.rss_mb", "budget.bundle_mb",
)))  # fmt: skip


def keep(
    subjects: Subjects,
    task: Task[Params],
    facts: Mapping[str, Any],
    measured: Measurements,
    exhibits: Exhibits,
) -> None:
    """Keep what was measured, in place of what was kept before.

    `facts` are those of evidence.json; scores and the reference of drift are in reports/ already.
    OSError, ValueError or TypeError where a file cannot be written, as of a table that has texts
    and numbers in a column.
    """
    layout.MEASURED.parent.mkdir(exist_ok=True)
    with make_aside_folder(layout.MEASURED.parent, layout.MEASURED.name) as aside:
        for path in (layout.PREDICTIONS, layout.DRIFT_REFERENCE):
            shutil.copyfile(path, aside / path.name)
        tables: list[list[str]] = []
        for key, scores in measured.scores.scores.items():
            for title, table in scores.tables.items():
                table.to_parquet(aside / f"{len(tables)}.parquet", index=False)
                tables.append([*key, title])
        record = {
            "conditions": _describe_conditions(subjects, task),
            "asked": describe_params(subjects.params),
            "facts": facts,
            "winner": exhibits.candidates[0].name,
            "exhibits": {
                "other_metrics": exhibits.other_metrics,
                "flips": exhibits.flips,
                "golden": exhibits.golden,
                "machine": exhibits.machine,
            },
            "tables": tables,
            "files": {path.name: digest_path(path) for path in aside.iterdir()},
        }
        write_json(aside / layout.MEASURED_FACTS.name, seal_evidence(record))
        publish(aside, layout.MEASURED)


def restore(subjects: Subjects, task: Task[Params]) -> tuple[Measurements, Exhibits] | None:
    """Return what the last evaluation here measured, as `measure` does; None where it may differ.

    So it is too where these limits choose another winner, whose forms were never measured.
    BundleError where a bundle is not what its seal says.
    """
    record = _read_kept()
    if record is None or record["conditions"] != _describe_conditions(subjects, task):
        return None
    if record["asked"] == describe_params(subjects.params):
        return None
    facts, exhibits = record["facts"], record["exhibits"]
    measured = read_measurements(facts, task.metric, layout.MEASURED / layout.PREDICTIONS.name)
    scores = measured.scores.scores
    for number, (kind, name, split, title) in enumerate(record["tables"]):
        key: Any = (kind, name, split)
        scores[key].tables[title] = pd.read_parquet(layout.MEASURED / f"{number}.parquet")
    names = subjects.params.candidates
    candidates = [read_candidate(measured, subjects.params, name) for name in names]
    choice = choose(candidates, task.metric, subjects.params.evaluation)
    if choice.winner != record["winner"]:
        return None
    for name, digest in subjects.bundles.items():
        bundle.require_digest(layout.locate_bundle(name), digest)
    announce("takes what the last evaluation measured (`plumbline run --force` measures again)")
    champion, now = measured.champion, subjects.champion
    if champion and now:
        known = {name: getattr(now, name) for name in ("model", "version", "lag", "changes")}
        champion = replace(champion, **known)
    data = replace(subjects.data, leaks=measured.data.leaks)
    return replace(measured, data=data, champion=champion), Exhibits(
        candidates=[complete_candidate(one, scores) for one in put_first(choice, candidates)],
        inputs=task.data.read_inputs(layout.EXAMPLES, "validation"),
        reference=pd.read_parquet(layout.MEASURED / layout.DRIFT_REFERENCE.name),
        **exhibits,
    )


def _read_kept() -> dict[str, Any] | None:
    """Read the list of what was kept; None where that or a file of it is missing or damaged."""
    try:
        record = read_json_object(layout.MEASURED_FACTS)
        files = {name: digest_path(layout.MEASURED / name) for name in record.get("files") or ()}
        is_whole = record.get("seal") == compute_seal(record) and files == record["files"]
    except (OSError, ValueError, TypeError):
        return None
    return record if is_whole else None


def _describe_conditions(subjects: Subjects, task: Task[Params]) -> dict[str, Any]:
    """Describe in plain values all that measurements depend on."""
    values = flatten(describe_params(subjects.params))
    digests, champion = subjects.data.digests, subjects.champion
    of_task = find_task_folder(task.name)
    code = list_files([PACKAGE, SOURCES, *([of_task] if of_task else [])])
    return {
        "params": {key: value for key, value in values if not f"{key}.".startswith(LIMITS)},
        "task": repr(task),
        "bundles": dict(subjects.bundles),
        "champion": champion and [champion.bundle, dict(champion.renames)],
        "data": {name: digest for name, digest in digests.items() if name != "params"},
        "code": {str(path): digest_path(path) for path in code},
        "packages": _list_packages(),
        "machine": [sys.version, read_cpu_name(), count_cpus()],
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _list_packages() -> list[str]:
    """List what is installed; an editable package, whose code may change, is never the same."""
    names = []
    for folder in sys.path:
        for package in Path(folder).glob("*.dist-info"):
            origin = package / "direct_url.json"
            is_own = package.name.startswith("plumbline-")  # its code is compared
            if not is_own and origin.is_file() and '"editable"' in origin.read_text():
                names.append(secrets.token_hex())
            names.append(package.name)
    return sorted(names)
