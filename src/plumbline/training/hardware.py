"""Chooses device and precision, by measuring where there is no rule.

bf16 is faster than fp32 on one CPU and slower on the next.
"""

import time
from dataclasses import dataclass
from typing import Literal

import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Training

# One feed-forward layer of a small encoder on one batch of short texts.
ROWS = 512
WIDTH = 384
INNER = 1536
REPEATS = 12
MIN_SPEEDUP = 1.25  # bf16 rounds more, so it has to be this much faster

Device = Literal["cuda", "mps", "cpu"]
Precision = Literal["bf16", "fp32"]


@dataclass(frozen=True)
class Hardware:
    """What training runs on."""

    device: Device
    precision: Precision
    compiled: bool


def choose_hardware(training: Training, earlier: Precision | None = None) -> Hardware:
    """Resolve every `auto`; a resumed training keeps its `earlier` precision.

    Raises ParamsError if the device is not available.
    """
    device = choose_device(training.device)
    if training.precision != "auto":
        precision = training.precision
    else:
        precision = earlier or _choose_precision(device)
    compiled = training.compile == "on" or (training.compile == "auto" and device == "cuda")
    return Hardware(device, precision, compiled)


def seed_generators(device: str, number: int) -> None:
    """Seed the generators of `device` and of the CPU.

    torch.manual_seed also records the call, with its traceback, for every kind of device that may
    be used later: a millisecond and some memory at every step.
    """
    torch.default_generator.manual_seed(number)
    if device == "cuda":
        torch.cuda.manual_seed(number)
    elif device == "mps":
        torch.mps.manual_seed(number)


def measure_bf16_speedup() -> float:
    """Measure how many times faster bf16 is than fp32 on this CPU.

    The measured work is one linear layer, forward and backward, on one thread and in CPU time:
    other programs on the machine change that little.
    """
    layer = torch.nn.Linear(WIDTH, INNER)
    rows = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))

    def run_step(enabled: bool) -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            layer(rows).sum().backward()

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(REPEATS):  # in turn, since the clock of a CPU changes
        for enabled, times in seconds.items():
            start = time.thread_time()
            run_step(enabled)
            times.append(time.thread_time() - start)
    torch.set_num_threads(num_threads)
    return min(seconds[False]) / min(seconds[True])


def choose_device(wanted: Literal["auto", "cuda", "mps", "cpu"]) -> Device:
    """Return the device to train on; ParamsError if the one that is `wanted` is not available."""
    has_cuda = torch.cuda.is_available()
    has_mps = torch.backends.mps.is_available()
    if wanted == "auto":
        if has_cuda:
            return "cuda"
        return "mps" if has_mps else "cpu"
    if (wanted == "cuda" and not has_cuda) or (wanted == "mps" and not has_mps):
        raise ParamsError(f"training.device: {wanted} is not available here; set it to auto or cpu")
    return wanted


def _choose_precision(device: Device) -> Precision:
    if device == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device == "mps":
        return "fp32"
    return "bf16" if measure_bf16_speedup() > MIN_SPEEDUP else "fp32"
