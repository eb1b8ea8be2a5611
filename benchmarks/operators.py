"""Where the time of a training goes: the share of each kind of operator, by PyTorch's profiler."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

KINDS = {
    "products": ("mm", "addmm", "linear"),
    "attention": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "bmm",
        "baddbmm",
        "_softmax",
        "_softmax_backward_data",
    ),
    "dropout": ("native_dropout", "native_dropout_backward", "bernoulli_", "random_", "ge", "mul"),
    "GELU, norms": (
        "gelu",
        "gelu_backward",
        "native_layer_norm",
        "native_layer_norm_backward",
    ),
    "optimizer, clipping": ("_fused_adamw_", "linalg_vector_norm", "_foreach_norm", "mul_"),
    "copies, casts": ("copy_", "_to_copy", "clone"),
}
REST = "sums, the rest"


@contextmanager
def measure_shares(shares: dict[str, float]) -> Iterator[None]:
    """Fill `shares` with that of each kind, of the time in operators while the context is open."""
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    both_halves = _ExperimentalConfig(profile_all_threads=True)  # of a batch
    with profile(activities=[ProfilerActivity.CPU], experimental_config=both_halves) as profiled:
        yield
    kinds = {}
    for kind, operators in KINDS.items():
        for operator in operators:
            kinds[f"aten::{operator}"] = kind
    times: Counter[str] = Counter()
    for event in profiled.key_averages():
        if event.key.startswith("aten::"):
            times[kinds.get(event.key, REST)] += event.self_cpu_time_total
    for kind in (*KINDS, REST):
        shares[kind] = times[kind] / times.total()
