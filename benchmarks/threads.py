"""What spinning costs: steps/s of a small layer for several OpenMP spin counts.

Each count is measured alone and beside a copy of itself.

python benchmarks/threads.py
"""

import os
import subprocess
import sys
import time

SECONDS = 4.0
SIZES = ((450, 128), (450, 384))  # tokens of a batch, hidden size: a small encoder, MiniLM
COUNTS = ("0", "3000", "30000", "300000")  # libgomp's default is the last one


def main() -> None:
    """Print one line a spin count."""
    if len(sys.argv) > 1:
        print(*(f"{measure_rate(tokens, hidden):.1f}" for tokens, hidden in SIZES))
        return
    unit = f"steps/s at hidden {SIZES[0][1]} and {SIZES[1][1]}"
    print(f"{'spin count':<12}{'alone':>20}{'beside a copy':>20}   {unit}")
    for count in COUNTS:
        alone = run_copies(count, 1)[0]
        beside = run_copies(count, 2)[0]
        print(f"{count:<12}{alone:>20}{beside:>20}", flush=True)


def run_copies(count: str, copies: int) -> list[str]:
    """Return what each of `copies` processes prints that run at once."""
    environment = os.environ | {"GOMP_SPINCOUNT": count}
    command = [sys.executable, __file__, "measure"]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(copies)
    ]
    return [process.communicate()[0].strip() for process in running]


def measure_rate(tokens: int, hidden: int) -> float:
    """Return the forward and backward passes of four blocks per second."""
    import torch

    inputs = torch.randn(tokens, hidden, requires_grad=True)
    up = torch.randn(hidden, 4 * hidden, requires_grad=True)
    down = torch.randn(4 * hidden, hidden, requires_grad=True)
    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < SECONDS:
        hidden_states = inputs
        for _ in range(4):
            hidden_states = torch.nn.functional.gelu(hidden_states @ up) @ down
            hidden_states = torch.nn.functional.layer_norm(hidden_states, (hidden,))
        hidden_states.sum().backward()
        steps += 1
    return steps / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
