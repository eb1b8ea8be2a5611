"""POST /consult: the served policy asks the agents of agents.yaml, within the file's limits."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response

from plumbline.contract.errors import PlumblineError
from plumbline.serving.errors import BadRequestError, NotReadyError, OverloadedError, RequestError
from plumbline.serving.inference_request import InferenceRequest, build_request
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.responses import make_json_response, read_body
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Consulting, Settings
from plumbline.serving.strict_json import parse_json
from plumbline_consult.agents import AgentsFile
from plumbline_consult.agents_file import read_agents
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.calling import AgentCaller, open_team
from plumbline_consult.consultation import Consultation
from plumbline_consult.course import Question, describe_as_json, name_question
from plumbline_consult.policy import (
    KnownAnswers,
    PolicyConfig,
    PolicyDecision,
    read_config,
    read_decision,
)

if TYPE_CHECKING:
    from plumbline.serving.added_routes import AnswerRequest

MAX_QUESTION = 100_000  # characters
MAX_ID = 200
TEXT = {"type": "string", "minLength": 1}
BODY = {
    "type": "object",
    "properties": {"question": TEXT, "question_id": TEXT},
    "required": ["question"],
    "additionalProperties": False,
}
DESCRIPTION = {"requestBody": {"required": True, "content": {"application/json": {"schema": BODY}}}}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConsultingDesk:
    """What all requests of a worker share: agents, and places for questions."""

    file: AgentsFile
    team: dict[str, AgentCaller]
    places: asyncio.Semaphore


@dataclass(frozen=True)
class ServedPolicy:
    """The served model as the policy of one request."""

    decide_row: Callable[[InferenceRequest], Awaitable[Answer]]
    model: LoadedModel
    label: str
    config: PolicyConfig

    @property
    def form(self) -> str:
        """How answers are compared."""
        return self.config.form

    async def decide(self, known: KnownAnswers) -> PolicyDecision:
        """Ask the model in the same way as any request; PlumblineError where it is refused."""
        columns = self.config.build_columns(known)
        try:
            parsed = build_request(columns, {}, self.model.signature, max_rows=1)
            answer = await self.decide_row(parsed)
        except RequestError as error:
            raise PlumblineError(error.message) from error
        return read_decision(answer.columns)


def add_consult_route(
    app: FastAPI,
    router: TrafficRouter,
    settings: Settings,
    consulting: Consulting,
    answer_request: "AnswerRequest",
) -> None:
    """Add the route; `answer_request` answers and logs a row as the other routes do."""

    @asynccontextmanager
    async def run_lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _open_desk(consulting) as app.state.desk:
            yield

    routes = APIRouter(lifespan=run_lifespan)

    @routes.post("/consult", name="consult", openapi_extra=DESCRIPTION)
    async def consult(request: Request) -> Response:
        desk: ConsultingDesk | None = request.app.state.desk
        if desk is None:
            raise _refuse(
                "this worker cannot read the agents, its log says why: restart the server"
            )
        question = parse_question(await read_body(request, settings.limits))
        model = router.champion
        if model is None:
            raise NotReadyError
        label = f"{model.cached.name} version {model.cached.version}"
        if desk.places.locked():
            raise OverloadedError
        async with desk.places:
            try:
                config = read_config(model.cached.folder, label, consulting.agents, desk.file)
                policy = ServedPolicy(
                    lambda parsed: answer_request(request, router, parsed), model, label, config
                )
                return make_json_response(await _consult(desk, policy, consulting, question))
            except PlumblineError as error:
                if isinstance(error.__cause__, RequestError):
                    raise error.__cause__ from None
                raise _refuse(str(error)) from None

    app.include_router(routes)


def parse_question(raw: bytes) -> Question:
    """Read {"question": text, "question_id": text}, of which the id may be left out."""
    body = parse_json(raw)
    if not isinstance(body, dict) or set(body) - {"question", "question_id"}:
        raise BadRequestError("expected an object with question, and optional question_id")
    text = body.get("question")
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_QUESTION:
        raise BadRequestError(f"question: expected text of 1 to {MAX_QUESTION} characters")
    name = body.get("question_id", name_question(text))
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
        raise BadRequestError(f"question_id: expected text of 1 to {MAX_ID} characters")
    return Question(name, text)


@asynccontextmanager
async def _open_desk(consulting: Consulting) -> AsyncIterator[ConsultingDesk | None]:
    """Make the agents of /consult ready; None where agents.yaml was changed and cannot be read.

    `plumbline serve` has checked it. A worker that starts later must not stop the server.
    """
    async with AsyncExitStack() as stack:
        desk = None
        try:
            file = read_agents(consulting.agents)
            team = await stack.enter_async_context(open_team(file))
            desk = ConsultingDesk(file, team, asyncio.Semaphore(file.max_questions))
        except PlumblineError as error:
            log.critical("/consult answers 503 until the server is restarted: %s", error)
        yield desk


async def _consult(
    desk: ConsultingDesk, policy: ServedPolicy, consulting: Consulting, question: Question
) -> dict[str, Any]:
    listeners = []
    if consulting.records:
        listeners.append(AnswerRecords(consulting.records, policy.label, policy.form).append)
    consultation = Consultation(desk.file, desk.team, policy, listeners)
    return describe_as_json(await consultation.consult(question))


def _refuse(message: str) -> RequestError:
    return RequestError(503, "NOT_CONSULTED", message)
