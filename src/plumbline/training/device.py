"""Chooses device and precision, by measuring where no rule holds: bf16 is faster on one CPU, slower on the next."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Training

ROWS, WIDTH, INNER = (
    512,
    384,
    1536,
)  # one feed-forward layer of a small encoder on one batch of short texts
REPEATS = 12
CLEARLY = 1.25  # bf16 rounds more, so it has to be this much faster

Precision = Literal["bf16", "fp32"]


@dataclass(frozen=True)
class Machine:
    """What training runs on."""

    device: Literal["cuda", "mps", "cpu"]
    precision: Precision
    compiled: bool


def choose(training: Training, earlier: Precision | None = None) -> Machine:
    """Resolve every `auto`; a run that goes on keeps its `earlier` precision. ParamsError if the device is absent."""
    device = _device(training.device)
    precision = (
        training.precision if training.precision != "auto" else earlier or _precision(device)
    )
    compiled = device == "cuda" if training.compile == "auto" else training.compile == "on"
    return Machine(device, precision, compiled)


def seed(device: str, number: int) -> None:
    """Seed the generators of `device` and of the CPU.

    torch.manual_seed also puts down the call, with its traceback, for every kind of device that may be there one day:
    a millisecond and some memory at every step.
    """
    torch.default_generator.manual_seed(number)
    if device == "cuda":
        torch.cuda.manual_seed(number)
    elif device == "mps":
        torch.mps.manual_seed(number)


def _device(wanted: Literal["auto", "cuda", "mps", "cpu"]) -> Literal["cuda", "mps", "cpu"]:
    if wanted == "auto":
        return (
            "cuda"
            if torch.cuda.is_available()
            else "mps"
            if torch.backends.mps.is_available()
            else "cpu"
        )
    if (wanted == "cuda" and not torch.cuda.is_available()) or (
        wanted == "mps" and not torch.backends.mps.is_available()
    ):
        raise ParamsError(f"training.device: {wanted} is not available here; set it to auto or cpu")
    return wanted


def _precision(device: str) -> Precision:
    if device == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device == "mps":
        return "fp32"
    return "bf16" if probe() > CLEARLY else "fp32"


def probe() -> float:
    """How many times faster one linear layer, forward and backward, is in bf16 than in fp32 on this CPU."""
    layer, rows = (
        torch.nn.Linear(WIDTH, INNER),
        torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0)),
    )

    def step(enabled: bool) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            layer(rows).sum().backward()

    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(REPEATS):  # in turn, so that what else the machine does strikes both
        for enabled, times in seconds.items():
            times.append(_seconds(lambda enabled=enabled: step(enabled)))  # type: ignore[misc]
    return min(seconds[False]) / min(seconds[True])


def _seconds(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
