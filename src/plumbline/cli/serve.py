"""`plumbline serve`: an option for each of the server's settings."""

import inspect
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from plumbline.serving.settings import Settings

ModelToFollow = Annotated[
    str,
    typer.Argument(
        help="models:/NAME@ALIAS, followed when the alias moves, or models:/NAME/VERSION."
    ),
]
EXAMPLE = "plumbline serve models:/ticket-router@champion --port 8000"


def serve(**options: Any) -> None:
    """Serve a registered model over HTTP.

    MLflow's /invocations, Open Inference Protocol v2, a page at /, /metrics.
    """
    from plumbline.serving import server

    server.serve(Settings(**options))


def _describe_options() -> inspect.Signature:
    """Describe the command to typer: the model, and each setting with arguments of an option."""
    hints = get_type_hints(Settings, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("model", keyword, annotation=ModelToFollow)]
    for setting in fields(Settings):
        hint = hints[setting.name]
        if get_origin(hint) is Annotated:
            kind, arguments = get_args(hint)
            default = [] if setting.default is MISSING else setting.default
            option = Annotated[kind, typer.Option(**arguments)]  # type: ignore[valid-type]
            parameters.append(
                inspect.Parameter(setting.name, keyword, default=default, annotation=option)
            )
    return inspect.Signature(parameters)


serve.__signature__ = _describe_options()  # type: ignore[attr-defined]
