"""The options of `plumbline consult`: their types, limits and help."""

from pathlib import Path
from typing import Annotated, Literal

import typer

PolicyAddress = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The policy: models:/NAME@ALIAS, models:/NAME/VERSION, or the folder of a bundle; "
        "all: none yet, every agent is asked and the commonest answer given.",
    ),
]
AgentsPath = Annotated[
    Path, typer.Argument(metavar="AGENTS", help="The agents and their prices: agents.yaml.")
]
QuestionText = Annotated[
    str,
    typer.Argument(
        metavar="QUESTION", help="The question.", show_default="the questions of --file"
    ),
]
QuestionsFile = Annotated[
    Path | None,
    typer.Option(help="A .csv, .jsonl or .parquet file of questions.", show_default="no file"),
]
QuestionColumn = Annotated[str, typer.Option(help="The column of --file with the questions.")]
IdColumn = Annotated[
    str,
    typer.Option(
        help="The column of --file with ids, by which gold answers are joined later.",
        show_default="ids are made from the questions",
    ),
]
Records = Annotated[Path, typer.Option(help="The file to which every answer is appended.")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0, help="Dollars that one question may cost.", show_default="as agents.yaml says"
    ),
]
DeadlineS = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        help="Seconds until the best answer so far is given.",
        show_default="as agents.yaml says",
    ),
]
AskAll = Annotated[
    bool,
    typer.Option(
        "--ask-all", help="Put each question to all other agents afterwards, for the records."
    ),
]
Normalise = Annotated[
    Literal["exact", "casefold", "number"] | None,
    typer.Option(
        help="With `all`: how answers are compared. number: by the last number in them.",
        show_default="as the policy was trained",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for each question.")]
