"""champion.json: in git, the champion that `dvc repro` compares with, so that a comparison can be repeated."""

from dataclasses import asdict, dataclass

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError


@dataclass(frozen=True)
class Pointer:
    """A champion: its version in the registry, and the digest of its bundle."""

    version: str
    bundle: str


def read() -> dict[str, Pointer | None]:
    """Which champion is pinned for each model that champion.json names; None: compare with none.

    A model that is not in it is not pinned: the registry says who is champion. PlumblineError where it is damaged.
    """
    if not layout.CHAMPION.exists():
        return {}
    try:
        found = layout.read_json(layout.CHAMPION)
        if not isinstance(found, dict):
            raise ValueError(f"found {found!r} in place of models")  # noqa: TRY301, TRY004  told as any other damage
        return {name: _pointer(value) for name, value in found.items()}
    except (OSError, ValueError) as error:
        raise PlumblineError(
            f"{layout.CHAMPION}: damaged ({error}); `git checkout {layout.CHAMPION}` brings the committed one back"
        ) from None


def write(name: str, champion: Pointer | None) -> None:
    """Pin `champion` for the model; what is pinned for others stays."""
    pins = read() | {name: champion}
    try:
        layout.write_json(
            layout.CHAMPION, {name: pin and asdict(pin) for name, pin in pins.items()}
        )
    except OSError as error:
        raise PlumblineError(
            f"{layout.CHAMPION}: cannot be written ({error.strerror}); then `plumbline champion {name} --pin`"
        ) from None


def belongs_here() -> bool:
    """Whether the cwd is a checkout: a decision that is made elsewhere leaves no file behind."""
    return layout.CHAMPION.exists() or layout.PARAMS.exists()


def _pointer(value: object) -> Pointer | None:
    if value is None:
        return None
    match value:
        case {"version": str(version), "bundle": str(digest), **rest} if not rest:
            return Pointer(version, digest)
    raise ValueError(f"found {value!r} in place of a version and a bundle")
