"""Faults in the files of a bundle, planted before evaluate; nothing of it may be run."""

from collections.abc import Callable
from pathlib import Path

from plumbline import bundle
from plumbline.contract import layout
from plumbline_selftest.faulty_predictors import exchange_bundle
from plumbline_selftest.protocol import Fault, FaultSite


def edit_bundle(change: Callable[[Path], None]) -> Callable[[FaultSite], None]:
    """Return what lets `change` edit the folder of the candidate's bundle."""
    return lambda site: change(layout.locate_bundle(site.candidate))


def _flip_bit(folder: Path) -> None:
    """Change one bit in the middle of the largest file: the weights."""
    path = max((file for file in folder.iterdir()), key=lambda file: file.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _add_file(folder: Path) -> None:
    (folder / "helper.py").write_text("print('here')\n", encoding="utf-8")


def _remove_file(folder: Path) -> None:
    (folder / "config.json").unlink()


def _link_file(folder: Path) -> None:
    """Replace the config by a link to the same bytes, in a place where they can be changed."""
    config = folder / "config.json"
    outside = Path("config.json")
    config.rename(outside)
    config.symlink_to(outside.resolve())


def _break_seal(folder: Path) -> None:
    seal = folder / bundle.SEAL
    seal.write_bytes(seal.read_bytes()[:-20])


def _remove_control(site: FaultSite) -> None:
    folder = layout.locate_bundle(layout.name_control(site.candidate))
    folder.rename(folder.with_name("elsewhere"))


def _use_model_as_control(site: FaultSite) -> None:
    """Pass the candidate itself off as the model that learned from shuffled labels."""
    exchange_bundle(layout.name_control(site.candidate), layout.locate_bundle(site.candidate))


FAULTS = (
    Fault(
        "a flipped bit in the weights",
        "changed since the bundle was sealed",
        "error",
        edit_bundle(_flip_bit),
    ),
    Fault("a file that the seal does not name", "helper.py", "error", edit_bundle(_add_file)),
    Fault("a bundle without its config", "config.json", "error", edit_bundle(_remove_file)),
    Fault("a link in a bundle", "config.json", "error", edit_bundle(_link_file)),
    Fault("a damaged seal", bundle.SEAL, "error", edit_bundle(_break_seal)),
    Fault(
        "a flipped bit after evaluation",
        "changed since the bundle was sealed",
        "error",
        edit_bundle(_flip_bit),
        "register",
    ),
    Fault(
        "a file added after evaluation", "helper.py", "error", edit_bundle(_add_file), "register"
    ),
    Fault("no control", "control", "error", _remove_control, needs_control=True),
    Fault(
        "the model itself as its control",
        "control",
        "refuse",
        _use_model_as_control,
        needs_control=True,
    ),
)
