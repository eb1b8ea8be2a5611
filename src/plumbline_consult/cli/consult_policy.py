"""Open the policy that `plumbline consult` is to follow."""

from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import ParamsError
from plumbline.terminal.options import parse_inference_params

if TYPE_CHECKING:
    from plumbline_consult.agents import AgentsFile
    from plumbline_consult.policy import Policy, PredictorPolicy


def open_policy(
    address: str, path: Path, file: "AgentsFile", form: str | None, pairs: list[str]
) -> "Policy":
    """Verify and load a registered version or the folder of a bundle; `all` is everyone.

    Raises ParamsError where it may ask for agents that agents.yaml at `path` lacks, or compares
    answers in another form than is asked for.
    """
    from plumbline import bundle
    from plumbline.registry.reader import open_version
    from plumbline_consult.everyone import LABEL, Everyone

    if address == LABEL:
        return Everyone(file, form or "exact")
    if Path(address).is_dir():
        bundle.verify(Path(address))
        policy = _load_folder(
            Path(address), bundle.digest(Path(address)), address, path, file, pairs
        )
    elif not address.startswith("models:/"):
        raise ParamsError(
            f"{address}: there is no such folder; expected models:/NAME@ALIAS, "
            "models:/NAME/VERSION, the folder of a bundle, or all"
        )
    else:
        with open_version(address, "predict") as version:
            label = version.registered.label
            policy = _load_folder(version.folder, version.bundle, label, path, file, pairs)
    if form not in (None, policy.form):
        raise ParamsError(f"--normalise {form}: the policy was trained on {policy.form}; omit it")
    return policy


def _load_folder(
    folder: Path, digest: str, label: str, path: Path, file: "AgentsFile", pairs: list[str]
) -> "PredictorPolicy":
    from plumbline import bundle
    from plumbline.registry.reader.loading import load_predictor
    from plumbline_consult.policy import PredictorPolicy, read_config

    config = read_config(folder, label, path, file)
    params = parse_inference_params(pairs, bundle.read_signature(folder).params)
    predictor = load_predictor(folder, digest, label)
    return PredictorPolicy(predictor, params, label, config)
