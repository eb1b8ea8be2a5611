"""What `plumbline selftest` plants in an extractor, and the small pipeline it does so in.

It has short realisations and a bank of FIR filters, which is solved in seconds.
"""

from pathlib import Path

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.signal_extraction.data.windows import read_windows

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
WEAKER = {"taps: 40": "taps: 12"}


def _plant_look_ahead(site: FaultSite) -> None:
    """Filter every signal backwards in time."""
    _wrap(site, looks_ahead=True)


def _plant_silent_frequency(site: FaultSite) -> None:
    """Answer 0 where the last frequency is asked."""
    frequencies = read_windows(layout.EXAMPLES, "test").setting.frequencies_hz
    _wrap(site, silent_hz=float(frequencies[-1]))


def _wrap(site: FaultSite, looks_ahead: bool = False, silent_hz: float | None = None) -> None:
    config = {"looks_ahead": looks_ahead, "silent_hz": silent_hz}
    site.wrap_predictor(HERE / "faulty_predictor.py", config)


FAULTS = (
    Fault("a frequency that is not answered", "slices", "refuse", _plant_silent_frequency),
    Fault("a model that looks ahead", "behaviour", "refuse", _plant_look_ahead),
)
