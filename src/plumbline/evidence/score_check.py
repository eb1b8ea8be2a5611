"""The scores of evidence, counted again from reports/predictions.parquet before they are kept."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.manifest import Manifest
from plumbline.contract.task import Metric
from plumbline.evidence.document import extract_metrics
from plumbline.evidence.measurements import CHAMPION
from plumbline.evidence.samples import name_answers
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_json

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-9  # of a mean that is counted in another order
REMEDY = "run `dvc repro --force --single-item evaluate`"


def verify_scores(evidence: Mapping[str, Any], metric: Metric) -> None:
    """Compare every score in evidence with the answers that it was computed from, row by row.

    Each candidate, each baseline and the champion must have answered every row of the split. A
    baseline that has the name of a candidate cannot be told from it, and is left out. EvidenceError
    names the first value that does not follow.
    """
    import pandas as pd

    try:
        predictions = pd.read_parquet(layout.PREDICTIONS)
        manifest = Manifest(layout.MANIFEST).read_held_out()
        scores = _list_scores(evidence, metric.name)
        for name, split, score in scores:
            _verify_score(predictions, manifest, (name, split, score), metric.name)
        _verify_metrics(evidence)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EvidenceError(
            f"{layout.PREDICTIONS}: the scores cannot be counted again "
            f"({type(error).__name__}: {error}); {REMEDY}"
        ) from None


def _verify_metrics(evidence: Mapping[str, Any]) -> None:
    """Compare reports/metrics.json, which is in git and kept beside a version."""
    if read_json(layout.METRICS) != extract_metrics(withhold_figures(evidence)):
        raise EvidenceError(f"{layout.METRICS} is not what the evidence is about; {REMEDY}")


def _list_scores(evidence: Mapping[str, Any], metric: str) -> list[tuple[str, str, float]]:
    """Return name, split and score of every candidate, of its seeds and of the champion."""
    scores = []
    for name, described in evidence["candidates"].items():
        scores.append((name, "validation", described["validation"][metric]))
        scores.append((name, "test", described["test"][metric]))
        for seed, score in described.get("seeds", {}).get("validation", {}).items():
            scores.append((name_answers(name, seed), "validation", score))
    for name, described in evidence["baselines"].items():
        if name not in evidence["candidates"]:  # predictions.parquet tells them by the name alone
            scores.append((name, "test", described["test"][metric]))
    if evidence["winner"] not in evidence["candidates"]:
        raise ValueError(f"the winner {evidence['winner']} has no score")
    if evidence["champion"]:
        scores.append((CHAMPION, "test", evidence["champion"]["metrics"][metric]))
    return scores


def _verify_score(
    predictions: "pd.DataFrame",
    manifest: "pd.DataFrame",
    expected: tuple[str, str, float],
    metric: str,
) -> None:
    name, split, score = expected
    is_own = (predictions["candidate"] == name) & (predictions["split"] == split)
    # A baseline may have a candidate's name, and a row is then there twice, the candidate's first.
    rows = predictions[is_own].drop_duplicates("id")
    ids = manifest.loc[manifest["split"] == split, "id"]
    if sorted(rows["id"]) != sorted(ids):
        raise EvidenceError(
            f"{layout.PREDICTIONS}: {name} did not answer every {split} row; {REMEDY}"
        )
    counted = float(rows[metric].mean())
    if not math.isclose(counted, score, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise EvidenceError(
            f"{layout.EVIDENCE}: {name} has {metric} {score:.6f} on {split}, "
            f"its answers give {counted:.6f}: the evidence was edited; {REMEDY}"
        )
