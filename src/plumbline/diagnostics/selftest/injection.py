"""One fault is planted, evaluate and register run over it, and the result is compared."""

from dataclasses import dataclass

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RefusedError
from plumbline.contract.faults import Fault
from plumbline.diagnostics.selftest.faults import EDITED, NO_GATE
from plumbline.diagnostics.selftest.fixture import read_settings
from plumbline.diagnostics.selftest.site import CheckoutSite
from plumbline.entrypoint import run_stage
from plumbline.registry.reader import addresses


@dataclass(frozen=True)
class Outcome:
    """What evaluate and register said of a planted fault."""

    name: str
    gate: str  # that has to fail
    verdict: str
    failed: tuple[str, ...]  # gates; for an error its message
    caught: bool


def inject_fault(fault: Fault) -> Outcome:
    """Plant the fault in the checkout in the current folder, then evaluate and register."""
    fault.plant(CheckoutSite())
    try:
        run_stage("evaluate", *read_settings())
        if fault.gate == EDITED:
            _edit_verdict()
        run_stage("register", *read_settings())
    except RefusedError:
        return _compare_evidence(fault)
    except PlumblineError as error:
        expected = fault.verdict == "error" and fault.gate in str(error)
        message = str(error).splitlines()[0]
        return Outcome(
            fault.name, fault.gate, "error", (message,), expected and not _is_registered()
        )
    return _compare_evidence(fault)


def _compare_evidence(fault: Fault) -> Outcome:
    evidence = layout.read_json(layout.EVIDENCE)
    verdict = evidence["verdict"]
    failed = tuple(gate["name"] for gate in evidence["gates"] if gate["status"] == "fail")
    named = not failed if fault.gate == NO_GATE else fault.gate in failed
    registered_if_promoted = _is_registered() == (verdict == "promote")
    caught = named and verdict == fault.verdict and registered_if_promoted
    return Outcome(fault.name, fault.gate, verdict, failed, caught)


def _is_registered() -> bool:
    """Whether the registry in the current folder has a challenger that could be promoted."""
    from plumbline.registry import model_versions

    name = read_settings()[0].registry.model
    holder = model_versions.find_alias_holder(
        model_versions.connect_registry(), name, addresses.CHALLENGER
    )
    return holder is not None and str(holder.version) != "1"


def _edit_verdict() -> None:
    """Do what somebody does who wants a refused model in: write that it passed."""
    evidence = layout.read_json(layout.EVIDENCE)
    gates = [gate | {"status": "pass"} for gate in evidence["gates"]]
    layout.write_json(layout.EVIDENCE, evidence | {"verdict": "promote", "gates": gates})
