"""`plumbline grade`: turn what agents answered live into training data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from plumbline.contract.errors import DataError
from plumbline.process.visible_text import show_line
from plumbline.terminal.console import out, print_plain
from plumbline_consult.answer_forms import load_normaliser

if TYPE_CHECKING:
    from plumbline_consult.graded_files import AgentSummary
    from plumbline_consult.grading import GradedRecord, GradedRecords

EXAMPLE = "plumbline grade consultations.jsonl --gold gold.csv --out graded.csv"
NUM_SHOWN = 5  # ids in a message


def grade(
    records: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDS", help="The file to which `plumbline consult` appended answers."
        ),
    ],
    out_: Annotated[
        Path, typer.Option("--out", help="The .csv, .jsonl or .parquet file to write.")
    ] = Path("graded.csv"),
    gold: Annotated[
        Path | None,
        typer.Option(
            help="A file with the right answers, by the ids of the questions.",
            show_default="the column gold of RECORDS",
        ),
    ] = None,
    id_column: Annotated[
        str, typer.Option(help="The column of --gold with the ids.")
    ] = "question_id",
    gold_column: Annotated[
        str, typer.Option(help="The column of --gold with the right answers.")
    ] = "gold",
    overwrite: Annotated[bool, typer.Option(help="Replace --out if it exists.")] = False,
) -> None:
    """Join right answers to recorded ones, as training data of the task answer_consensus.

    Only questions that were put to every agent are written: whom a policy asks depends on what
    was answered before, so the others are a biased sample. Set `ask_all` in agents.yaml to a share
    of questions, or give `plumbline consult` --ask-all.
    """
    from plumbline_consult.graded_files import check_target, summarise_agents, write_records
    from plumbline_consult.grading import grade_records, read_gold, read_records

    check_target(out_, overwrite)
    recorded = read_records(records)
    form = _find_form(recorded, records)
    normalise = load_normaliser(form)
    known = None if gold is None else read_gold(gold, id_column, gold_column, normalise)
    graded = grade_records(recorded, known)
    _print_missing(graded)
    if not graded.records:
        raise DataError(f"{records}: no question has a gold answer and was put to every agent")
    write_records(out_, graded.records)
    _print_agents(summarise_agents(graded.records, normalise))
    num_questions = len({record.question_id for record in graded.records})
    print_plain(f"{out_}: {num_questions:,} questions, {len(graded.records):,} answers")
    print_plain(f"-> in params.yaml: data.source: {out_}, data.normalise: {form}, and the agents")


def _find_form(recorded: "list[GradedRecord]", path: Path) -> str:
    """The form in which answers were compared; DataError where records disagree."""
    forms = {record.form for record in recorded}
    if len(forms) > 1:
        raise DataError(
            f"{path}: answers in several forms ({', '.join(sorted(forms))}); keep the lines of one"
        )
    return forms.pop()


def _print_missing(graded: "GradedRecords") -> None:
    """Say what is left out, and what to do."""
    if graded.without_gold:
        print_plain(f"questions without a gold answer: {_list_ids(graded.without_gold)}")
    if graded.ambiguous:
        print_plain(
            f"ids of more than one question, left out: {_list_ids(graded.ambiguous)}; remove from "
            "RECORDS the lines of the question that is not meant"
        )
    if graded.unused_gold:
        print_plain(f"gold answers of questions that nobody asked: {_list_ids(graded.unused_gold)}")
    if graded.num_partial:
        print_plain(
            f"questions that were not put to every agent, left out: {graded.num_partial:,}; "
            "set ask_all in agents.yaml, or ask with --ask-all"
        )
    if graded.num_repeated:
        print_plain(f"repeated answers, left out: {graded.num_repeated:,}")


def _list_ids(ids: list[str]) -> str:
    more = ", ..." if len(ids) > NUM_SHOWN else ""
    return f"{len(ids):,} ({', '.join(ids[:NUM_SHOWN])}{more})"


def _print_agents(summaries: "list[AgentSummary]") -> None:
    table = Table("agent", "right", "no answer", "price of 1,000 tokens", "cost of an answer")
    for summary in summaries:
        table.add_row(
            show_line(summary.agent),
            f"{summary.num_right / summary.num_answers:.1%} of {summary.num_answers:,}",
            f"{summary.num_missing:,}",
            f"{summary.price:.8f}",
            f"{summary.cost:.8f}",
        )
    out.print(table, markup=False)
