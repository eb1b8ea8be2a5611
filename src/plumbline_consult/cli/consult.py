"""`plumbline consult`: let a trained policy ask real agents."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from plumbline.contract.errors import ParamsError
from plumbline.process.stop_signals import INTERRUPTED
from plumbline.process.visible_text import dump_visibly, show_line
from plumbline.terminal.options import InferenceParams
from plumbline_consult.answer_forms import load_normaliser
from plumbline_consult.cli.consult_options import (
    AgentsPath,
    AsJson,
    AskAll,
    DeadlineS,
    IdColumn,
    MaxCost,
    Normalise,
    PolicyAddress,
    QuestionColumn,
    QuestionsFile,
    QuestionText,
    Records,
)
from plumbline_consult.cli.consult_policy import open_policy

if TYPE_CHECKING:
    from plumbline_consult.agents import AgentsFile
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.course import ConsultationResult, Observer, Question
    from plumbline_consult.policy import Policy

EXAMPLE = 'plumbline consult models:/answer-consensus@champion agents.yaml "6 times 7?"'
RECORDS = Path("consultations.jsonl")


def consult(
    model: PolicyAddress,
    agents: AgentsPath,
    question: QuestionText = "",
    file: QuestionsFile = None,
    question_column: QuestionColumn = "question",
    id_column: IdColumn = "",
    records: Records = RECORDS,
    max_cost: MaxCost = None,
    deadline_s: DeadlineS = None,
    ask_all: AskAll = False,
    normalise: Normalise = None,
    set_: InferenceParams = [],  # noqa: B006 (typer copies it)
    as_json: AsJson = False,
) -> None:
    """Ask agents as a trained policy decides, and print the best answer.

    The answer is printed to stdout, the steps to stderr. Every answer is appended to --records,
    from which `plumbline grade` makes tomorrow's training data. See `plumbline docs consult`.
    """
    from plumbline_consult.agents_file import read_agents
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.everyone import LABEL

    questions = _list_questions(question, file, question_column, id_column)
    asks_all = ask_all or model == LABEL
    changes = {"max_cost": max_cost, "deadline_s": deadline_s, "ask_all": 1.0 if asks_all else None}
    entries = read_agents(agents).model_copy(
        update={key: value for key, value in changes.items() if value is not None}
    )
    policy = open_policy(model, agents, entries, normalise, set_)
    writer = AnswerRecords(records, policy.label, policy.form)
    writer.check_writable()
    try:
        is_answered = asyncio.run(_consult_all(questions, entries, policy, writer, as_json))
    except KeyboardInterrupt:
        print(f"plumbline: interrupted; what was answered is in {records}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not is_answered:
        raise typer.Exit(1)


def _list_questions(
    text: str, file: Path | None, question_column: str, id_column: str
) -> list["Question"]:
    from plumbline_consult.course import Question, name_question
    from plumbline_consult.questions import read_questions

    if bool(text.strip()) == bool(file):
        raise ParamsError("give a question, or a file of questions with --file")
    if file is not None:
        return read_questions(file, question_column, id_column)
    return [Question(name_question(text), text)]


async def _consult_all(
    questions: list["Question"],
    entries: "AgentsFile",
    policy: "Policy",
    writer: "AnswerRecords",
    as_json: bool,
) -> bool:
    """Consult on every question, several at the same time; whether all have an answer."""
    from plumbline_consult.consultation import Consultation, run_together
    from plumbline_consult.local_text import LocalTextResponder
    from plumbline_consult.team import build_terms, open_team

    slots = asyncio.Semaphore(entries.max_questions)
    is_alone = len(questions) == 1
    results = []
    with _show_course(is_alone=is_alone, is_silent=as_json) as view:
        normalise = load_normaliser(writer.form)
        async with open_team(entries, normalise, {"local": LocalTextResponder}) as team:
            consultation = Consultation(team, policy, [writer, *view])

            async def consult_one(question: "Question") -> None:
                async with slots:
                    result = await consultation.consult(question, build_terms(question, entries))
                results.append(result)
                if not is_alone:
                    _print_result(result, as_json=as_json, is_alone=False)

            await run_together([consult_one(question) for question in questions])
    if is_alone:  # after the table
        _print_result(results[0], as_json=as_json, is_alone=True)
    elif not as_json:
        _print_total(results)
    return all(result.answer for result in results)


@contextmanager
def _show_course(*, is_alone: bool, is_silent: bool) -> Iterator[list["Observer"]]:
    """Show who is asked: a table for one question on a terminal, lines anywhere else."""
    from plumbline_consult.cli.consult_view import FailureView, LineView, TableView

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if is_silent:
        yield []
    elif is_alone and console.is_terminal:
        with TableView(Console(stderr=True, highlight=False)) as table:
            yield [table]
    else:
        yield [LineView(console) if is_alone else FailureView(console)]


def _print_result(result: "ConsultationResult", *, as_json: bool, is_alone: bool) -> None:
    from plumbline_consult.cli.consult_view import MAX_ID_CHARS, describe_result
    from plumbline_consult.course import describe_as_json
    from plumbline_consult.replies import clean_text

    if as_json:
        print(dump_visibly(describe_as_json(result)), flush=True)
        return
    name = "" if is_alone else f"{clean_text(result.question.id, MAX_ID_CHARS)}: "
    print(f"{name}{describe_result(result)}", file=sys.stderr, flush=True)
    if is_alone:
        print(show_line(result.answer))
    else:
        print(f"{show_line(result.question.id)}\t{show_line(result.answer)}", flush=True)


def _print_total(results: "list[ConsultationResult]") -> None:
    from plumbline_consult.cli.consult_view import describe_bill, sum_bills

    bill = sum_bills([result.bill for result in results])
    num_answered = sum(bool(result.answer) for result in results)
    text = f"{num_answered:,} of {len(results):,} questions answered, {describe_bill(bill)}"
    print(text, file=sys.stderr)
