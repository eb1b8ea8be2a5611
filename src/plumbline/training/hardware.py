"""Chooses device and precision by what the hardware says of itself, never by a measurement.

A training that is repeated or resumed on the same machine computes with the same numbers.
"""

from dataclasses import dataclass
from typing import Literal

import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Training

# A CPU with one of these flags multiplies bf16 numbers itself; on others bf16 is slower than fp32.
BF16_FLAGS = ("avx512_bf16", "amx_bf16")
NARROW = ("DEFAULT", "AVX2")  # which ATEN_CPU_CAPABILITY can ask for on any CPU

Device = Literal["cuda", "mps", "cpu"]
Precision = Literal["bf16", "fp32"]


@dataclass(frozen=True)
class Hardware:
    """What training runs on."""

    device: Device
    precision: Precision


def choose_hardware(training: Training, earlier: Precision | None = None) -> Hardware:
    """Resolve every `auto`; a resumed training keeps its `earlier` precision.

    Raises ParamsError if the device is not available.
    """
    device = choose_device(training.device)
    if training.precision != "auto":
        precision = training.precision
    else:
        precision = earlier or _choose_precision(device)
    return Hardware(device, precision)


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
    flags = torch.cpu.get_capabilities()
    has_products = any(flags.get(name) for name in BF16_FLAGS)
    is_wide = torch.backends.cpu.get_cpu_capability() not in NARROW
    return "bf16" if has_products and is_wide else "fp32"
