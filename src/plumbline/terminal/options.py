"""Arguments and options that several commands take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.value_types import get_value_type

if TYPE_CHECKING:
    from plumbline.contract.task import Param

ModelName = Annotated[str, typer.Argument(help="The registered model, such as ticket-router.")]
ModelNameOrParams = Annotated[
    str,
    typer.Argument(
        help="The registered model, such as ticket-router.",
        show_default="registry.model in params.yaml",
    ),
]
ADDRESS = "models:/NAME@ALIAS or models:/NAME/VERSION"
ModelAddress = Annotated[str, typer.Argument(metavar="MODEL", help=f"{ADDRESS}.")]
ChampionAddress = Annotated[
    str,
    typer.Option(
        "--model", help=f"{ADDRESS}.", show_default="the champion of registry.model in params.yaml"
    ),
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a row, not a table.")
]
Version = Annotated[str, typer.Argument(help="The version, such as 7.")]
DEFAULT_TASK = "text_classification"
TaskName = Annotated[str, typer.Option("--task", help="A task, as params.yaml names it.")]
Reason = Annotated[str, typer.Option(help="Why; written to the journal.", show_default="no reason")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for another program.")]
InferenceParams = Annotated[
    list[str],
    typer.Option(
        "--param",
        "-p",
        help="An inference parameter, such as top_k=5. May be repeated.",
        show_default="the model's own defaults",
    ),
]


def parse_inference_params(pairs: list[str], params: "Sequence[Param]") -> dict[str, Any]:
    """Read name=value pairs, each value as the type that the signature declares for its name.

    Raises ParamsError for a name that is not among `params` and for a value of another type.
    """
    types = {param.name: param.type for param in params}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in types:
            hint = suggest_nearest(name, list(types)) or f"; known: {', '.join(types) or 'none'}"
            raise ParamsError(f"--param {name}: unknown{hint}")
        kind = get_value_type(types[name])
        try:
            values[name] = kind.read_text(value)
        except ValueError:
            raise ParamsError(f"--param {name}: expected {kind.title}, found {value!r}") from None
    return values
