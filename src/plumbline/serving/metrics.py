"""What is counted, for Prometheus."""

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.registry import REGISTRY

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 512, 1024)

REQUESTS = Counter("plumbline_requests", "Requests by route and status.", ["route", "status"])
LATENCY = Histogram(
    "plumbline_request_seconds",
    "From the last byte of the request body to the answer.",
    ["side"],
    buckets=SECONDS,
)
BATCH_ROWS = Histogram(
    "plumbline_batch_rows", "Rows answered by one call of the predictor.", buckets=ROWS
)
QUEUE_SECONDS = Histogram(
    "plumbline_queue_seconds",
    "How long the first request of each call of the predictor had waited in the queue.",
    buckets=SECONDS,
)
SWAPS = Counter("plumbline_swaps", "Attempts to follow the registry.", ["outcome"])
MODEL_VERSION = Gauge(
    "plumbline_model_version",
    "The version that answers; 0: none any more.",
    ["name", "side"],
    multiprocess_mode="mostrecent",
)
REGISTRY_UP = Gauge(
    "plumbline_registry_up",
    "Whether the registry was reachable at the last poll.",
    multiprocess_mode="mostrecent",
)
COMPARED = Counter(
    "plumbline_compared", "Rows compared with the champion's answers.", ["side", "outcome"]
)
LOGGED_ROWS = Counter("plumbline_logged_rows", "Rows written to the request log.")
LOST_LOG_ROWS = Counter(
    "plumbline_lost_log_rows", "Rows of the sample that are not in the request log.", ["reason"]
)


def render_metrics() -> bytes:
    """Return all metrics in Prometheus' text format, summed over all workers."""
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
