"""What spinning costs: steps/s of a small layer, alone and beside a copy of itself, for several OpenMP spin counts.

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
        print(*(f"{rate(tokens, hidden):.1f}" for tokens, hidden in SIZES))
        return
    print(
        f"{'spin count':<12}{'alone':>20}{'beside a copy':>20}   steps/s at hidden {SIZES[0][1]} and {SIZES[1][1]}"
    )
    for count in COUNTS:
        alone, (beside, _) = started(count, 1)[0], started(count, 2)
        print(f"{count:<12}{alone:>20}{beside:>20}", flush=True)


def started(count: str, copies: int) -> list[str]:
    """What each of `copies` processes, running at once, prints."""
    environment = os.environ | {"GOMP_SPINCOUNT": count}
    command = [sys.executable, __file__, "measure"]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(copies)
    ]
    return [process.communicate()[0].strip() for process in running]


def rate(tokens: int, hidden: int) -> float:
    """Forward and backward passes of four blocks a second."""
    import torch

    inputs = torch.randn(tokens, hidden, requires_grad=True)
    up, down = (
        torch.randn(*shape, requires_grad=True)
        for shape in ((hidden, 4 * hidden), (4 * hidden, hidden))
    )
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        hidden_states = inputs
        for _ in range(4):
            hidden_states = torch.nn.functional.gelu(hidden_states @ up) @ down
            hidden_states = torch.nn.functional.layer_norm(hidden_states, (hidden,))
        hidden_states.sum().backward()
        steps += 1
    return steps / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
