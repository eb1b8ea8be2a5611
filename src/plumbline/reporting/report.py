"""reports/report.html: the evidence as a person reads it to judge a version."""

from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.contract import layout
from plumbline.contract.records import Candidate, Figure
from plumbline.contract.task import SPLITS, Columns
from plumbline.contract.verdict import EXIT_CODES
from plumbline.evidence.gates.remedies import list_failures, name_page
from plumbline.evidence.withholding import NOTE, is_withheld, withhold_figures
from plumbline.process.files import read_output, write_aside
from plumbline.reporting.html import render_template
from plumbline.reporting.leaderboard import build_leaderboard, describe_seeds
from plumbline.reporting.tables import build_flip_tables, format_table, list_mistakes
from plumbline.statistics.power import DISPROOF_LEVEL
from plumbline.tables.manifest_file import Manifest


def write_report(
    evidence: Mapping[str, Any], winner: Candidate, figures: Sequence[Figure], inputs: Columns
) -> None:
    """Write reports/report.html; `inputs` are the predictor's columns for the validation split.

    Test figures are left out where `evidence` withholds them, single test rows always.
    """
    withheld = is_withheld(evidence)
    evidence = withhold_figures(evidence)
    source = read_output(layout.SOURCE, "ingest") if layout.SOURCE.exists() else {}
    validation_page = layout.VALIDATION_PAGE.name if layout.VALIDATION_PAGE.exists() else None
    values = {
        "evidence": evidence,
        "disproof_level": DISPROOF_LEVEL,
        "exit_code": EXIT_CODES.get(evidence["verdict"]),
        "gates": sorted(evidence["gates"], key=lambda gate: gate["status"] != "fail"),
        "remedies": {failure.gate: failure.remedy for failure in list_failures(evidence)},
        "pages": {gate["name"]: name_page(gate["name"]) for gate in evidence["gates"]},
        "flips": build_flip_tables(evidence),
        "leaderboard": build_leaderboard(evidence),
        "seeds": describe_seeds(evidence),
        "others": evidence["other_metrics"],
        "figures": figures,
        "mistakes": format_table(list_mistakes(winner, inputs, evidence["metric"])),
        "tables": {} if withheld else _format_short_tables(winner),
        "withheld": NOTE if withheld else None,
        "counts": _count_splits(),
        "source": source,
        "validation_page": validation_page,
    }
    with write_aside(layout.REPORT) as path:
        path.write_text(render_template("report.html", values), encoding="utf-8")


def _format_short_tables(winner: Candidate) -> dict[str, Any]:
    """Format the winner's tables; those with a row for each example are for plots."""
    num_examples = len(next(iter(winner.test.per_example.values())))
    return {
        name: format_table(table)
        for name, table in winner.test.tables.items()
        if len(table) < num_examples
    }


def _count_splits() -> list[dict[str, Any]]:
    summary = Manifest(layout.MANIFEST).summarise()
    counts = []
    for split in SPLITS:
        labels = summary.count_labels(split)
        counts.append({"split": split, "num_rows": labels.total(), "num_classes": len(labels)})
    return counts
