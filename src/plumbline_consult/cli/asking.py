"""What `plumbline consult` does: open a policy, ask by it, and print.

Answers are printed to stdout, what was done for them to stderr.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plumbline import bundle
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.process.visible_text import dump_visibly, show_line
from plumbline.registry.reader import open_version
from plumbline.registry.reader.loading import ask_predictor, load_predictor
from plumbline_consult.agents import AgentsFile
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.calling import AgentOutcome, Team
from plumbline_consult.chat_protocol import clean_text
from plumbline_consult.consultation import (
    Consultation,
    Course,
    Question,
    describe_as_json,
    run_together,
)
from plumbline_consult.policy import (
    EVERYONE,
    Columns,
    Everyone,
    ModelPolicy,
    Policy,
    read_config,
)

MAX_ANSWER_CHARS = 60
MAX_ID_CHARS = 40


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


@dataclass(frozen=True)
class Printer:
    """Prints what comes, or with `as_json` a JSON object for each question and nothing else."""

    as_json: bool
    is_alone: bool  # there is one question: its id is left out

    def print_outcome(self, course: Course, outcome: AgentOutcome) -> None:
        """Print what came of asking an agent."""
        if not self.as_json:
            text = f"{self._name(course)}{_describe_outcome(outcome)}"
            print(text, file=sys.stderr, flush=True)

    def print_course(self, course: Course) -> None:
        """Print the answer, how sure it is, and what it cost."""
        if self.as_json:
            print(dump_visibly(describe_as_json(course)), flush=True)
            return
        print(f"{self._name(course)}{_describe_course(course)}", file=sys.stderr, flush=True)
        name = "" if self.is_alone else f"{show_line(course.question.id)}\t"
        print(f"{name}{show_line(course.decision.answer)}", flush=True)

    def print_total(self, courses: Sequence[Course]) -> None:
        """Print what many questions cost."""
        if self.is_alone or self.as_json:
            return
        num_answered = sum(bool(course.decision.answer) for course in courses)
        bill = _describe_bill(courses)
        text = f"{num_answered:,} of {len(courses):,} questions answered, {bill}"
        print(text, file=sys.stderr)

    def _name(self, course: Course) -> str:
        return "" if self.is_alone else f"{clean_text(course.question.id, MAX_ID_CHARS)}: "


async def consult_all(
    questions: list[Question],
    file: AgentsFile,
    policy: Policy,
    writer: AnswerRecords,
    printer: Printer,
) -> bool:
    """Consult on every question, several at the same time; whether all have an answer."""
    team = Team(file)
    consultation = Consultation(team, policy, [writer.append, printer.print_outcome])
    courses: list[Course] = []

    async def consult_one(question: Question) -> None:
        async with team.places:
            course = await consultation.consult(question)
        courses.append(course)
        printer.print_course(course)

    try:
        await run_together(consult_one(question) for question in questions)
    finally:
        await team.close()
    printer.print_total(courses)
    return all(course.decision.answer for course in courses)


def _describe_outcome(outcome: AgentOutcome) -> str:
    if outcome.message:
        return f"{outcome.agent}: no answer ({clean_text(outcome.message)})"
    answer = clean_text(outcome.answer, MAX_ANSWER_CHARS) or "no answer in its text"
    if outcome.truncated:
        answer += " (cut off at its limit of tokens)"
    cost = f"{outcome.tokens:,} tokens, ${outcome.cost:.6f}"
    return f"{outcome.agent}: {answer} ({outcome.seconds:.1f} s, {cost})"


def _describe_course(course: Course) -> str:
    noun = "agent" if len(course.outcomes) == 1 else "agents"
    asked = f"{len(course.outcomes)} {noun} asked, {_describe_bill([course])}"
    if not course.decision.answer:
        reason = clean_text(course.message) or "no agent gave an answer"
        return f"no answer: {reason}; {asked}"
    text = f"confidence {course.decision.confidence:.2f}; {asked}"
    return f"{text}; best so far: {clean_text(course.message)}" if course.message else text


def _describe_bill(courses: Sequence[Course]) -> str:
    num_tokens = sum(course.num_tokens for course in courses)
    return f"${sum(course.cost for course in courses):.6f} for {num_tokens:,} tokens"
