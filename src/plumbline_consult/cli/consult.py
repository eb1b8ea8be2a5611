"""`plumbline consult`: let a trained policy ask real agents."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from plumbline.contract.errors import ParamsError
from plumbline.process.stop_signals import INTERRUPTED
from plumbline.terminal.options import AsJson

EXAMPLE = 'plumbline consult models:/answer-consensus@champion agents.yaml "6 times 7?"'


def consult(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The policy: models:/NAME@ALIAS, models:/NAME/VERSION, or the folder of a bundle; "
            "all: none yet, every agent is asked and the commonest answer given.",
        ),
    ],
    agents: Annotated[
        Path, typer.Argument(metavar="AGENTS", help="The agents and their prices: agents.yaml.")
    ],
    question: Annotated[
        str,
        typer.Argument(metavar="QUESTION", help="The question.", show_default="those of --file"),
    ] = "",
    file: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .jsonl or .parquet file with the columns question_id and question.",
            show_default="no file",
        ),
    ] = None,
    records: Annotated[
        Path, typer.Option(help="The file to which every answer is appended.")
    ] = Path("consultations.jsonl"),
    ask_all: Annotated[
        bool,
        typer.Option(
            "--ask-all", help="Put each question to all other agents afterwards, for the records."
        ),
    ] = False,
    normalise: Annotated[
        Literal["exact", "casefold", "number"] | None,
        typer.Option(
            help="With `all`: how answers are compared. number: by the last number in them.",
            show_default="as the policy was trained",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask agents as a trained policy decides, and print the best answer.

    The answer is printed to stdout, the steps to stderr. Every answer is appended to --records,
    from which `plumbline grade` makes tomorrow's training data. See `plumbline docs consult`.
    """
    from plumbline_consult.agents import read_agents
    from plumbline_consult.answer_records import AnswerRecords
    from plumbline_consult.cli.asking import Printer, consult_all, open_policy
    from plumbline_consult.consultation import Question, name_question
    from plumbline_consult.policy import EVERYONE
    from plumbline_consult.questions import read_questions

    if bool(question.strip()) == bool(file):
        raise ParamsError("give a question, or a file of questions with --file")
    questions = read_questions(file) if file else [Question(name_question(question), question)]
    entries = read_agents(agents)
    if ask_all or model == EVERYONE:
        entries = entries.model_copy(update={"ask_all": 1.0})
    policy = open_policy(model, agents, entries, normalise)
    writer = AnswerRecords(records, policy.label, policy.form)
    writer.check_writable()
    printer = Printer(as_json, is_alone=len(questions) == 1)
    try:
        is_answered = asyncio.run(consult_all(questions, entries, policy, writer, printer))
    except KeyboardInterrupt:
        print(f"plumbline: interrupted; what was answered is in {records}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not is_answered:
        raise typer.Exit(1)
