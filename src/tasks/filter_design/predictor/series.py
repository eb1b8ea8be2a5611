"""The series of standard parts."""

import numpy as np

SERIES = {
    "E12": (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2),
    "E24": (
        *(1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0),
        *(3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1),
    ),
    "E96": tuple(round(10 ** (step / 96), 2) for step in range(96)),
}
LOGS10 = {name: np.log10(values) for name, values in SERIES.items()}
MIDDLES10 = {name: (logs + np.append(logs[1:], 1.0)) / 2 for name, logs in LOGS10.items()}
TOLERANCES = {"E12": 0.10, "E24": 0.05, "E96": 0.01}


def find_steps(logs10: np.ndarray, series: str) -> np.ndarray:
    """Return the number of the nearest standard value, counted in its series from 1.0 as 0."""
    decades = np.floor(logs10)
    places = np.searchsorted(MIDDLES10[series], logs10 - decades)
    steps: np.ndarray = (decades * len(SERIES[series])).astype(int) + places
    return steps


def find_logs10(steps: np.ndarray, series: str) -> np.ndarray:
    """Return the decimal logs of standard values by their numbers."""
    table = LOGS10[series]
    decades, places = np.divmod(steps, len(table))
    logs10: np.ndarray = table[places] + decades
    return logs10


def name_value(series: str, step: int) -> float:
    """Return a standard value by its number, with no digit too many."""
    decade, place = divmod(step, len(SERIES[series]))
    return float(f"{SERIES[series][place]}e{decade}")
