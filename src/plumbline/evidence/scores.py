"""The scores of an evaluation, row by row: a table in reports/predictions.parquet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError, PlumblineError
from plumbline.contract.records import Bound, Scores
from plumbline.contract.task import Metric
from plumbline.process.files import write_aside
from plumbline.tables.manifest_file import Manifest

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["candidate", "seed", "form", "baseline", "control", "champion", "bound"]
CHAMPION = "@champion"
BOUND = "@bound"
Key = tuple[Kind, str, str]  # kind, name and split
KEYS = ["kind", "candidate", "split"]
AGAIN = "run `dvc repro --force --single-item evaluate`"
TOLERANCE = 1e-9  # of a mean that is counted in another order


@dataclass(frozen=True)
class ScoreTable:
    """Scores of everything that was asked, in the order of the manifest."""

    metric: Metric
    scores: Mapping[Key, Scores]
    bound: Bound
    rows: "pd.DataFrame"  # the manifest's held-out rows, and of train one for each label

    def get_rows(self, split: str) -> "pd.DataFrame":
        """Return the manifest's rows of `split`, in the order of all scores."""
        return self.rows[self.rows["split"] == split]

    def select(self, kind: Kind) -> dict[str, Scores]:
        """Return the scores on test of all of a kind, by name."""
        return {
            name: scores
            for (own, name, split), scores in self.scores.items()
            if own == kind and split == "test"
        }

    def describe_metrics(self) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
        """Return the metrics of all by kind, name and split."""
        described: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
        for (kind, name, split), scores in self.scores.items():
            splits = described.setdefault(kind, {}).setdefault(name, {})
            splits[split] = dict(scores.metrics)
        return described

    def describe_bound(self) -> dict[str, Any]:
        """Return the bound but for limits of single rows."""
        limit = None if isinstance(self.bound.limit, np.ndarray) else self.bound.limit
        return {"limit": limit, "reason": self.bound.reason, "exact": self.bound.exact}

    def write(self) -> None:
        """Write reports/predictions.parquet: one row for each example and predictor."""
        import pandas as pd

        scores = dict(self.scores)
        if isinstance(self.bound.limit, np.ndarray):
            scores["bound", BOUND, "test"] = Scores({self.metric.name: self.bound.limit}, {})
        parts = []
        for (kind, name, split), one in scores.items():
            ids = self.get_rows(split)["id"].to_numpy()
            keys = {"kind": kind, "candidate": name, "split": split}
            parts.append(pd.DataFrame(keys | one.per_example | {"id": ids}))
        with write_aside(layout.PREDICTIONS) as path:
            pd.concat(parts, ignore_index=True).to_parquet(path, index=False)


def read_scores(facts: Mapping[str, Any], metric: Metric, path: Path) -> ScoreTable:
    """Read from `path` what `ScoreTable.write` wrote; `facts` has its metrics and bound.

    EvidenceError where rows are missing, or a mean is not that of the rows.
    """
    import pandas as pd

    manifest = Manifest(layout.MANIFEST).read_held_out()
    table = pd.read_parquet(path)
    bound = Bound(**facts["bound"])
    scores: dict[Key, Scores] = {}
    groups: Any = table.groupby(KEYS, sort=False)
    for (kind, name, split), rows in groups:
        filled = rows.drop(columns=KEYS).dropna(axis="columns", how="all")
        columns = {str(column): filled[column].to_numpy() for column in filled}
        if not np.array_equal(columns["id"], manifest.loc[manifest["split"] == split, "id"]):
            raise EvidenceError(f"{path}: {name} did not answer every {split} row; {AGAIN}")
        if kind == "bound":
            bound = replace(bound, limit=columns[metric.name])
            continue
        metrics = facts["metrics"][kind][name][split]
        _require_mean(f"{name} on {split}", metric.name, metrics, columns)
        scores[kind, name, split] = Scores(columns, metrics)
    return ScoreTable(metric, scores, bound, manifest)


def name_answers(candidate: str, part: str) -> str:
    """Return the name in the table of a training of `candidate`, or of a form not served."""
    return f"{candidate}@{part}"


def check_rows(manifest: "pd.DataFrame", split: str, everyone: Sequence[Scores]) -> "pd.DataFrame":
    """Return the manifest's rows of `split`; PlumblineError where scores are not of these.

    `per_example` of each has a value for each row, in the order of the manifest.
    """
    rows = manifest[manifest["split"] == split]
    for scores in everyone:
        ids = scores.per_example.get("id", rows["id"])
        sizes = set(map(len, scores.per_example.values()))
        if sizes != {len(rows)} or list(ids) != list(rows["id"]):
            raise PlumblineError(
                f"the {split} examples are not those in {layout.MANIFEST}, in its order; "
                "run `dvc repro ingest`"
            )
    return rows


def _require_mean(
    name: str, metric: str, metrics: Mapping[str, float], columns: Mapping[str, np.ndarray]
) -> None:
    counted = float(columns[metric].mean())
    if not np.isclose(counted, metrics[metric], rtol=TOLERANCE, atol=TOLERANCE):
        raise EvidenceError(
            f"{layout.EVIDENCE}: {name} has {metric} {metrics[metric]:.6f}, its answers give "
            f"{counted:.6f}: the evidence was edited; {AGAIN}"
        )
