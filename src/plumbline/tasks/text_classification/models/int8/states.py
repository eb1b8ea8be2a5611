"""What the states of a graph are on texts of the train split."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.predictor import EncodedText

NUM_TEXTS = 192
MAX_TOKENS = 16_384  # of all texts together: of long ones, fewer are enough

Bounds = tuple[np.ndarray, np.ndarray]  # the least and the largest value of each channel


def draw_texts(
    num_texts: int, read_texts: Callable[[list[int]], list[EncodedText]]
) -> list[EncodedText]:
    """Draw the texts of train to calibrate with; the same in every call with the same texts.

    `read_texts` returns the texts with some numbers, out of `num_texts`. They are NUM_TEXTS, or
    fewer where together they have more than MAX_TOKENS tokens.
    """
    numbers = np.random.default_rng(NUM_TEXTS).permutation(num_texts)[:NUM_TEXTS]
    texts = read_texts(numbers.tolist())
    tokens = np.cumsum([len(ids) for ids, _ in texts])
    return texts[: max(1, int((tokens <= MAX_TOKENS).sum()))]


def measure_bounds(
    model: Any, names: Sequence[str], texts: Sequence[EncodedText]
) -> dict[str, Bounds]:
    """Map each name of states to the least and largest value of each channel, (width,) each."""
    bounds: dict[str, Bounds] = {}
    for states in iterate_states(model, names, texts):
        for name, values in states.items():
            low, high = values.min(axis=0), values.max(axis=0)
            lowest, highest = bounds.get(name, (low, high))
            bounds[name] = np.minimum(lowest, low), np.maximum(highest, high)
    return bounds


def iterate_states(
    model: Any, names: Sequence[str], texts: Sequence[EncodedText]
) -> Iterator[Mapping[str, np.ndarray]]:
    """Yield the states of each text by name, (tokens, width) each.

    `model` is an onnx.ModelProto. Texts are answered one by one, so that no padding counts, and as
    many at a time as there are CPUs.
    """
    import onnx
    import onnxruntime

    if not names:
        return
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for name in names:
        shown.graph.output.append(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # sums in one order, whatever the number of cores
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options)
    inputs = [argument.name for argument in session.get_inputs()]

    def answer(text: EncodedText) -> Mapping[str, np.ndarray]:
        values = session.run(
            list(names), dict(zip(inputs, [part[None] for part in text], strict=True))
        )
        return {
            name: one.reshape(-1, one.shape[-1]) for name, one in zip(names, values, strict=True)
        }

    num_cpus = os.cpu_count() or 1
    with ThreadPoolExecutor(num_cpus) as pool:
        for start in range(0, len(texts), num_cpus):  # no more states in memory than are computed
            yield from pool.map(answer, texts[start : start + num_cpus])
