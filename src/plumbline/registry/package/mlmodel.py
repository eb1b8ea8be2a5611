"""Check a package before MLflow loads it: an MLmodel file can name any code to run."""

import shutil
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import digest_path

CODE = Path(__file__).with_name("pyfunc.py")
ENTRIES = {  # all that MLflow writes for a model that plumbline logs
    "MLmodel", "artifacts", "conda.yaml", "input_example.json", "model_card.md", "pyfunc.py",
    "python_env.yaml",
    "registered_model_meta", "requirements.txt", "serving_input_example.json",
}  # fmt: skip
BYTECODE = "__pycache__"
ARTIFACTS = {"bundle": "artifacts/bundle", "golden": "artifacts/golden.json"}
FLAVOR = {  # key -> the values that it may have; None: any, it is not followed
    "artifacts": None,
    "cloudpickle_version": None,
    "code": (None,),
    "env": ({"conda": "conda.yaml", "virtualenv": "python_env.yaml"},),
    "loader_module": ("mlflow.pyfunc.loaders.code_model",),
    "model_code_path": None,  # MLflow takes the last part of it, in the package
    "python_version": None,
    "streamable": (False,),
}


def check_package(package: Path) -> None:
    """BundleError where MLflow would run or read what plumbline did not write into `package`."""
    _check_entries(package)
    _check_plain_files(package)
    _check_flavor(package / "MLmodel")
    if digest_path(package / CODE.name) != digest_path(CODE):
        raise BundleError(
            f"{package / CODE.name}: not the code that plumbline packages models with; "
            "do not load it"
        )
    bundle.verify(package / ARTIFACTS["bundle"])


def drop_bytecode(package: Path) -> None:
    """Remove the bytecode that a Python beside the store left of pyfunc.py: it is never run."""
    if _is_bytecode(package / BYTECODE):
        shutil.rmtree(package / BYTECODE)


def _is_bytecode(folder: Path) -> bool:
    """Whether a folder is what Python itself writes beside a module, and holds nothing else."""
    if folder.name != BYTECODE or folder.is_symlink() or not folder.is_dir():
        return False
    return all(
        path.suffix == ".pyc" and path.is_file() and not path.is_symlink()
        for path in folder.iterdir()
    )


def _check_entries(package: Path) -> None:
    """Bytecode of pyfunc.py is not refused, but dropped before anything is loaded."""
    names = {path.name for path in package.iterdir() if not _is_bytecode(path)}
    extra = sorted(names - ENTRIES)
    if extra:
        raise BundleError(
            f"{package / extra[0]}: does not belong to the package of a model; do not load it"
        )
    artifacts = {path.name for path in (package / "artifacts").glob("*")}
    wrong = sorted(artifacts ^ {"bundle", "golden.json"})
    if wrong:
        raise BundleError(
            f"{package / 'artifacts' / wrong[0]}: missing, or does not belong to the package of a "
            "model"
        )


def _check_plain_files(package: Path) -> None:
    entries = [path for path in package.iterdir() if not _is_bytecode(path)]
    for path in [*entries, package / "artifacts/golden.json"]:
        is_expected_kind = path.is_dir() if path.name == "artifacts" else path.is_file()
        if path.is_symlink() or not is_expected_kind:
            raise BundleError(f"{path}: a link, or not a plain file; do not load it")


def _check_flavor(path: Path) -> None:
    try:
        model: Any = load_yaml(path)
        flavors: dict[str, Any] = dict(model["flavors"])
        flavor: dict[str, Any] = dict(flavors.pop("python_function"))
        code = Path(flavor["model_code_path"]).name
        artifacts = {name: artifact["path"] for name, artifact in flavor["artifacts"].items()}
    except (ParamsError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BundleError(
            f"{path}: damaged, or not an MLmodel written by plumbline ({error}); do not load it"
        ) from None
    for key, value in flavor.items():
        allowed = FLAVOR.get(key, ())
        if allowed is not None and value not in allowed:
            raise BundleError(
                f"{path}: {key} is {value!r:.100}, a value that plumbline does not write; "
                "do not load it"
            )
    if flavors or set(flavor) != set(FLAVOR):
        raise BundleError(
            f"{path}: has other flavors or keys than plumbline writes; do not load it"
        )
    if code != CODE.name:
        raise BundleError(f"{path}: model_code_path leads to {code!r:.100}; do not load it")
    if artifacts != ARTIFACTS:
        raise BundleError(
            f"{path}: its artifacts are {artifacts!r:.200}; expected {ARTIFACTS}; do not load it"
        )
