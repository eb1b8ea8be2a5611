"""champion.json: in git, the champion that `dvc repro` compares with, to repeat a comparison.

It names the journal's entry that made it champion, with its seal: git is a witness of the journal
up to there.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from plumbline.contract import layout
from plumbline.contract.errors import JournalIntegrityError, PlumblineError
from plumbline.process.files import write_json
from plumbline.registry.journal import Entry


@dataclass(frozen=True)
class ChampionPin:
    """A champion: its version, the digest of its bundle, and the entry that made it champion."""

    version: str
    bundle: str
    entry: int
    seal: str


def build_pin(entry: Entry) -> ChampionPin:
    """Return the pin on the champion that a decision made."""
    return ChampionPin(entry.version, entry.bundle, entry.number, entry.seal)


def read_pins() -> dict[str, ChampionPin | None]:
    """Read which champion is pinned for each model in champion.json; None: compare with none.

    A model that is not in it is not pinned: the registry says who is champion. PlumblineError
    where the file is damaged.
    """
    if not layout.CHAMPION.exists():
        return {}
    from pydantic import TypeAdapter, ValidationError  # slow to load, and --help comes here

    try:
        pins = TypeAdapter(dict[str, ChampionPin | None])
        return pins.validate_json(layout.CHAMPION.read_bytes())
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise PlumblineError(
            f"{layout.CHAMPION}: damaged ({reason}); "
            f"`git checkout {layout.CHAMPION}` brings the committed one back"
        ) from None


def write_pin(name: str, champion: ChampionPin | None) -> None:
    """Pin `champion` for the model; what is pinned for others stays."""
    pins = read_pins() | {name: champion}
    try:
        write_json(layout.CHAMPION, {key: pin and asdict(pin) for key, pin in pins.items()})
    except OSError as error:
        raise PlumblineError(
            f"{layout.CHAMPION}: cannot be written ({error.strerror}); "
            f"correct that, then run `plumbline champion {name} --pin`"
        ) from None


def is_checkout() -> bool:
    """Whether the cwd is a checkout: a decision that is made elsewhere leaves no file behind."""
    return layout.CHAMPION.exists() or layout.PARAMS.exists()


def require_decision(name: str, pin: ChampionPin, entries: Sequence[Entry]) -> Entry:
    """Return the entry that made the pinned version champion; `entries` are the whole journal.

    JournalIntegrityError where the journal does not contain it as git recorded it: then its end was
    cut off or it was exchanged, or champion.json was edited.
    """
    for entry in entries:
        if entry.moves and entry.model == name and build_pin(entry) == pin:
            return entry
    raise JournalIntegrityError(
        f"{layout.CHAMPION}: journal entry {pin.entry} made {name} version {pin.version} champion, "
        "and the journal does not contain that entry. Restore the journal from a backup; or, if "
        f"this file was edited, `plumbline champion {name} --pin` writes it again"
    )
