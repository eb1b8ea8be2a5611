"""champion.json: in git, the champion that `dvc repro` compares with, to repeat a comparison."""

from dataclasses import asdict, dataclass

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError


@dataclass(frozen=True)
class ChampionPin:
    """A champion: its version in the registry, and the digest of its bundle."""

    version: str
    bundle: str


def read_pins() -> dict[str, ChampionPin | None]:
    """Read which champion is pinned for each model in champion.json; None: compare with none.

    A model that is not in it is not pinned: the registry says who is champion. PlumblineError
    where the file is damaged.
    """
    if not layout.CHAMPION.exists():
        return {}
    try:
        values = layout.read_json(layout.CHAMPION)
        if not isinstance(values, dict):
            raise ValueError(f"found {values!r} in place of models")  # noqa: TRY301, TRY004  reported as any other damage
        return {name: _parse_pin(value) for name, value in values.items()}
    except (OSError, ValueError) as error:
        raise PlumblineError(
            f"{layout.CHAMPION}: damaged ({error}); "
            f"`git checkout {layout.CHAMPION}` brings the committed one back"
        ) from None


def write_pin(name: str, champion: ChampionPin | None) -> None:
    """Pin `champion` for the model; what is pinned for others stays."""
    pins = read_pins() | {name: champion}
    values = {model: pin and asdict(pin) for model, pin in pins.items()}
    try:
        layout.write_json(layout.CHAMPION, values)
    except OSError as error:
        raise PlumblineError(
            f"{layout.CHAMPION}: cannot be written ({error.strerror}); "
            f"then `plumbline champion {name} --pin`"
        ) from None


def is_checkout() -> bool:
    """Whether the cwd is a checkout: a decision that is made elsewhere leaves no file behind."""
    return layout.CHAMPION.exists() or layout.PARAMS.exists()


def _parse_pin(value: object) -> ChampionPin | None:
    if value is None:
        return None
    match value:
        case {"version": str(version), "bundle": str(digest), **rest} if not rest:
            return ChampionPin(version, digest)
    raise ValueError(f"found {value!r} in place of a version and a bundle")
