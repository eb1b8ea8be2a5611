"""A shadow: a version that gets the requests too, and whose answers are only compared."""

from plumbline.contract.answers import count_differing_rows
from plumbline.serving import metrics
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer, LoadedModel


async def mirror_to_shadow(
    shadow: LoadedModel, request: InferenceRequest, answer: Answer, timeout_s: float
) -> None:
    """Send a request to the shadow too, if it has room, and compare it with the answer given."""
    if shadow.is_full:
        return
    try:
        columns, _ = await shadow.answer(request, timeout_s)
    except RequestError:
        metrics.COMPARED.labels("shadow", "failed").inc(request.num_rows)
        return
    num_differing = count_differing_rows(answer.columns, columns)
    metrics.count_compared("shadow", request.num_rows, num_differing)
