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
from plumbline.serving.http_protocol import is_client_disconnected
from plumbline.serving.inference_request import InferenceRequest, build_request
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.responses import make_json_response, read_body
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Consulting, Settings
from plumbline.serving.strict_json import parse_json
from plumbline_consult.answer_records import AnswerRecords
from plumbline_consult.consultation import Consultation
from plumbline_consult.course import Question, describe_as_json, name_question
from plumbline_consult.desk import ConsultingDesk, open_desk
from plumbline_consult.policy import (
    KnownAnswers,
    PolicyConfig,
    PolicyDecision,
    read_decision,
)
from plumbline_consult.team import build_terms

if TYPE_CHECKING:
    from plumbline.serving.added_routes import AnswerRequest

MAX_QUESTION = 100_000  # characters
MAX_ID = 200
WATCH_S = 0.2  # between looks whether the client is still there
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
        return read_decision(answer.columns, self.label)


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
        async with _open_desk(consulting, router) as app.state.desk:
            yield

    routes = APIRouter(lifespan=run_lifespan)

    @routes.post("/consult", name="consult", openapi_extra=DESCRIPTION)
    async def consult(request: Request) -> Response:
        desk = _get_desk(request)
        question = parse_question(await read_body(request, settings.limits))
        policy = _build_policy(desk, router, lambda parsed: answer_request(request, router, parsed))
        if desk.slots.locked():
            raise OverloadedError
        async with desk.slots:
            task = asyncio.create_task(_consult(desk, policy, question))
            return make_json_response(await _await_while_connected(task, request))

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
async def _open_desk(consulting: Consulting, router: TrafficRouter) -> AsyncIterator[Any]:
    """Make the agents of /consult ready; None where they cannot be opened.

    `plumbline serve` refused agents that could not be opened when it was called. A worker that
    starts later must not stop the server: the champion may have moved, or the registry be gone.
    """
    async with AsyncExitStack() as stack:
        desk = None
        if router.champion:
            opening = open_desk(consulting, router.champion.cached)
            try:
                desk = await stack.enter_async_context(opening)
            except (PlumblineError, OSError) as error:
                log.critical("/consult answers 503 until the server is restarted: %s", error)
        yield desk


def _get_desk(request: Request) -> ConsultingDesk:
    """Return what this worker opened when it started; RequestError (503) where it could not."""
    desk: ConsultingDesk | None = request.app.state.desk
    if desk is None:
        message = "this worker could not open the agents, its log says why: restart the server"
        raise RequestError(503, "NOT_CONSULTED", message)
    return desk


async def _consult(
    desk: ConsultingDesk, policy: ServedPolicy, question: Question
) -> dict[str, Any]:
    observers = []
    if desk.settings.records:
        observers.append(AnswerRecords(desk.settings.records, policy.label, policy.form))
    consultation = Consultation(desk.team, policy, observers)
    try:
        result = await consultation.consult(question, build_terms(question, desk.file))
    except PlumblineError as error:
        if isinstance(error.__cause__, RequestError):
            raise error.__cause__ from None
        raise RequestError(503, "NOT_CONSULTED", str(error)) from None
    return describe_as_json(result)


async def _await_while_connected(task: "asyncio.Task[dict[str, Any]]", request: Request) -> Any:
    """Await the task; when the client has gone, cancel it, since nobody reads what is paid for."""
    while not task.done():
        await asyncio.wait([task], timeout=WATCH_S)
        if is_client_disconnected(request.scope):
            task.cancel()
            raise RequestError(400, "DISCONNECTED", "the client disconnected")
    return task.result()


def _build_policy(
    desk: ConsultingDesk,
    router: TrafficRouter,
    decide_row: Callable[[InferenceRequest], Awaitable[Answer]],
) -> ServedPolicy:
    """The champion as it is now; RequestError (503) where it is not a policy over these agents."""
    model = router.champion
    if model is None:
        raise NotReadyError
    try:
        config = desk.read_policy(model.cached)
    except PlumblineError as error:
        raise RequestError(503, "NOT_CONSULTED", str(error)) from None
    if config.form != desk.form:
        message = f"the new champion compares answers as {config.form}: restart the server"
        raise RequestError(503, "NOT_CONSULTED", message)
    label = f"{model.cached.name} version {model.cached.version}"
    return ServedPolicy(decide_row, model, label, config)
