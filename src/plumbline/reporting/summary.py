"""The last evaluation in short: on the terminal, and as Markdown for a pull request."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.evidence.document import read_sealed_evidence
from plumbline.evidence.gates.remedies import list_failures
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import read_validation
from plumbline.process.visible_text import show_line
from plumbline.reporting.html import format_name, format_size, render_template
from plumbline.reporting.leaderboard import build_leaderboard, describe_comparison, describe_seeds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLOURS = {"promote": "green", "keep": "blue"}  # all other verdicts are red


def print_report(console: "Console") -> None:
    """Print the last evaluation: leaderboard, verdict, failed gates, and where the full report is.

    Raises PlumblineError where nothing was evaluated yet, EvidenceError for damaged evidence.
    """
    evidence = _read_last_evidence()
    rejection = _describe_rejection()
    if rejection:
        _print_marked(console, "[red]not of these data[/]", f": {rejection}")
    if evidence.get("ranking"):  # there is none where the evaluation broke off
        console.print(_build_table(evidence))
    verdict = evidence["verdict"]
    colour = COLOURS.get(verdict, "red")
    _print_marked(console, f"[bold {colour}]{verdict}[/]", f": {evidence['summary']}")
    comparison = describe_comparison(evidence)
    if comparison:
        _print_marked(console, "", f"  {comparison}")
    for line in describe_seeds(evidence):
        _print_marked(console, "", f"  {line}")
    for name, sentences in (evidence.get("notes") or {}).items():
        for sentence in sentences:
            _print_marked(console, "", f"  note on {name}: {sentence}")
    for failure in list_failures(evidence):
        reason, remedy = failure.lines
        _print_marked(console, f"  [red]{failure.gate}[/]", reason.removeprefix(failure.gate))
        _print_marked(console, "", f"  {remedy}")
    console.print(f"full report: {layout.REPORT}", highlight=False)


def render_markdown() -> str:
    """Render the last evaluation as Markdown, for a pull request or a job's summary.

    Raises PlumblineError where nothing was evaluated yet, EvidenceError for damaged evidence.
    """
    evidence = _read_last_evidence()
    values = {
        "evidence": evidence,
        "against": describe_comparison(evidence),
        "leaderboard": build_leaderboard(evidence) if evidence.get("ranking") else [],
        "seeds": describe_seeds(evidence),
        "failures": list(list_failures(evidence)),
        "metric": format_name(evidence["metric"]["name"]) if "metric" in evidence else "",
    }
    return re.sub(r"\n{3,}", "\n\n", render_template("report.md", values)).strip()


def _print_marked(console: "Console", markup: str, text: str) -> None:
    """Print a line that begins with markup of rich; `text`, which data wrote in part, has none."""
    from rich.markup import escape

    console.print(f"{markup}{escape(show_line(text))}", highlight=False)


def _read_last_evidence() -> dict[str, Any]:
    if not layout.EVIDENCE.exists():
        rejection = _describe_rejection()
        if rejection:
            raise PlumblineError(f"nothing was evaluated: {rejection}")
        raise PlumblineError(f"{layout.EVIDENCE}: nothing was evaluated yet; run `dvc repro`")
    return withhold_figures(read_sealed_evidence())


def _describe_rejection() -> str:
    """Say why the data that are here were rejected; empty where they were not."""
    report = read_validation() if layout.VALIDATION.exists() else {}
    checks = report.get("checks", [])
    blocking = [check for check in checks if check["severity"] == "blocking"]
    failed = [check["name"] for check in blocking if not check["passed"]]
    if not failed:
        return ""
    return (
        f"validation rejected the data that are here now ({', '.join(failed)}); "
        f"see {layout.VALIDATION_PAGE}, or run `python -P pipelines/validate.py` again"
    )


def _build_table(evidence: Mapping[str, Any]) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    metric = evidence["metric"]["name"]
    interval = f"{evidence['thresholds']['confidence']:.0%} interval"
    title = f"{format_name(metric)} on held-out examples"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("candidate")
    for heading in ("validation", "test", interval, "p50", "size"):
        table.add_column(format_name(heading), justify="right", no_wrap=True)
    for row in build_leaderboard(evidence):
        cells = [_format_score(row["validation"]), _format_score(row["metrics"][metric])]
        cells.append("" if row["low"] is None else f"{row['low']:.4f} to {row['high']:.4f}")
        mark, style = ("* ", "bold") if row["chosen"] else ("  ", None)
        if row["cost"] is None:
            style = "dim"  # a baseline
        else:
            cells += [f"{row['cost']['one_p50']:.2f} ms", format_size(row["cost"]["num_bytes"])]
        table.add_row(mark + escape(show_line(row["name"])), *cells, style=style)
    return table


def _format_score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
