"""Write metrics and params to a run of MLflow, under names that it takes."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient

# What no part of a name may hold or be; MLflow refuses a whole batch for one such name.
REFUSED = re.compile(r"[^\w\-. :]|^\.+$")
MAX_NAME = 250  # characters
MAX_PARAM = 6000  # characters
NUM_METRICS, NUM_PARAMS = 500, 100  # in a request; MLflow takes 1,000 and 100


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

    metrics = []
    for key, value in values.items():
        metrics.append(Metric(clean_name(key), value, time_ms, step, model_id=model_id))
    for start in range(0, len(metrics), NUM_METRICS):
        client.log_batch(run_id, metrics=metrics[start : start + NUM_METRICS])


def write_params(client: "MlflowClient", run_id: str, values: Mapping[str, str]) -> None:
    """Write params to a run; a long value is cut off, and one that is there already stays."""
    from mlflow.entities import Param
    from mlflow.exceptions import MlflowException

    params = [Param(clean_name(key), value[:MAX_PARAM]) for key, value in values.items()]
    for start in range(0, len(params), NUM_PARAMS):
        try:
            client.log_batch(run_id, params=params[start : start + NUM_PARAMS])
        except MlflowException as error:  # MLflow does not change a param
            if error.error_code != "INVALID_PARAMETER_VALUE":
                raise


def clean_name(name: str) -> str:
    """Return a name with `_` in place of what MLflow refuses, as in that of a class `C#`."""
    parts = name.split("/")
    return "/".join(REFUSED.sub("_", part) or "_" for part in parts)[:MAX_NAME].rstrip("/")
