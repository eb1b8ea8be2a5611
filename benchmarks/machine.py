"""On which machine a figure was measured.

    python benchmarks/machine.py

prints the line that stands beside the figures of `train`, `serve`, `score` and `forms`.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plumbline.contract.machine import read_cpu_name

VECTOR_UNITS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
# Variables that hold PyTorch, oneDNN, MKL and OpenBLAS to a set of instructions, narrowest first.
# On AMD's CPUs MKL takes no notice. ONNX Runtime has no such variable: MLAS asks the CPU itself.
INSTRUCTION_SETS = {
    "sse4": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "avx512": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "OPENBLAS_CORETYPE": "SkylakeX",
    },
    "all": {},
}
SET_UNITS = {"avx2": "avx2", "avx512": "avx512f"}  # which the CPU needs for a set
PEAK_SIZE = 1024  # rows and columns of both factors
GPU_PEAK_SIZE = 8192
PEAK_REPEATS = 12


def list_vector_units() -> list[str]:
    """Name the vector units for whole numbers and small floats that Linux reports."""
    flags = [line.partition(":")[2].split() for line in _read_cpu_lines("flags")]
    return [unit for unit in VECTOR_UNITS if flags and unit in flags[0]]


def list_instruction_sets() -> list[str]:
    """Name the sets of instructions that this CPU has, narrowest first."""
    units = (None, *list_vector_units())
    return [name for name in INSTRUCTION_SETS if SET_UNITS.get(name) in units]


def measure_peaks() -> dict[str, float]:
    """Return what one core computes a second in a large matrix product, by kind.

    Operations a second, where a multiplication and an addition are two; the best of a few. It
    is CPU time, which other programs on the machine change little. bf16 is left out where the
    CPU only imitates it.
    """
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    shape = (PEAK_SIZE, PEAK_SIZE)
    left, right = torch.randn(2, *shape)
    small_left, small_right = torch.randint(-64, 64, (2, *shape), dtype=torch.int8)
    peaks = {
        "fp32": _time_product(torch.matmul, left, right),
        "int8": _time_product(torch._int_mm, small_left, small_right),
    }
    if any(unit.endswith("_bf16") for unit in list_vector_units()):
        peaks["bf16"] = _time_product(torch.matmul, left.bfloat16(), right.bfloat16())
    torch.set_num_threads(num_threads)
    return peaks


def measure_gpu_peak(kind: str) -> float:
    """Return the operations a second of the GPU in a large product of `kind`, bf16 or fp32."""
    import torch

    number = torch.bfloat16 if kind == "bf16" else torch.float32
    left, right = torch.randn(2, GPU_PEAK_SIZE, GPU_PEAK_SIZE, device="cuda", dtype=number)
    seconds = []
    for _ in range(PEAK_REPEATS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.matmul(left, right)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2.0 * GPU_PEAK_SIZE**3 / min(seconds)


def describe_machine(peaks: dict[str, float] | None = None) -> str:
    """Return CPU, vector units, cores, load and matrix peaks as one line; without `peaks` measure.

    A figure without these cannot be compared with one of another machine.
    """
    import torch

    units = ", ".join(list_vector_units()) or "vector units not known"
    gpu = f"{torch.cuda.get_device_name()}; " if torch.cuda.is_available() else ""
    rates = [f"{rate / 1e9:.0f} in {kind}" for kind, rate in (peaks or measure_peaks()).items()]
    return (
        f"{gpu}{read_cpu_name()} ({units}), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"one core in a {PEAK_SIZE}-wide matrix product: {', '.join(rates)} "
        "(10^9 operations/s)"
    )


def _time_product(multiply: Callable[[Any, Any], Any], left: Any, right: Any) -> float:
    seconds = []
    for _ in range(PEAK_REPEATS):
        start = time.thread_time()
        multiply(left, right)
        seconds.append(time.thread_time() - start)
    return 2.0 * len(left) ** 3 / min(seconds)


def _read_cpu_lines(name: str) -> list[str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line for line in lines if line.partition(":")[0].strip() == name]


if __name__ == "__main__":
    print(describe_machine())
