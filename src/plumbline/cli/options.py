"""Arguments and options that several commands take."""

from typing import Annotated, Any

import typer

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest

ModelName = Annotated[str, typer.Argument(help="The registered model, such as ticket-router.")]
ModelNameOrParams = Annotated[
    str,
    typer.Argument(
        help="The registered model, such as ticket-router.",
        show_default="registry.model in params.yaml",
    ),
]
Version = Annotated[str, typer.Argument(help="The version, such as 7.")]
DEFAULT_TASK = "text_classification"
TaskName = Annotated[str, typer.Option("--task", help="A task under src/plumbline/tasks/.")]
Reason = Annotated[str, typer.Option(help="Why; written to the journal.", show_default="no reason")]
InferenceParams = Annotated[
    list[str],
    typer.Option(
        "--param",
        "-p",
        help="An inference parameter, such as top_k=5. May be repeated.",
        show_default="the model's own defaults",
    ),
]


def parse_inference_params(pairs: list[str], defaults: dict[str, Any]) -> dict[str, Any]:
    """Read name=value pairs, each value as the type of that parameter's default.

    Raises ParamsError for a name that is not in `defaults` and for a value of another type.
    """
    params: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in defaults:
            hint = suggest_nearest(name, list(defaults)) or "; known: " + ", ".join(defaults)
            raise ParamsError(f"--param {name}: unknown{hint}")
        expected = type(defaults[name])
        try:
            params[name] = expected(value)
        except ValueError:
            message = f"--param {name}: expected a {expected.__name__}, found {value!r}"
            raise ParamsError(message) from None
    return params
