"""`plumbline consult`: let a trained policy ask real agents."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from plumbline.contract.errors import ParamsError
from plumbline.process.stop_signals import INTERRUPTED
from plumbline.process.visible_text import dump_visibly, show_line
from plumbline.terminal.options import InferenceParams
from plumbline_consult.cli.consult_policy import open_policy

if TYPE_CHECKING:
    from plumbline_consult.agents import AgentsFile
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.course import Course, Question
    from plumbline_consult.outcomes import AgentOutcome
    from plumbline_consult.policy import Policy

EXAMPLE = 'plumbline consult models:/answer-consensus@champion agents.yaml "6 times 7?"'
MAX_ID_CHARS = 40


def consult(
    model: Annotated[
        str,
        typer.Argument(
            help="The policy: models:/NAME@ALIAS, models:/NAME/VERSION, or the folder of a bundle; "
            "all: none yet, every agent is asked and the commonest answer given.",
        ),
    ],
    agents: Annotated[Path, typer.Argument(help="The agents and their prices: agents.yaml.")],
    question: Annotated[
        str, typer.Argument(help="The question.", show_default="the questions of --file")
    ] = "",
    file: Annotated[
        Path | None,
        typer.Option(help="A .csv, .jsonl or .parquet file of questions.", show_default="no file"),
    ] = None,
    question_column: Annotated[
        str, typer.Option(help="The column of --file with the questions.")
    ] = "question",
    id_column: Annotated[
        str,
        typer.Option(
            help="The column of --file with ids, by which gold answers are joined later.",
            show_default="ids are made from the questions",
        ),
    ] = "",
    records: Annotated[
        Path, typer.Option(help="The file to which every answer is appended.")
    ] = Path("consultations.jsonl"),
    ask_all: Annotated[
        bool,
        typer.Option(
            "--ask-all",
            help="Put each question to all other agents afterwards, for the records.",
        ),
    ] = False,
    normalise: Annotated[
        Literal["exact", "casefold", "number"] | None,
        typer.Option(
            help="With `all`: how answers are compared. number: by the last number in them.",
            show_default="as the policy was trained",
        ),
    ] = None,
    set_: InferenceParams = [],  # noqa: B006 (typer copies it)
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each question.")
    ] = False,
) -> None:
    """Ask agents as a trained policy decides, and print the best answer.

    The answer is printed to stdout, the steps to stderr. Every answer is appended to --records,
    from which `plumbline grade` makes tomorrow's training data. See `plumbline docs consult`.
    """
    from plumbline_consult.agents_file import read_agents
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.everyone import LABEL

    questions = _list_questions(question, file, question_column, id_column)
    entries = read_agents(agents)
    if ask_all or model == LABEL:
        entries = entries.model_copy(update={"ask_all": 1.0})
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
    from plumbline_consult.calling import open_team
    from plumbline_consult.cli.shown import describe_bill
    from plumbline_consult.consultation import Consultation, run_together
    from plumbline_consult.outcomes import sum_costs

    places = asyncio.Semaphore(entries.max_questions)
    is_alone = len(questions) == 1
    courses: list[Course] = []

    def show(course: "Course", outcome: "AgentOutcome") -> None:
        if not as_json:
            _print_outcome(course, outcome, is_alone=is_alone)

    async with open_team(entries) as team:
        consultation = Consultation(entries, team, policy, [writer.append, show])

        async def consult_one(question: "Question") -> None:
            async with places:
                course = await consultation.consult(question)
            courses.append(course)
            _print_course(course, as_json=as_json, is_alone=is_alone)

        await run_together(consult_one(question) for question in questions)
    num_answered = sum(bool(course.decision.answer) for course in courses)
    if not (is_alone or as_json):
        bill = describe_bill(sum_costs(outcome for one in courses for outcome in one.outcomes))
        text = f"{num_answered:,} of {len(courses):,} questions answered, {bill}"
        print(text, file=sys.stderr)
    return num_answered == len(courses)


def _print_outcome(course: "Course", outcome: "AgentOutcome", *, is_alone: bool) -> None:
    """Print what came of asking an agent; of many questions, those that failed."""
    from plumbline_consult.cli.shown import describe_outcome
    from plumbline_consult.replies import clean_text

    if is_alone:
        print(describe_outcome(outcome), file=sys.stderr, flush=True)
    elif outcome.reason:
        name = clean_text(course.question.id, MAX_ID_CHARS)
        print(f"{name}: {describe_outcome(outcome)}", file=sys.stderr, flush=True)


def _print_course(course: "Course", *, as_json: bool, is_alone: bool) -> None:
    from plumbline_consult.cli.shown import describe_course
    from plumbline_consult.course import describe_as_json
    from plumbline_consult.replies import clean_text

    if as_json:
        print(dump_visibly(describe_as_json(course)), flush=True)
        return
    name = "" if is_alone else f"{clean_text(course.question.id, MAX_ID_CHARS)}: "
    print(f"{name}{describe_course(course)}", file=sys.stderr, flush=True)
    prefix = "" if is_alone else f"{show_line(course.question.id)}\t"
    print(f"{prefix}{show_line(course.decision.answer)}", flush=True)
