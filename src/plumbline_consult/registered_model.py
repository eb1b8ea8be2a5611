"""A registered plumbline model as an agent: verified, opened once, asked in a thread."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline import bundle
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.task import Signature
from plumbline.registry.reader import open_version
from plumbline.registry.reader.loading import ask_predictor
from plumbline_consult.agents import RegisteredModel
from plumbline_consult.replies import AgentError, Prompt, Reply, Usage, clean_text

ONE_ANSWER = Usage(0, 1, False)  # a model is paid by the answer: it counts as one token


class RegisteredResponder:
    """Puts the question into one input column and reads one output column."""

    def __init__(self, name: str, agent: RegisteredModel) -> None:
        self._agent = agent
        with open_version(agent.model, "predict") as version:
            self._label = version.registered.label
            self._predictor = version.load_predictor()
            _check_columns(name, agent, bundle.read_signature(version.folder), self._label)
        self._lock = asyncio.Lock()  # a predictor need not be safe for several threads

    async def respond(self, prompt: Prompt) -> Reply:
        """Answer once. Raises AgentError."""
        columns = {self._agent.question_column: [prompt.text]}
        try:
            async with self._lock:
                output = await asyncio.to_thread(
                    ask_predictor, self._predictor, columns, {}, self._label
                )
            (answer,) = output[self._agent.answer_column]
            confidence = self._read_confidence(output)
        except (PlumblineError, ValueError, TypeError, KeyError) as error:
            raise AgentError("model", clean_text(str(error))) from None
        return Reply(str(answer), ONE_ANSWER, confidence=confidence)

    async def close(self) -> None:
        """Nothing is held."""

    def _read_confidence(self, output: Mapping[str, Sequence[Any]]) -> float | None:
        if not self._agent.confidence_column:
            return None
        (confidence,) = output[self._agent.confidence_column]
        return float(confidence) if 0 <= float(confidence) <= 1 else None


def _check_columns(name: str, agent: RegisteredModel, signature: Signature, label: str) -> None:
    """ParamsError where the model has no such columns, or needs more than the question."""
    required = [field.name for field in signature.inputs if field.required]
    outputs = [field.name for field in signature.outputs]
    if required != [agent.question_column]:
        raise ParamsError(
            f"agents.{name}.question_column: {label} needs {', '.join(required)}; "
            "an agent is a model that needs one column, the question"
        )
    for key in ("answer_column", "confidence_column"):
        column = getattr(agent, key)
        if column and column not in outputs:
            raise ParamsError(
                f"agents.{name}.{key}: {label} has no {column!r}; it answers {', '.join(outputs)}"
            )
