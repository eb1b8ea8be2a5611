"""Faults of any task: answers that are right while they are scored, and wrong in other calls."""

from collections.abc import Callable
from pathlib import Path

from plumbline.contract import layout
from plumbline_selftest.faulty_predictors import plant_predictor
from plumbline_selftest.protocol import Fault, FaultSite

ODD = Path(__file__).with_name("odd_predictor.py")


def plant_odd(way: str) -> Callable[[FaultSite], None]:
    """Return what plants a predictor that is odd in this way, as if it were the task's own."""
    return lambda site: site.wrap_predictor(ODD, _build_config(site, way))


def _plant_foreign(site: FaultSite) -> None:
    """Plant a predictor that is not the task's, and changes the judge while it is loaded."""
    plant_predictor(site.task, site.candidate, ODD, _build_config(site, "patches"))


def _flip_bit(site: FaultSite) -> None:
    """Change one bit in the middle of the largest file: the weights."""
    folder = layout.locate_bundle(site.candidate)
    path = max(filter(Path.is_file, folder.iterdir()), key=lambda file: file.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _build_config(site: FaultSite, way: str) -> dict[str, object]:
    example = {name: list(values) for name, values in site.task.example.items()}
    return {"way": way, "example": example}


FAULTS = (
    Fault("a slow model", "budget", "refuse", plant_odd("is slow")),
    Fault(
        "a predictor that reads the test split in its folder",
        "replay",
        "refuse",
        plant_odd("needs data"),
    ),
    Fault(
        "a model that is right in batches and wrong on single rows",
        "replay",
        "refuse",
        plant_odd("needs company"),
    ),
    Fault(
        "a predictor that is not the task's, and patches the judge",
        "predictor digest mismatch",
        "error",
        _plant_foreign,
    ),
    Fault(
        "a flipped bit in the weights", "changed since the bundle was sealed", "error", _flip_bit
    ),
)
