"""What an evaluation measured, kept in this checkout for the next one.

A limit of a gate changes no answer: where everything else is as it was, only gates are asked again.
Who asks the same once more, or types `plumbline run --force`, wants it measured again.
"""

import json
import os
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.machine import read_cpu_name
from plumbline.contract.params import Params
from plumbline.contract.records import Leak
from plumbline.contract.task import Task
from plumbline.contract.task_packages import SOURCES, find_task_folder
from plumbline.evidence.champion import ChampionModel
from plumbline.evidence.document import compute_seal, describe_params, seal_evidence
from plumbline.process.files import digest_path, list_files, publish, read_json_object, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.registry.package.clean_process import count_cpus

if TYPE_CHECKING:
    from plumbline.evidence.gather import Subjects
    from plumbline.evidence.measure import Exhibits
    from plumbline.evidence.records import Measurements

FACTS = "facts.json"
# What only gates, pages and the choice of the winner read of params; of tasks none may read it.
NOT_MEASURED = ("card",)
LIMITS = (
    "floor", "min_gain_over_baseline", "simple_candidate", "champion", "planned_looks",
    "max_test_changes", "max_validation_gap", "max_detectable_difference", "min_slice_rows",
    "max_slice_loss", "max_leakage", "max_calibration_error", "min_behaviour",
)  # fmt: skip
BUDGETS = ("one_p95_ms", "batch_p95_ms", "rss_mb", "bundle_mb")
PACKAGE = Path(__file__).parents[1]
# What holds libraries to threads or instructions begins with these; KMP_ torch sets itself.
VARIABLES = ("ATEN_", "DNNL_", "GOMP_", "MKL_", "OMP_", "ONEDNN_", "OPENBLAS_")


@dataclass(frozen=True)
class Kept:
    """What the last evaluation left, which holds under the conditions of now."""

    facts: Mapping[str, Any]  # as evidence.json has them
    exhibits: Mapping[str, Any]  # winner, metrics, flips, golden, machine
    champion: Mapping[str, Any] | None  # whose answers are among the scores, as it says itself
    tables: Sequence[Sequence[str]]  # kind, name, split and title of each, by its number

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """The leaks that were found."""
        return tuple(Leak(**leak) for leak in self.facts["data"]["leaks"])


def find_kept(
    conditions: Mapping[str, Any], question: Mapping[str, Any], bundles: Mapping[str, str]
) -> Kept | None:
    """Return what the last evaluation here measured, if all that it depends on is the same.

    None too where it was asked the same `question`, or where a file of it is damaged. BundleError
    where one of `bundles` is not what its seal says.
    """
    try:
        record = read_json_object(layout.MEASURED / FACTS)
        files = {name: digest_path(layout.MEASURED / name) for name in record["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if record.get("seal") != compute_seal(record) or files != record["files"]:
        return None
    if record.get("conditions") != conditions or record.get("question") == question:
        return None
    for name, digest in bundles.items():
        bundle.require_digest(layout.locate_bundle(name), digest)
    return Kept(record["facts"], record["exhibits"], record["champion"], record["tables"])


def keep(
    subjects: "Subjects",
    facts: Mapping[str, Any],
    measured: "Measurements",
    exhibits: "Exhibits",
) -> None:
    """Keep what was measured, in place of what was kept before.

    Scores and the reference of drift are in reports/ already. OSError, ValueError or TypeError
    where a file cannot be written, as of a table that has texts and numbers in a column.
    """
    layout.MEASURED.parent.mkdir(exist_ok=True)
    champion, winner = subjects.champion, exhibits.candidates[0]
    with make_aside_folder(layout.MEASURED.parent, layout.MEASURED.name) as aside:
        for path in (layout.PREDICTIONS, layout.DRIFT_REFERENCE):
            shutil.copyfile(path, aside / path.name)
        tables: list[list[str]] = []
        for key, scores in measured.scores.scores.items():
            for title, table in scores.tables.items():
                table.to_parquet(aside / f"{len(tables)}.parquet", index=False)
                tables.append([*key, title])
        record = {
            "conditions": subjects.conditions,
            "question": describe_question(subjects.params, champion),
            "facts": facts,
            "exhibits": {
                "winner": winner.name,
                "metrics": list(winner.test.metrics),  # in the order of the task
                "flips": exhibits.flips,
                "golden": exhibits.golden,
                "machine": exhibits.machine,
            },
            "champion": champion and champion.describe_answers(),
            "tables": tables,
            "files": {path.name: digest_path(path) for path in aside.iterdir()},
        }
        write_json(aside / FACTS, seal_evidence(record))
        publish(aside, layout.MEASURED)


def describe_question(params: Params, champion: ChampionModel | None) -> dict[str, Any]:
    """Describe what an evaluation is asked: asked the same again, it is to measure again."""
    return {"params": describe_params(params), "champion": champion and champion.bundle}


def describe_conditions(
    params: Params, task: Task[Params], bundles: Mapping[str, str], digests: Mapping[str, str]
) -> dict[str, Any]:
    """Describe in plain values all that measurements depend on, but for the champion's."""
    values = describe_params(params)
    for name in NOT_MEASURED:
        values.pop(name)
    limits = {name: value for name, value in values["evaluation"].items() if name not in LIMITS}
    budget = {name: value for name, value in limits["budget"].items() if name not in BUDGETS}
    return {
        "params": values | {"evaluation": limits | {"budget": budget}},
        "task": repr(task),
        "bundles": dict(bundles),
        "data": {name: digest for name, digest in digests.items() if name != "params"},
        "code": {str(path): digest_path(path) for path in _list_code(task.name)},
        "packages": _list_packages(),
        "machine": [sys.version, read_cpu_name(), count_cpus()],
        "variables": {
            name: value for name, value in os.environ.items() if name.startswith(VARIABLES)
        },
    }


def _list_code(task: str) -> list[Path]:
    """List the files of plumbline, of this repository, and of a task that is installed."""
    folders = [PACKAGE, SOURCES]
    of_task = find_task_folder(task)
    if of_task is not None:
        folders.append(of_task)
    return list_files(folders)


def _list_packages() -> dict[str, str]:
    """Return the versions that Python imports; one that can be edited is never the same."""
    packages: dict[str, str] = {}
    for each in metadata.distributions():
        try:
            name, version = str(each.name), str(each.version)
        except ModuleNotFoundError:  # of an installation that was interrupted
            continue
        origin = json.loads(each.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable") and name != "plumbline":
            version = secrets.token_hex()
        packages.setdefault(name, version)
    return packages
