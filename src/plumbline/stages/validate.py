"""validate: examples are held against what the task expects of them; only accepted ones may be trained on."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.task import MANIFEST_COLUMNS, SPLITS, Task
from plumbline.quality import runner
from plumbline.reporting.html import render

if TYPE_CHECKING:
    import pandas as pd

NUM_BINS = 24
MAX_CLASSES = 1000
MAX_SHOWN = 3  # examples in a message; the report has more
LOCK_OUT = {"accepted": False, "manifest": None, "reason": "validation has not finished"}


def validate(params: Params, task: Task) -> None:
    """Write reports/validation.json and .html; RejectedError, once both are there, if a blocking check failed."""
    layout.write_json(layout.VALIDATION, LOCK_OUT)
    manifest, source = _read()
    table = task.table(params, layout.EXAMPLES, manifest, source)
    checks = task.expectations(params, table)
    results = runner.run(table, checks)
    report = _report(results, manifest, source, runner.digest(checks))
    with layout.written(layout.VALIDATION_PAGE) as aside:
        aside.write_text(render("validation.html", report), encoding="utf-8")
    layout.write_json(layout.VALIDATION, report)  # last: accepted only once all of it is on disk
    _tell(results, report)


def _read() -> tuple["pd.DataFrame", dict[str, Any]]:
    """The manifest and the facts about its source; DataError where they are missing, damaged or of two ingests."""
    import pandas as pd
    import pyarrow as pa

    try:
        manifest, source = pd.read_parquet(layout.MANIFEST), layout.read_json(layout.SOURCE)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{layout.MANIFEST} or {layout.SOURCE} cannot be read ({error}); run `dvc repro ingest`"
        ) from None
    if missing := sorted(set(MANIFEST_COLUMNS) - set(manifest)):
        raise DataError(
            f"{layout.MANIFEST} has no column {', '.join(missing)}; run `dvc repro ingest`"
        )
    if source["digest"] != layout.digest(layout.EXAMPLES):
        raise DataError(f"{layout.EXAMPLES} is not what ingest wrote; run `dvc repro ingest`")
    return manifest, source


def _report(
    results: list[runner.Result], manifest: "pd.DataFrame", source: dict[str, Any], suite: str
) -> dict[str, Any]:
    return {
        "accepted": not _failed(results, "blocking"),
        "manifest": layout.digest(layout.MANIFEST),
        "examples": layout.digest(layout.EXAMPLES),
        "suite": suite,
        "checks": [asdict(result) for result in results],
        "splits": {split: int((manifest["split"] == split).sum()) for split in SPLITS},
        "classes": _classes(manifest),
        "lengths": _lengths(manifest),
        "notices": source.get("notices", []),
    }


def _classes(manifest: "pd.DataFrame") -> list[dict[str, Any]]:
    """Rows of each class in each split, the largest class first; nothing where labels are values."""
    if manifest["label"].nunique() > MAX_CLASSES:
        return []
    counts = (
        manifest.groupby(["label", "split"])
        .size()
        .unstack(fill_value=0)
        .reindex(columns=SPLITS, fill_value=0)
    )
    counts = counts.loc[counts.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    return [
        {"label": str(label), "rows": dict(zip(SPLITS, row, strict=True))}
        for label, *row in counts.itertuples()
    ]


def _lengths(manifest: "pd.DataFrame") -> dict[str, Any]:
    """A histogram of lengths, each bin with its first and last length; the last bin also takes the longest 0.5 %."""
    import numpy as np

    lengths = manifest["length"].to_numpy()
    high = int(np.quantile(lengths, 0.995))
    edges = np.unique(
        np.linspace(min(lengths.min(), high), high + 1, NUM_BINS + 1).astype(int)
    ).tolist()
    counts = np.histogram(np.minimum(lengths, high), bins=edges)[0].tolist()
    bins = [
        {"low": low, "high": end - 1, "rows": rows}
        for low, end, rows in zip(edges, edges[1:], counts, strict=False)
    ]
    return {"bins": bins, "median": float(np.median(lengths)), "longest": int(lengths.max())}


def _tell(results: list[runner.Result], report: dict[str, Any]) -> None:
    """Print notices and warnings; raise RejectedError where a blocking check failed."""
    failed, warned = _failed(results, "blocking"), _failed(results, "warning")
    for line in [*report["notices"], *_lines(warned)]:
        print(f"validate: note: {_plain(line)}")  # noqa: T201
    if failed:
        count = "1 check" if len(failed) == 1 else f"{len(failed)} checks"
        lines = [_plain(line) for line in _lines(failed)]
        raise RejectedError(
            "\n  ".join(
                [f"rejected by {count} of {len(results)}; see {layout.VALIDATION_PAGE}", *lines]
            )
        )
    rows = ", ".join(f"{n:,} {split}" for split, n in report["splits"].items())
    print(  # noqa: T201
        f"validate: accepted by {len(results) - len(warned)} of {len(results)} checks ({rows} rows)"
    )


def _failed(results: Iterable[runner.Result], severity: str) -> list[runner.Result]:
    return [result for result in results if not result.passed and result.severity == severity]


def _lines(results: Iterable[runner.Result]) -> Iterable[str]:
    for result in results:
        shown = "; ".join(f"{e.id} {e.value}" for e in result.examples[:MAX_SHOWN])
        examples = f" [{shown}]" if shown else ""
        yield f"{result.name}: {result.title}: {result.observed}, allowed {result.threshold}{examples}; {result.remedy}"


def _plain(line: str) -> str:
    """Labels come from the source: nothing in them may steer a terminal."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line
    )
