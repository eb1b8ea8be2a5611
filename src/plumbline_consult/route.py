"""POST /consult: the served policy asks the agents of agents.yaml, within the file's limits."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response

from plumbline.contract.errors import PlumblineError
from plumbline.serving.errors import BadRequestError, OverloadedError, RequestError
from plumbline.serving.inference_request import build_request
from plumbline.serving.responses import make_json_response, read_body
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings
from plumbline.serving.strict_json import parse_json
from plumbline_consult.agents import read_agents
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.calling import Team
from plumbline_consult.consultation import Consultation, Question, describe_as_json, name_question
from plumbline_consult.policy import Columns, ModelPolicy, read_config

if TYPE_CHECKING:
    from plumbline.serving.app import AnswerRequest

MAX_QUESTION = 100_000  # characters
TEXT = {"type": "string", "minLength": 1}
BODY = {
    "type": "object",
    "properties": {"question": TEXT, "question_id": TEXT},
    "required": ["question"],
    "additionalProperties": False,
}
DESCRIPTION = {"requestBody": {"required": True, "content": {"application/json": {"schema": BODY}}}}
log = logging.getLogger(__name__)


def add_consult_route(
    app: FastAPI,
    router: TrafficRouter,
    settings: Settings,
    agents: Path,
    answer_request: "AnswerRequest",
) -> None:
    """Add the route; `answer_request` answers and logs a row as the other routes do."""
    team = _open_team(agents)

    @app.post("/consult", name="consult", openapi_extra=DESCRIPTION)
    async def consult(request: Request) -> Response:
        if team is None:
            reason = "this worker cannot read the agents, its log says why: restart the server"
            raise RequestError(503, "NOT_CONSULTED", reason)
        question = parse_question(await read_body(request, settings.limits))
        model = router.champion
        if team.places.locked():
            raise OverloadedError

        async def answer_row(columns: Columns) -> Columns:
            """Ask the model in the same way as any request, while somebody waits."""
            if await request.is_disconnected():
                raise RequestError(400, "DISCONNECTED", "the client disconnected")
            try:
                parsed = build_request(columns, {}, model.signature, max_rows=1)
                return dict((await answer_request(request, router, parsed)).columns)
            except RequestError as error:
                raise PlumblineError(error.message) from error

        async with team.places:
            try:
                label = f"{model.cached.name} version {model.cached.version}"
                config = read_config(model.cached.folder, label, agents, team.file)
                policy = ModelPolicy(config, label, answer_row)
                listeners = []
                if settings.records:
                    listeners.append(AnswerRecords(settings.records, label, policy.form).append)
                course = await Consultation(team, policy, listeners).consult(question)
                return make_json_response(describe_as_json(course))
            except PlumblineError as error:
                if isinstance(error.__cause__, RequestError):
                    raise error.__cause__ from None
                raise RequestError(503, "NOT_CONSULTED", str(error)) from None


def parse_question(raw: bytes) -> Question:
    """Read {"question": text, "question_id": text}, of which the id may be left out."""
    body = parse_json(raw)
    if not isinstance(body, dict) or set(body) - {"question", "question_id"}:
        raise BadRequestError("expected an object with question, and optional question_id")
    text = body.get("question")
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_QUESTION:
        raise BadRequestError(f"question: expected text of 1 to {MAX_QUESTION} characters")
    name = body.get("question_id", name_question(text))
    if not isinstance(name, str) or not name:
        raise BadRequestError("question_id: expected text")
    return Question(name, text)


def _open_team(agents: Path) -> Team | None:
    """Make the agents of /consult ready; None where agents.yaml was changed and cannot be read.

    `plumbline serve` has checked it. A worker that starts later must not stop the server.
    """
    try:
        return Team(read_agents(agents))
    except PlumblineError as error:
        log.critical("/consult answers 503 until the server is restarted: %s", error)
        return None
