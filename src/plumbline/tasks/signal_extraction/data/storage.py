"""Realisations on disk: plain arrays, their ids, and the setting that they come from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.tasks.signal_extraction.data.setting import Setting

SETTING = "setting.json"


@dataclass(frozen=True)
class Realisations:
    """One split: R realisations of K components and N samples each."""

    ids: list[str]
    signals: np.ndarray  # [R, N]
    components: np.ndarray  # [R, K, N]


def write_setting(examples: Path, found: Setting) -> None:
    """Put the setting beside the realisations."""
    layout.write_json(examples / SETTING, asdict(found))


def setting(examples: Path) -> Setting:
    """The setting that the realisations in the folder `examples` come from."""
    try:
        found = json.loads((examples / SETTING).read_text(encoding="utf-8"))
        return Setting(**found | {"frequencies_hz": tuple(found["frequencies_hz"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{examples / SETTING}: cannot be read ({error}); run `dvc repro ingest`"
        ) from None


def write(examples: Path, split: str, found: Realisations) -> None:
    """Write one split."""
    (examples / f"{split}.json").write_text(json.dumps(found.ids), encoding="utf-8")
    np.save(examples / f"{split}.signals.npy", found.signals, allow_pickle=False)
    np.save(examples / f"{split}.components.npy", found.components, allow_pickle=False)


def read(examples: Path, split: str) -> Realisations:
    """Read one split; DataError names the file that is missing or damaged."""
    try:
        ids = json.loads((examples / f"{split}.json").read_text(encoding="utf-8"))
        signals, components = (
            np.load(examples / f"{split}.{name}.npy") for name in ("signals", "components")
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"{examples}: {split} cannot be read ({error}); run `dvc repro ingest`"
        ) from None
    if not len(ids) == len(signals) == len(components):
        raise DataError(
            f"{examples}: {split} has {len(ids)} ids for {len(signals)} signals; run `dvc repro ingest`"
        )
    return Realisations(ids, signals, components)
