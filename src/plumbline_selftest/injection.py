"""One plant: what it starts from is copied, it is planted, commands run, the result is compared."""

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RefusedError
from plumbline.process.files import read_json
from plumbline.registry.reader import addresses
from plumbline_selftest import commands
from plumbline_selftest.fixture import read_settings
from plumbline_selftest.protocol import Command, Fault
from plumbline_selftest.site import CheckoutSite

NO_GATE = "none"
CRASH = "crash"


@dataclass(frozen=True)
class Outcome:
    """What the commands said of a plant."""

    name: str
    is_sound: bool
    expected: str  # verdict
    gate: str  # that has to fail, or a word of the message
    verdict: str
    failed: tuple[str, ...]  # gates; for an error its message
    caught: bool  # as expected
    output: str = ""  # the end of what the commands printed

    @property
    def is_promoted(self) -> bool:
        """Whether it got through as if it were sound and better."""
        return self.verdict in ("promote", "pass")


def inject_fault(fault: Fault) -> Outcome:
    """Plant the fault in the checkout in the current folder, then run what comes after it."""
    try:
        name = read_settings()[0].registry.model
        fault.plant(CheckoutSite())
        versions = _read_aliases(name)
        verdict, failed = _run_commands(commands.list_commands(fault), fault.gate)
        changed = _read_aliases(name) != versions
    except Exception as error:  # noqa: BLE001  a crash is a result too; its traceback is printed
        traceback.print_exc()
        verdict, failed, changed = CRASH, (f"{type(error).__name__}: {error}",), False
    caught = verdict == fault.verdict and _is_named(fault, failed)
    if verdict in ("refuse", "error"):
        caught = caught and not changed
    return Outcome(
        fault.name, fault.is_sound, fault.verdict, fault.gate, verdict, tuple(failed), caught
    )


def _run_commands(names: Sequence[Command], wanted: str) -> tuple[str, Sequence[str]]:
    """Run the commands until one fails; return the verdict, and gates or a message."""
    try:
        for name in names:
            commands.run_command(name)
    except RefusedError as error:
        if "register" in names:
            return _read_evidence()
        return "error", [_pick_line(str(error), wanted)]
    except PlumblineError as error:
        return "error", [_pick_line(str(error), wanted)]
    if "evaluate" in names or "register" in names:
        return _read_evidence()
    return "pass", []


def _read_evidence() -> tuple[str, Sequence[str]]:
    """Read the verdict and the gates that failed, whose reasons are printed."""
    evidence = read_json(layout.EVIDENCE)
    failed = [gate for gate in evidence["gates"] if gate["status"] == "fail"]
    for gate in failed:
        sys.stdout.write(f"gate {gate['name']}: {gate['reason']}\n")
    return evidence["verdict"], [gate["name"] for gate in failed]


def _is_named(fault: Fault, failed: Sequence[str]) -> bool:
    """Whether the gate that had to fail did, or the message has the word that it had to have."""
    if fault.gate == NO_GATE:
        return not failed
    if fault.verdict == "error":
        return any(fault.gate in message for message in failed)
    return fault.gate in failed


def _pick_line(message: str, wanted: str) -> str:
    """The line of `message` that has the word in it, else the first."""
    lines = message.strip().splitlines() or [""]
    return next((line.strip() for line in lines if wanted in line), lines[0])


def _read_aliases(name: str) -> dict[str, str | None]:
    """Which versions of a model are champion and challenger, whatever the journal says."""
    from plumbline.registry import model_versions

    client = model_versions.connect_registry()
    holders = {}
    for alias in (addresses.CHAMPION, addresses.CHALLENGER):
        holder = model_versions.find_alias_holder(client, name, alias)
        holders[alias] = str(holder.version) if holder else None
    return holders
