"""`plumbline grade`: turn what agents answered live into training data."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from plumbline.contract.errors import DataError
from plumbline.process.files import write_aside
from plumbline.process.visible_text import show_line
from plumbline.terminal.console import out, print_plain

if TYPE_CHECKING:
    from plumbline_consult.grading import AnswerRecord

EXAMPLE = "plumbline grade consultations.jsonl --gold gold.csv --out graded.csv"
NUM_SHOWN = 5  # ids in a message


def grade(
    records: Annotated[
        Path,
        typer.Argument(metavar="RECORDS", help="The file that `plumbline consult` appended to."),
    ],
    gold: Annotated[
        Path,
        typer.Option(help="A .csv, .jsonl or .parquet file with the columns question_id and gold."),
    ],
    out_: Annotated[Path, typer.Option("--out", help="The .csv file to write.")] = Path(
        "graded.csv"
    ),
    overwrite: Annotated[bool, typer.Option(help="Replace --out if it exists.")] = False,
) -> None:
    """Join right answers to recorded ones, as training data of the task answer_consensus.

    Only questions that were put to every agent are written: whom a policy asks depends on what
    was answered before, so the others are a biased sample. Set `ask_all` in agents.yaml to a share
    of questions, or give `plumbline consult` --ask-all.
    """
    import pandas as pd

    from plumbline_consult import grading
    from plumbline_consult.policy import load_normaliser

    grading.check_target(out_, overwrite)
    recorded = grading.read_records(records)
    form = _find_form(recorded, records)
    normalise = load_normaliser(form)
    known = grading.read_gold(gold, normalise)
    answers, amiss = grading.grade_records(recorded, known)
    for text, ids in amiss.items():
        print_plain(f"{text}: {_list_ids(ids)}")
    if not answers:
        raise DataError(f"{records}: no question has a gold answer and was put to every agent")
    with write_aside(out_) as aside:
        pd.DataFrame(answers)[grading.WRITTEN].to_csv(aside, index=False)
    _print_agents(answers, normalise)
    num_questions = len({answer.question_id for answer in answers})
    print_plain(f"{out_}: {num_questions:,} questions, {len(answers):,} answers")
    print_plain(f"-> in params.yaml: data.source: {out_}, data.normalise: {form}, and the agents")


def _find_form(recorded: "list[AnswerRecord]", path: Path) -> str:
    """The form in which answers were compared; DataError where records disagree."""
    forms = {record.normalise for record in recorded}
    if len(forms) > 1:
        raise DataError(
            f"{path}: answers in several forms ({', '.join(sorted(forms))}); keep the lines of one"
        )
    return forms.pop()


def _list_ids(ids: list[str]) -> str:
    more = ", ..." if len(ids) > NUM_SHOWN else ""
    return f"{len(ids):,} ({', '.join(ids[:NUM_SHOWN])}{more})"


def _print_agents(answers: "list[AnswerRecord]", normalise: Callable[[str], str]) -> None:
    """Print how each agent did, and what 1,000 of its tokens cost in the mean."""
    by_agent: dict[str, list[AnswerRecord]] = {}
    for answer in answers:
        by_agent.setdefault(answer.agent, []).append(answer)
    table = Table("agent", "right", "no answer", "price of 1,000 tokens")
    for agent, given in by_agent.items():
        num_missing = sum(not answer.answer for answer in given)
        num_right = 0
        for answer in given:
            said = normalise(answer.answer)
            num_right += bool(said) and said == normalise(answer.gold)
        cost = sum(answer.cost for answer in given)
        num_tokens = sum(answer.tokens for answer in given)
        price = 1000 * cost / num_tokens if num_tokens else 0.0
        right = f"{num_right / len(given):.1%} of {len(given):,}"
        table.add_row(show_line(agent), right, f"{num_missing:,}", f"{price:.8f}")
    out.print(table, markup=False)
