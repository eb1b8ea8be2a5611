"""All that is planted for one task, in the order of the gates; sound plants come last."""

from collections.abc import Sequence

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import parse_yaml
from plumbline.evidence import gates
from plumbline_selftest import evidence_faults, gate_faults, predictor_faults, registry_faults
from plumbline_selftest.parts import get_faults_part, read_params
from plumbline_selftest.protocol import Fault

GENERIC_FAULTS = (
    *gate_faults.FAULTS,
    *predictor_faults.FAULTS,
    *evidence_faults.FAULTS,
    *registry_faults.FAULTS,
)


def list_faults(task: Task[Params]) -> list[Fault]:
    """Return the faults of `task` and those of any task; raises ParamsError if it offers none."""
    part = get_faults_part(task)
    has_control = bool(parse_yaml(read_params(part), layout.PARAMS)["control"]["candidates"])
    generic = [fault for fault in GENERIC_FAULTS if has_control or not fault.needs_control]
    order = [gate.name for gate in gates.GATES]

    def rank(fault: Fault) -> tuple[bool, int]:
        return fault.is_sound, order.index(fault.gate) if fault.gate in order else len(order)

    return sorted([*generic, *part.FAULTS], key=rank)


def list_untried_gates(faults: Sequence[Fault]) -> list[str]:
    """Return the gates that none of `faults` must fail: what they catch is planted elsewhere."""
    tried = {fault.gate for fault in faults}
    return [gate.name for gate in gates.GATES if gate.name not in tried]


def select_faults(task: str, text: str | None = None) -> list[Fault]:
    """Return the faults whose name or gate contains `text`, all where it is None.

    Raises ParamsError if the task offers no faults, or none matches.
    """
    faults = list_faults(load_task(task))
    if text is None:
        return faults
    wanted = text.casefold()
    picked = [f for f in faults if wanted in f.name.casefold() or wanted in f.gate.casefold()]
    if not picked:
        hint = suggest_nearest(text, [fault.name for fault in faults])
        raise ParamsError(
            f"--only {text}: no fault of the task {task} has this in its name or its gate{hint}"
        )
    return picked
