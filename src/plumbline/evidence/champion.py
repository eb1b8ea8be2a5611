"""The champion in an evaluation: its predictor, what it was made from, how it answers otherwise."""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.answers import count_differing_rows
from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.contract.records import Scores
from plumbline.contract.task import Columns, Predictor, Task, count_rows
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.document import FORMAT
from plumbline.registry import promotion
from plumbline.registry.reader import journal_check, open_version
from plumbline.registry.reader.run_files import fetch_recorded_file, read_evidence
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.manifests import compare_manifests

FIELD = "label"  # of an output, at any depth
NUM_ROWS = 500  # asked of both where scores hold no answers: their share to within 4 points


@dataclass(frozen=True)
class ChampionOrigin:
    """What a champion was made from, as its evidence says and proves.

    Each is None or empty where the registry does not have it any more.
    """

    lineage: Mapping[str, str]  # the commit
    # By which it is worse than the best champion so far; None too where another metric judged it.
    lag: float | None
    params: Mapping[str, Any] | None
    data_changes: Mapping[str, Any] | None  # since then, as `compare_manifests` counts them


@dataclass(frozen=True)
class Disagreement:
    """How many of `num_rows` rows of the test split two predictors answer differently."""

    num_rows: int
    num_differing: int

    def describe(self) -> dict[str, Any]:
        """Return what evidence says of it: the share, and the number of rows it is of."""
        return {"disagreement": self.num_differing / self.num_rows, "num_rows": self.num_rows}


@dataclass(frozen=True)
class ChampionModel:
    """The registered version that challengers are compared with."""

    model: str
    version: str
    bundle: str  # digest
    predictor: Predictor
    origin: ChampionOrigin


def load_champion(name: str, task: Task[Any], slices: Sequence[str]) -> ChampionModel | None:
    """Load the champion that champion.json names, else the one that the registry has now.

    It is what the journal's entry made champion, or nothing is loaded. None where champion.json
    says so, or where no decision ever made one. Raises RegistryError, BundleError or JournalError
    where the champion cannot be loaded for any other reason. `slices` are the columns by which its
    manifest is compared.
    """
    entry = promotion.find_compared_champion(name)
    if entry is None:
        return None
    with open_version(f"models:/{name}/{entry.version}") as opened:
        journal_check.verify_digests(opened.registered, entry)
        _refuse_other_task(opened.registered, task)
        predictor = opened.load_predictor()
    origin = _read_origin(opened.registered, task, slices)
    return ChampionModel(name, entry.version, entry.bundle, predictor, origin)


def require_format(label: str, evidence: Mapping[str, Any]) -> None:
    """Require that the evidence of a champion has the format of now; else PlumblineError."""
    if evidence.get("format") != FORMAT:
        raise PlumblineError(
            f"{label}: its evidence has format {evidence.get('format')!r}, this version reads "
            f"{FORMAT}; name another registry.model in {layout.PARAMS}: `plumbline run` "
            "evaluates again, and makes a first champion there"
        )


def rename_answers(predictor: Predictor, renames: Mapping[str, str]) -> Predictor:
    """Return a predictor that answers as `predictor`, but calls classes by their new names.

    `renames` maps old names to new ones; names may be exchanged.
    """
    return _RenamingPredictor(predictor, renames) if renames else predictor


def count_disagreement(ours: Scores, theirs: Scores) -> Disagreement | None:
    """Count the rows with different answers; None where the scores hold no answers."""
    one, other = (scores.per_example.get("predicted") for scores in (ours, theirs))
    if one is None or other is None:
        return None
    return Disagreement(len(one), int(np.sum(np.asarray(one) != np.asarray(other))))


def measure_disagreement(
    scores: tuple[Scores, Scores], predictors: tuple[Predictor, Predictor], inputs: Columns
) -> Disagreement:
    """Count the test rows with different answers; both scores are in one order of rows.

    Where the scores hold no answers (`predicted`), both predictors are asked every n-th row, and
    their answers are compared as the server compares those of a canary.
    """
    counted = count_disagreement(*scores)
    if counted is not None:
        return counted
    step = max(1, count_rows(inputs) // NUM_ROWS)
    rows = {name: list(values[::step]) for name, values in inputs.items()}
    answers = [predictor.predict(rows) for predictor in predictors]
    return Disagreement(count_rows(rows), count_differing_rows(*answers))


def _read_origin(
    version: RegisteredVersion, task: Task[Any], slices: Sequence[str]
) -> ChampionOrigin:
    lineage: Mapping[str, str] = {}
    params, data_changes, lag = None, None, None
    with contextlib.suppress(RegistryError):
        evidence = read_evidence(version)
        require_format(version.label, evidence)
        lineage = evidence.get("lineage") or {}
        if _has_same_metric(evidence, task):
            lag = evidence["lag"]
        params, data_changes = _fetch_making(version, evidence, slices)
    return ChampionOrigin(lineage, lag, params, data_changes)


def _has_same_metric(evidence: Mapping[str, Any], task: Task[Any]) -> bool:
    """Whether losses that add up in `evidence` are in the unit of the metric that is chosen now."""
    limits = evidence.get("thresholds") or {}
    if limits.get("metric") != task.chosen.get("metric"):
        return False
    return all(limits.get(key) == value for key, value in task.chosen.items())


def _refuse_other_task(version: RegisteredVersion, task: Task[Any]) -> None:
    name = version.tags.get("plumbline.task", task.name)
    if name != task.name:
        raise PlumblineError(f"{version.label} is of the task {name}, not {task.name}")


def _fetch_making(
    version: RegisteredVersion, evidence: Mapping[str, Any], slices: Sequence[str]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Fetch params.yaml and the manifest of a version, and compare the manifest with that of now.

    RegistryError where one is not there.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        params, manifest = (
            fetch_recorded_file(version, evidence, path, Path(private))
            for path in (layout.PARAMS, layout.MANIFEST)
        )
        remedy = "promote a version whose manifest is whole"
        now = Manifest(layout.MANIFEST)
        return load_yaml(params), compare_manifests(Manifest(manifest, remedy), now, slices)


class _RenamingPredictor:
    def __init__(self, predictor: Predictor, renames: Mapping[str, str]) -> None:
        self._predictor = predictor
        self._renames = renames

    @property
    def forms(self) -> Sequence[str]:
        return self._predictor.forms

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        answers = self._predictor.predict(columns, **params)
        return {name: self._rename(value, name == FIELD) for name, value in answers.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def _rename(self, value: Any, is_label: bool) -> Any:
        if isinstance(value, Mapping):
            return {name: self._rename(inner, name == FIELD) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._rename(inner, is_label) for inner in value]
        if is_label and isinstance(value, str):
            return self._renames.get(value, value)
        return value
