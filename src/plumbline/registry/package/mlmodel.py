"""Check a package before MLflow loads it: an MLmodel file can name any code to run."""

from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import digest_path

CODE = Path(__file__).with_name("pyfunc.py")
ARTIFACTS = {"bundle": "artifacts/bundle", "golden": "artifacts/golden.json"}
ENTRIES = {  # all that MLflow writes for a model that plumbline logs, but the files of the bundle
    "MLmodel", "artifacts", *ARTIFACTS.values(), "conda.yaml", "input_example.json",
    "model_card.md", "pyfunc.py", "python_env.yaml", "registered_model_meta", "requirements.txt",
    "serving_input_example.json",
}  # fmt: skip
FLAVOR = {  # what MLflow follows
    "artifacts": ARTIFACTS,
    "code": None,
    "env": {"conda": "conda.yaml", "virtualenv": "python_env.yaml"},
    "loader_module": "mlflow.pyfunc.loaders.code_model",
    "model_code_path": CODE.name,  # MLflow takes the last part of it, in the package
    "streamable": False,
}
NOT_FOLLOWED = ("cloudpickle_version", "python_version")


def check_package(package: Path) -> None:
    """BundleError where MLflow would run or read what plumbline did not write into `package`."""
    _check_entries(package)
    _check_flavor(package / "MLmodel")
    if digest_path(package / CODE.name) != digest_path(CODE):
        raise BundleError(
            f"{package / CODE.name}: not the code that plumbline packages models with; "
            "do not load it"
        )
    bundle.verify(package / ARTIFACTS["bundle"])


def _check_entries(package: Path) -> None:
    sealed = package / ARTIFACTS["bundle"]
    for path in sorted(package.rglob("*")):
        if sealed in path.parents:  # its seal names them
            continue
        if path.is_symlink() or path.relative_to(package).as_posix() not in ENTRIES:
            raise BundleError(
                f"{path}: a link, or does not belong to the package of a model; do not load it"
            )


def _check_flavor(path: Path) -> None:
    try:
        flavors: dict[str, Any] = dict(load_yaml(path)["flavors"])
        flavor: dict[str, Any] = dict(flavors.pop("python_function"))
        flavor["model_code_path"] = Path(flavor["model_code_path"]).name
        artifacts = flavor["artifacts"].items()
        flavor["artifacts"] = {name: artifact["path"] for name, artifact in artifacts}
    except (ParamsError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BundleError(
            f"{path}: damaged, or not an MLmodel written by plumbline ({error}); do not load it"
        ) from None
    others = {key: value for key, value in flavor.items() if key not in NOT_FOLLOWED}
    for key in sorted(others.keys() | FLAVOR.keys()):
        if key not in FLAVOR or others.get(key) != FLAVOR[key]:
            raise BundleError(
                f"{path}: {key} is {others.get(key)!r:.100}, a value that plumbline does not "
                "write; do not load it"
            )
    if flavors:
        raise BundleError(f"{path}: has other flavors than plumbline writes; do not load it")
