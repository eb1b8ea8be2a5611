"""Fetch the files of a registered version and verify them: bundle, golden rows and signature."""

from pathlib import Path

from plumbline import bundle
from plumbline.bundle import seal_format, signatures
from plumbline.bundle.files import MAX_BYTES
from plumbline.bundle.verification import compare_digests
from plumbline.contract.errors import BundleError
from plumbline.process.files import digest_path
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import BUNDLE_TAG, GOLDEN_TAG
from plumbline.registry.reader.run_files import fetch_signature
from plumbline.registry.reader.stores import RegisteredVersion, RegistryStore

FILES, GOLDEN = "bundle", "golden.json"  # of a copy, named as in the package
MAX_GOLDEN = 64 << 20  # bytes


def read_digest(version: RegisteredVersion, tag: str) -> str:
    """Read a digest from a version's tags; BundleError where it is not a SHA-256."""
    value = version.tags.get(tag, "")
    if not seal_format.DIGEST.fullmatch(value):
        raise BundleError(
            f"{version.label}: its tag {tag} is {value!r:.100}, not a SHA-256; "
            "register it again with `dvc repro`"
        )
    return value


def fetch_contents(
    store: RegistryStore, version: RegisteredVersion, target: Path, key: Path | None = None
) -> str:
    """Fetch the seal, then what it names and no more, into a new folder; return the task.

    BundleError where anything is not what was registered, or the owner of the public `key` did not
    sign it: then nothing in `target` may be used.
    """
    bundle_digest = read_digest(version, BUNDLE_TAG)
    golden_digest = read_digest(version, GOLDEN_TAG)
    files = target / FILES
    for folder in (target, files):
        folder.mkdir(mode=0o700)

    def fetch(name: str, path: Path, limit: int) -> None:
        artifacts.fetch_artifact(store, version.package, f"artifacts/{name}", path, limit)

    fetch(f"{FILES}/{seal_format.SEAL}", files / seal_format.SEAL, seal_format.MAX_SEAL)
    compare_digests(bundle_digest, bundle.digest(files), Path(version.label))
    seal = (files / seal_format.SEAL).read_bytes()
    sealed = seal_format.parse_seal(seal, Path(version.label) / seal_format.SEAL)
    left = MAX_BYTES
    for name in sealed["files"]:
        (files / name).parent.mkdir(mode=0o700, exist_ok=True)
        fetch(f"{FILES}/{name}", files / name, left)
        left -= (files / name).stat().st_size
    fetch(GOLDEN, target / GOLDEN, MAX_GOLDEN)
    task = verify_contents(target, bundle_digest, golden_digest, version.label)
    if key is not None:
        signature = fetch_signature(version, signatures.NAME, target, key)
        signatures.verify_signature(files, signature, key, Path(version.label))
    return task


def verify_contents(
    folder: Path, bundle_digest: str, golden_digest: str, label: str | None = None
) -> str:
    """Return the task of a copy in `folder` whose files have these digests; else BundleError.

    In errors the folder is called `label`.
    """
    label = label or str(folder)
    sealed = bundle.verify(folder / FILES, Path(label))
    compare_digests(bundle_digest, bundle.digest(folder / FILES), Path(label))
    _check_golden(folder / GOLDEN, golden_digest, f"{label}/{GOLDEN}")
    return str(sealed["task"])


def _check_golden(path: Path, expected: str, label: str) -> None:
    try:
        actual = digest_path(path)
    except OSError as error:
        raise BundleError(f"{label}: damaged ({error}); do not use this version") from None
    if actual != expected:
        raise BundleError(
            f"{label}: digest mismatch: expected {expected}, found {actual}; do not use it"
        )
