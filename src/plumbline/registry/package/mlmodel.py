"""The package around a bundle, checked before MLflow sees it: an MLmodel file can name code of anybody's to be run."""

from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.contract.params import load_yaml

CODE = Path(__file__).with_name("pyfunc.py")
ENTRIES = {  # all that MLflow writes for a model of ours
    "MLmodel", "artifacts", "conda.yaml", "input_example.json", "pyfunc.py", "python_env.yaml", "registered_model_meta",
    "requirements.txt", "serving_input_example.json",
}  # fmt: skip
ARTIFACTS = {"bundle": "artifacts/bundle", "golden": "artifacts/golden.json"}
FLAVOR = {  # key -> what it may say; None: anything, it is not followed
    "artifacts": None,
    "cloudpickle_version": None,
    "code": (None,),
    "env": ({"conda": "conda.yaml", "virtualenv": "python_env.yaml"},),
    "loader_module": ("mlflow.pyfunc.loaders.code_model",),
    "model_code_path": None,  # MLflow takes the last part of it, in the package
    "python_version": None,
    "streamable": (False,),
}


def check(package: Path) -> None:
    """BundleError where MLflow, loading the model in the folder `package`, would run or read what is not ours."""
    if extra := sorted({path.name for path in package.iterdir()} - ENTRIES):
        raise BundleError(
            f"{package / extra[0]}: does not belong to the package of a model; do not load it"
        )
    if extra := sorted(
        {path.name for path in (package / "artifacts").glob("*")} ^ {"bundle", "golden.json"}
    ):
        raise BundleError(
            f"{package / 'artifacts' / extra[0]}: missing, or does not belong to the package of a model"
        )
    for path in [*package.iterdir(), package / "artifacts/golden.json"]:
        if path.is_symlink() or not (path.is_dir() if path.name == "artifacts" else path.is_file()):
            raise BundleError(f"{path}: is a link, or no plain file; do not load it")
    _check_flavor(package / "MLmodel")
    if layout.digest(package / CODE.name) != layout.digest(CODE):
        raise BundleError(
            f"{package / CODE.name}: is not the code that plumbline packages models with; do not load it"
        )
    bundle.verify(package / ARTIFACTS["bundle"])


def _check_flavor(path: Path) -> None:
    try:
        told: Any = load_yaml(path)
        flavors: dict[str, Any] = dict(told["flavors"])
        found: dict[str, Any] = dict(flavors.pop("python_function"))
        code = Path(found["model_code_path"]).name
        artifacts = {name: about["path"] for name, about in found["artifacts"].items()}
    except (ParamsError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BundleError(
            f"{path}: damaged, or no MLmodel of ours ({error}); do not load it"
        ) from None
    for key, value in found.items():
        allowed = FLAVOR.get(key, ())
        if allowed is not None and value not in allowed:
            raise BundleError(
                f"{path}: {key} is {value!r:.100}, which a model of ours does not say; do not load it"
            )
    if flavors or set(found) != set(FLAVOR):
        raise BundleError(f"{path}: has other flavors or keys than a model of ours; do not load it")
    if code != CODE.name:
        raise BundleError(f"{path}: model_code_path leads to {code!r:.100}; do not load it")
    if artifacts != ARTIFACTS:
        raise BundleError(
            f"{path}: its artifacts are {artifacts!r:.200}; expected {ARTIFACTS}; do not load it"
        )
