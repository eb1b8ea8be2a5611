"""Open the policy of `plumbline consult`, and ask by it."""

import asyncio
from pathlib import Path

from plumbline import bundle
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.registry.reader import open_version
from plumbline.registry.reader.loading import ask_predictor, load_predictor
from plumbline_consult.agents import AgentsFile
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.calling import close_team, open_team
from plumbline_consult.cli.shown import Printer
from plumbline_consult.consultation import Consultation, run_together
from plumbline_consult.course import Course, Question
from plumbline_consult.policy import (
    EVERYONE,
    Columns,
    Everyone,
    ModelPolicy,
    Policy,
    read_config,
)


def open_policy(address: str, path: Path, file: AgentsFile, form: str | None) -> Policy:
    """Verify and load a registered version or the folder of a bundle; `all` is everyone.

    Raises ParamsError where it may ask for agents that agents.yaml at `path` lacks, or compares
    answers in another form than is asked for.
    """
    if address == EVERYONE:
        return Everyone(file, form or "exact")
    if Path(address).is_dir():
        bundle.verify(Path(address))
        digest = bundle.digest(Path(address))
        policy = _load_folder(Path(address), digest, address, path, file)
    elif not address.startswith("models:/"):
        raise ParamsError(
            f"{address}: there is no such folder; expected models:/NAME@ALIAS, "
            "models:/NAME/VERSION, the folder of a bundle, or all"
        )
    else:
        with open_version(address, require_journal=True) as version:
            label = version.registered.label
            policy = _load_folder(version.folder, version.bundle, label, path, file)
    if form not in (None, policy.form):
        raise ParamsError(f"--normalise {form}: the policy was trained on {policy.form}; omit it")
    return policy


def _load_folder(
    folder: Path, digest: str, label: str, path: Path, file: AgentsFile
) -> ModelPolicy:
    config = read_config(folder, label, path, file)
    predictor = load_predictor(folder, digest, label)

    async def answer_row(columns: Columns) -> Columns:  # in milliseconds, so no thread is used
        try:
            return ask_predictor(predictor, columns, {}, label)
        except ValueError as error:
            raise PlumblineError(f"{label}: {error}") from None

    return ModelPolicy(config, label, answer_row)


async def consult_all(
    questions: list[Question],
    file: AgentsFile,
    policy: Policy,
    writer: AnswerRecords,
    printer: Printer,
) -> bool:
    """Consult on every question, several at the same time; whether all have an answer."""
    team = open_team(file)
    places = asyncio.Semaphore(file.max_questions)
    consultation = Consultation(file, team, policy, [writer.append, printer.print_outcome])
    courses: list[Course] = []

    async def consult_one(question: Question) -> None:
        async with places:
            course = await consultation.consult(question)
        courses.append(course)
        printer.print_course(course)

    try:
        await run_together(consult_one(question) for question in questions)
    finally:
        await close_team(team)
    printer.print_total(courses)
    return all(course.decision.answer for course in courses)
