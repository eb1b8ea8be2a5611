"""Faults in the files that evidence is about, planted between evaluate and register."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.listing import LISTING, has_listing
from plumbline.process.files import digest_path, read_json, write_json
from plumbline_selftest.gate_faults import use_champion_bundle
from plumbline_selftest.protocol import Fault, FaultSite

OTHER = "is not what the evidence is about"


def change_numbers(path: Path) -> Callable[[FaultSite], None]:
    """Return what makes every fractional number in a JSON file 0.999."""

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [change(inner) for inner in value]
        return 0.999 if isinstance(value, float) else value

    return lambda site: write_json(path, change(read_json(path)))


def drop_last_row(path: Path) -> Callable[[FaultSite], None]:
    """Return what takes the last row out of a Parquet file."""

    def plant(site: FaultSite) -> None:
        import pandas as pd

        pd.read_parquet(path)[:-1].to_parquet(path, index=False)

    return plant


def _add_byte(site: FaultSite) -> None:
    """Add a byte to the first file, which a listing of the files then has as it is."""
    examples = layout.EXAMPLES
    file = min(path for path in examples.rglob("*") if path.is_file() and path.name != LISTING)
    file.write_bytes(file.read_bytes() + b"\n")
    if has_listing(examples):
        listing = read_json(examples / LISTING)
        for shard in listing["shards"]:
            if shard["name"] == file.name:
                shard["sha256"] = digest_path(file)
        write_json(examples / LISTING, listing)


def _append_to_report(site: FaultSite) -> None:
    layout.REPORT.write_text(layout.REPORT.read_text(encoding="utf-8") + "<p>sound</p>")


def _edit_validation(site: FaultSite) -> None:
    validation = read_json(layout.VALIDATION)
    write_json(layout.VALIDATION, validation | {"checks": validation["checks"][:1]})


def _swap_bundle(site: FaultSite) -> None:
    use_champion_bundle(site)


def _lower_confidence(site: FaultSite) -> None:
    site.edit_params("confidence: 0.95", "confidence: 0.90")


def _rename_model(site: FaultSite) -> None:
    site.edit_params("model: selftest", "model: other")


def _expect_error(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    return Fault(name, message, "error", plant, before="register")


FAULTS = (
    _expect_error("a manifest cut after evaluation", OTHER, drop_last_row(layout.MANIFEST)),
    _expect_error("examples changed after evaluation", OTHER, _add_byte),
    _expect_error("a validation edited after evaluation", OTHER, _edit_validation),
    _expect_error("golden answers edited", OTHER, change_numbers(layout.GOLDEN)),
    _expect_error("predictions edited", OTHER, drop_last_row(layout.PREDICTIONS)),
    _expect_error("a reference for drift edited", OTHER, drop_last_row(layout.DRIFT_REFERENCE)),
    _expect_error("another report", OTHER, _append_to_report),
    _expect_error("metrics edited", OTHER, change_numbers(layout.METRICS)),
    _expect_error("a bundle exchanged after evaluation", OTHER, _swap_bundle),
    _expect_error("params changed after evaluation", "evaluation.confidence", _lower_confidence),
    _expect_error("evidence registered for another model", "is of the model", _rename_model),
)
