"""`plumbline serve`: an option for each of the server's settings."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

from plumbline.serving.settings import Settings

EXAMPLE = "plumbline serve models:/ticket-router@champion --port 8000"


def serve(**options: Any) -> None:
    """Serve a registered model over HTTP.

    MLflow's /invocations, Open Inference Protocol v2, a page at /, /metrics.
    """
    from plumbline.serving import server

    server.serve(Settings(**options))


def _describe_options() -> inspect.Signature:
    """Describe the command to typer: a parameter for each setting that is annotated with one."""
    hints = get_type_hints(Settings, include_extras=True)
    initial = Settings("")
    parameters: list[inspect.Parameter] = []
    for setting in fields(Settings):
        if hasattr(hints[setting.name], "__metadata__"):
            default = getattr(initial, setting.name) if parameters else inspect.Parameter.empty
            parameter = inspect.Parameter(
                setting.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=hints[setting.name],
            )
            parameters.append(parameter)
    return inspect.Signature(parameters)


serve.__signature__ = _describe_options()  # type: ignore[attr-defined]
