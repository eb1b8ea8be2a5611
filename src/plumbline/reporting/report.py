"""The evidence as a person reads it: reports/report.html to judge by, and a leaderboard on the terminal."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.task import SPLITS, Candidate, Columns, Figure
from plumbline.evidence.verdict import EXIT_CODES
from plumbline.reporting import html

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

NUM_MISTAKES = 20
NUM_ITEMS = 6  # of a signal that are shown
NUM_METRICS = 3  # beside the metric that decides, on a terminal that is wide enough
WIDE = 104  # characters
# What evidence of an older format lacks; null in evidence.json says that there was none, which is something else.
SINCE_FORMAT_2 = ("champion", "comparison", "looks", "flips", "changes", "seal", "forms")
COLOURS = {"promote": "green", "keep": "blue"}  # all other verdicts are red


def write(
    evidence: Mapping[str, Any], winner: Candidate, figures: Sequence[Figure], inputs: Columns
) -> None:
    """Write reports/report.html; `inputs` are the predictor's columns for the test split."""
    num_examples = len(next(iter(winner.test.per_example.values())))
    tables = {
        name: _cells(t) for name, t in winner.test.tables.items() if len(t) < num_examples
    }  # others are for plots
    values = {
        "evidence": dict.fromkeys(SINCE_FORMAT_2) | dict(evidence),
        "recorded": {key: key in evidence for key in SINCE_FORMAT_2},
        "exit_code": EXIT_CODES.get(evidence["verdict"]),
        "gates": sorted(evidence["gates"], key=lambda gate: gate["status"] != "fail"),
        "flips": _flips(evidence),
        "leaderboard": leaderboard(evidence),
        "others": evidence["other_metrics"],
        "figures": figures,
        "mistakes": _cells(mistakes(winner, inputs, evidence["metric"])),
        "tables": tables,
        "counts": _counts(),
        "source": layout.read_json(layout.SOURCE) if layout.SOURCE.exists() else {},
        "validation_page": layout.VALIDATION_PAGE.name if layout.VALIDATION_PAGE.exists() else None,
    }
    with layout.written(layout.REPORT) as aside:
        aside.write_text(html.render("report.html", values), encoding="utf-8")


def leaderboard(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a candidate, best first, then the baselines."""
    metric, costs = evidence["metric"]["name"], evidence["cost"]
    named = [(name, "candidates") for name in evidence["ranking"]]
    named += [(name, "baselines") for name in evidence["baselines"]]
    return [
        {
            "name": name,
            "kind": kind,
            "chosen": (name, kind) == (evidence["winner"], "candidates"),
            "validation": evidence[kind][name].get("validation", {}).get(metric),
            "metrics": evidence[kind][name]["test"],
            "cost": costs[name] if kind == "candidates" else None,
            **evidence[kind][name]["test_interval"],
        }
        for name, kind in named
    ]


def mistakes(winner: Candidate, inputs: Columns, metric: Mapping[str, Any]) -> "pd.DataFrame":
    """The worst answers on the test split: what was asked, and all that is known of the answer."""
    import pandas as pd

    table = pd.DataFrame(dict(inputs) | winner.test.per_example)
    table = table[[*table.columns.drop("id", errors="ignore"), *(["id"] if "id" in table else [])]]
    name, binary = metric["name"], metric["kind"] == "binary"
    if binary:
        table = table[table[name] == 0].drop(columns=name)
    by, ascending = (
        (["nll"] if "nll" in table else ["id"], False)
        if binary
        else ([name], metric["higher_is_better"])
    )
    by = [column for column in by if column in table]
    return (table.sort_values(by, ascending=ascending, kind="stable") if by else table).head(
        NUM_MISTAKES
    )


def show(console: "Console") -> None:
    """Print the last evaluation: leaderboard, verdict with the gates that failed, and where the whole story stands.

    Raises PlumblineError where nothing was evaluated yet.
    """
    from rich.markup import escape

    evidence = _last()
    if evidence.get("ranking"):  # there is none where evaluation broke off
        console.print(_table(evidence, NUM_METRICS if console.width >= WIDE else 0))
    verdict = evidence["verdict"]
    console.print(
        f"[bold {COLOURS.get(verdict, 'red')}]{verdict}[/]: {escape(evidence['summary'])}",
        highlight=False,
    )
    if compared := against(evidence):
        console.print(f"  {escape(compared)}", highlight=False)
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            console.print(f"  [red]{gate['name']}[/]: {escape(gate['reason'])}", highlight=False)
    console.print(f"the whole story: {layout.REPORT}", highlight=False)


def markdown() -> str:
    """The last evaluation as Markdown, for a pull request or a job's summary. PlumblineError where there is none."""
    evidence = _last()
    values = {
        "evidence": dict.fromkeys((*SINCE_FORMAT_2, "slices", "digests")) | evidence,
        "against": against(evidence),
        "leaderboard": leaderboard(evidence) if evidence.get("ranking") else [],
        "metric": html.words(evidence["metric"]["name"]) if "metric" in evidence else "",
    }
    return re.sub(r"\n{3,}", "\n\n", html.render("report.md", values)).strip()


def _last() -> dict[str, Any]:
    if not layout.EVIDENCE.exists():
        raise PlumblineError(f"{layout.EVIDENCE}: nothing was evaluated yet; run `dvc repro`")
    found: dict[str, Any] = layout.read_json(layout.EVIDENCE)
    return found


def against(evidence: Mapping[str, Any]) -> str:
    """The comparison with the champion in a line, or nothing where there was none."""
    champion, found = evidence.get("champion"), evidence.get("comparison")
    if not champion or not found:
        return ""
    metric = evidence["metric"]["name"]
    ours, theirs = (
        evidence["candidates"][evidence["winner"]]["test"][metric],
        champion["metrics"][metric],
    )
    said = (
        f"champion version {champion['version']}: {html.words(metric)} {theirs:.4f}, {evidence['winner']} {ours:.4f}; "
        f"gain {found['difference']:+.4f}, {found['low']:+.4f} to {found['high']:+.4f} at {found['confidence']:.2%}"
    )
    return said if found["p_value"] is None else f"{said}, p {found['p_value']:.2g}"


def _flips(evidence: Mapping[str, Any]) -> dict[str, Any] | None:
    """Won and lost examples as tables: how many there are, and those that are listed."""
    found = evidence.get("flips")
    if not found:
        return None
    names = {"ours": evidence["winner"], "theirs": "champion"}
    hidden = {
        "id",
        "input",
        *(names if evidence["metric"]["kind"] == "binary" else ()),
    }  # ours, theirs: always 1 and 0
    tables = {}
    for name in ("won", "lost"):
        rows = found[name]
        columns = [column for column in (rows[0] if rows else {}) if column not in hidden]
        tables[name] = {
            "count": found[f"num_{name}"],
            "columns": [_head(column, names) for column in columns],
            "rows": [
                {
                    "id": row["id"],
                    "input": row["input"],
                    "cells": [_cell(row.get(column, "")) for column in columns],
                }
                for row in rows
            ],
        }
    return tables


def _head(column: str, names: Mapping[str, str]) -> str:
    """'ours_predicted' as 'predicted by minilm'."""
    whose, _, what = column.partition("_")
    name = names.get(whose)
    return f"{html.words(what)} by {name}" if name and what else name or html.words(column)


def _table(evidence: Mapping[str, Any], num_metrics: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    metric = evidence["metric"]["name"]
    rows = leaderboard(evidence)
    others = evidence["other_metrics"][:num_metrics]
    table = Table(
        title=f"{html.words(metric)} on held-out examples", title_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("candidate")
    for heading in (
        "validation",
        "test",
        f"{evidence['thresholds']['confidence']:.0%} interval",
        *others,
        "p50",
        "size",
    ):
        table.add_column(html.words(heading), justify="right", no_wrap=True)
    for row in rows:
        cells = [
            _number(row["validation"]),
            _number(row["metrics"][metric]),
            f"{_number(row['low'])} to {_number(row['high'])}",
            *(_number(row["metrics"].get(name)) for name in others),
            f"{row['cost']['one_p50']:.2f} ms" if row["cost"] else "",
            html.size(row["cost"]["num_bytes"]) if row["cost"] else "",
        ]
        mark = "* " if row["chosen"] else "  "
        style = "bold" if row["chosen"] else "dim" if row["kind"] == "baselines" else None
        table.add_row(mark + escape(row["name"]), *cells, style=style)
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _counts() -> list[dict[str, Any]]:
    import pandas as pd

    manifest = pd.read_parquet(layout.MANIFEST, columns=["split", "label"])
    groups = {split: manifest[manifest["split"] == split] for split in SPLITS}
    return [
        {"split": s, "num_rows": len(rows), "num_classes": rows["label"].nunique()}
        for s, rows in groups.items()
    ]


def _cells(table: "pd.DataFrame") -> dict[str, Any]:
    """Column names, and rows of text and rounded numbers."""
    return {
        "columns": [html.words(str(name)) for name in table.columns],
        "rows": [[_cell(value) for value in row] for row in table.itertuples(index=False)],
    }


def _cell(value: Any) -> str | float | int:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return int(value)
    if (
        isinstance(value, list)
        and len(value) > NUM_ITEMS
        and all(isinstance(item, float) for item in value)
    ):
        return (
            f"{', '.join(f'{item:.4g}' for item in value[:NUM_ITEMS])}, ... ({len(value):,} in all)"
        )
    return float(value) if isinstance(value, (float, np.floating)) else str(value)
