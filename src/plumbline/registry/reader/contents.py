"""Fetch the files of a registered version and verify them: bundle, golden rows and signature."""

import os
from pathlib import Path

from plumbline import bundle
from plumbline.bundle import seal_format, signatures, strict
from plumbline.bundle.files import MAX_BYTES
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.process.files import digest_path
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import BUNDLE_TAG, GOLDEN_TAG
from plumbline.registry.reader.stores import RegisteredVersion, RegistryStore

FILES, GOLDEN = "bundle", "golden.json"  # of a copy, named as in the package
MAX_GOLDEN = 64 << 20  # bytes


def find_public_key() -> Path | None:
    """The key whose owner must have signed a version: PLUMBLINE_PUBLIC_KEY, or None.

    ParamsError where the variable is set and empty: that would check nothing, without a word.
    """
    path = os.environ.get("PLUMBLINE_PUBLIC_KEY")
    if path is None:
        return None
    if not path.strip():
        raise ParamsError(
            "PLUMBLINE_PUBLIC_KEY is empty: name the PEM file of a public key, or unset it to use "
            "versions that nobody signed"
        )
    return Path(path)


def read_digest(version: RegisteredVersion, tag: str) -> str:
    """Read a digest from a version's tags; BundleError where it is not a SHA-256."""
    value = version.tags.get(tag, "")
    if not seal_format.DIGEST.fullmatch(value):
        raise BundleError(
            f"{version.label}: its tag {tag} is {value!r:.100}, not a SHA-256; "
            "register it again with `dvc repro`"
        )
    return value


def fetch_contents(store: RegistryStore, version: RegisteredVersion, target: Path) -> str:
    """Fetch the seal, then what it names and no more, into a new folder; return the task.

    BundleError where anything is not what was registered: then nothing in `target` may be used.
    """
    bundle_digest = read_digest(version, BUNDLE_TAG)
    golden_digest = read_digest(version, GOLDEN_TAG)
    files = target / FILES
    for folder in (target, files):
        folder.mkdir(mode=0o700)

    def fetch(name: str, path: Path, limit: int) -> None:
        artifacts.fetch_artifact(store, version.package, f"artifacts/{name}", path, limit)

    fetch(f"{FILES}/{seal_format.SEAL}", files / seal_format.SEAL, seal_format.MAX_SEAL)
    _check_bundle_digest(files, bundle_digest, version.label)
    seal = (files / seal_format.SEAL).read_bytes()
    sealed = seal_format.parse_seal(seal, Path(version.label) / seal_format.SEAL)
    left = MAX_BYTES
    for name in sealed["files"]:
        (files / name).parent.mkdir(mode=0o700, exist_ok=True)
        fetch(f"{FILES}/{name}", files / name, left)
        left -= (files / name).stat().st_size
    fetch(GOLDEN, target / GOLDEN, MAX_GOLDEN)
    return verify_contents(target, bundle_digest, golden_digest, version.label)


def verify_contents(
    folder: Path, bundle_digest: str, golden_digest: str, label: str | None = None
) -> str:
    """Return the task of a copy in `folder` whose files have these digests; else BundleError.

    In errors the folder is called `label`.
    """
    label = label or str(folder)
    sealed = bundle.verify(folder / FILES, Path(label))
    _check_bundle_digest(folder / FILES, bundle_digest, label)
    _check_golden(folder / GOLDEN, golden_digest, f"{label}/{GOLDEN}")
    return str(sealed["task"])


def verify_signature(
    store: RegistryStore, version: RegisteredVersion, files: Path, key: Path, target: Path
) -> None:
    """Check `files` against the signature beside the version, which is fetched to `target`.

    BundleError where the owner of the public `key` did not sign these files.
    """
    fetch_signature(store, version, key, target)
    signatures.verify_signature(files, target, key, Path(version.label))


def fetch_signature(
    store: RegistryStore, version: RegisteredVersion, key: Path, target: Path
) -> None:
    """Fetch the signature beside a version to `target`; BundleError where there is none."""
    if version.run_files is None:
        raise BundleError(f"{version.label}: is not signed (its run does not exist); do not use it")
    try:
        artifacts.fetch_artifact(
            store, version.run_files, signatures.NAME, target, signatures.MAX_BYTES
        )
    except artifacts.MissingArtifactError:
        raise BundleError(
            f"{version.label}: is not signed, and only what {key} signed may be used here"
        ) from None


def _check_bundle_digest(files: Path, expected: str, label: str) -> None:
    actual = bundle.digest(files)
    if actual != expected:
        raise BundleError(
            f"{label}: bundle digest mismatch: expected {expected}, found {actual}; do not use it"
        )


def _check_golden(path: Path, expected: str, label: str) -> None:
    try:
        actual = digest_path(path)
        if actual != expected:
            raise BundleError(
                f"{label}: digest mismatch: expected {expected}, found {actual}; "
                "do not use this version"
            )
        rows = strict.parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BundleError(f"{label}: damaged ({error}); do not use this version") from None
    match rows:
        case {"inputs": dict(), "params": dict(), "outputs": dict()}:
            return
    raise BundleError(f"{label}: holds no inputs, params and outputs; do not use this version")
