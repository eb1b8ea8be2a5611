"""Write metrics and params to a run of MLflow, and note on it what MLflow never accepts."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow import MlflowClient

REFUSED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")  # what will never be accepted
REFUSED_TAG = "plumbline.refused_by_mlflow"
ADDRESS = re.compile(r"[\w+.-]+://?[^\s'\"]*")  # it may hold a password
MAX_REASON = 500  # characters
MAX_PARAM = 6000  # characters
NUM_METRICS, NUM_PARAMS = 500, 100  # in a request; MLflow takes 1,000 and 100


@contextmanager
def note_refusals(client: "MlflowClient", run_id: str) -> Iterator[None]:
    """Record on the run what MLflow refuses for good; any other failure is raised."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        if error.error_code not in REFUSED:
            raise
        client.set_tag(run_id, REFUSED_TAG, ADDRESS.sub("(address)", str(error))[:MAX_REASON])


def write_metrics(
    client: "MlflowClient",
    run_id: str,
    values: Mapping[str, float],
    time_ms: int,
    step: int = 0,
    model_id: str | None = None,
) -> None:
    """Write metrics to a run and, where it is named, to a model of MLflow."""
    from mlflow.entities import Metric

    metrics = [Metric(key, v, time_ms, step, model_id=model_id) for key, v in values.items()]
    _write_batches(client, run_id, "metrics", metrics, NUM_METRICS)


def write_params(client: "MlflowClient", run_id: str, values: Mapping[str, str]) -> None:
    """Write params to a run; a long value is cut off."""
    from mlflow.entities import Param

    params = [Param(key, value[:MAX_PARAM]) for key, value in values.items()]
    _write_batches(client, run_id, "params", params, NUM_PARAMS)


def _write_batches(
    client: "MlflowClient", run_id: str, kind: str, entries: list[Any], size: int
) -> None:
    for start in range(0, len(entries), size):
        _write_batch(client, run_id, kind, entries[start : start + size])


def _write_batch(client: "MlflowClient", run_id: str, kind: str, entries: list[Any]) -> None:
    """Write a batch; MLflow refuses it as a whole for one entry, so then one by one."""
    from mlflow.exceptions import MlflowException

    try:
        client.log_batch(run_id, **{kind: entries})
    except MlflowException as error:
        if error.error_code not in REFUSED:
            raise
        for entry in entries:
            with note_refusals(client, run_id):
                client.log_batch(run_id, **{kind: [entry]})
