"""Designs LC ladder filters from standard parts: a mask in, ranked netlists out.

It is copied into every bundle and imports nothing of plumbline. A strategy proposes ladders, a
search shared by all strategies rounds them to a series of parts, simulates them and changes one
part after the other; every simulation is a call, and no row has more calls than its budget. Rows
are answered one by one, so that a row in company is rounded as it is alone, and in units of the
pass edge, so that a filter at ten times the frequency has the same digits.

Shapes: D ladders, P parts (in the order of branches from the source; a resonator is its inductor,
then its capacitor), N branches, F frequencies. Logs are natural, of w L / z0 and of w C z0.
"""

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file
from threadpoolctl import ThreadpoolController

KINDS = ("low-pass", "high-pass", "band-pass")
TOPOLOGIES = ("series_first", "shunt_first")
ORDERS = {"low-pass": (3, 5, 7), "high-pass": (3, 5, 7), "band-pass": (3,)}
RANKS = ("margin", "yield", "parts")
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
DEFAULTS = {"order": None, "z0_ohm": 50.0, "q_inductor": 100.0, "q_capacitor": 1000.0}
DEFAULT_SERIES = "E24"
REQUIRED = ("kind", "pass_hz", "stop_hz", "max_loss_db", "min_attenuation_db")
REMEDIES = {
    "pass_hz": "the edge of the passband in Hz, such as 3e7",
    "stop_hz": "the edge of the stopband in Hz, such as 5e7",
    "max_loss_db": "the loss in dB that the passband may have, such as 1",
    "min_attenuation_db": "the attenuation in dB that the stopband needs, such as 40",
    "z0_ohm": "the impedance of source and load in ohm, such as 50",
    "q_inductor": "the Q of the inductors at the pass edge, such as 100; 1e7 for no losses",
    "q_capacitor": "the Q of the capacitors at the pass edge, such as 1000",
}

LEAST_HZ, MOST_HZ = 1.0, 1e12
LEAST_RATIO, MOST_RATIO = 1.001, 1000.0  # of the edges of a band
MAX_DESIGNS, MAX_BUDGET, MAX_DRAWS = 10, 1024, 10_000
NUM_PASS, NUM_STOP, STOP_SPAN = 51, 9, 5.0  # points of the mask; the stopband ends at 5 x its edge
# Of a design that is returned: where in a stopband it is looked at, and how dips there are found.
FINE_SHARES = np.sin(np.linspace(0, math.pi / 2, 81)) ** 2
NUM_ZOOMS, NUM_CELL = 6, 17
NUM_SHOWN = 81  # points of the response in an answer
NUM_SAMPLES = 16  # that a network proposes, whatever the budget: its products keep their shape
DIGITS = 12  # of ratios: frequencies x 10 must give the same numbers
UNITS = (1e-9, 1e-12)  # nH and pF
YIELD_SEED = 18
LN10 = math.log(10.0)
# In deviations of the train rows: what lies beyond them is taken for the edge, so that a proposal
# is a ladder whatever is asked.
MAX_FEATURE, MAX_COORDINATE = 4.0, 8.0


@dataclass(frozen=True)
class Spec:
    """What a filter must do, and from which parts; `order` None asks for the fewest parts."""

    kind: str
    pass_hz: tuple[float, ...]
    stop_hz: tuple[float, ...]
    max_loss_db: float
    min_attenuation_db: float
    order: int | None = None
    z0_ohm: float = 50.0
    q_inductor: float = 100.0
    q_capacitor: float = 1000.0
    series: str = DEFAULT_SERIES


@dataclass(frozen=True)
class FilterDesign:
    """One ladder of standard parts; `parts` [P] in H and F, `calls` when it was simulated."""

    topology: str
    order: int
    parts: np.ndarray
    margin_db: float
    calls: int
    logs: np.ndarray = field(repr=False, compare=False)
    yield_share: float = -1.0


def load(folder: Path | str, form: str | None = None) -> "Predictor":
    """Load the bundle in `folder`; raises ValueError for a form that it does not have."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    path = folder / "model.safetensors"
    weights = load_file(path) if path.exists() else {}
    predictor = Predictor(build_strategy(config, weights), form, int(config["calls"]))
    if path.exists():
        predictor.num_bytes = path.stat().st_size
    return predictor


class Predictor:
    """Designs for each row; safe to share between threads."""

    forms = ("exact",)

    def __init__(self, strategy: "Strategy", form: str | None = None, calls: int = 64) -> None:
        if form not in (None, *self.forms):
            raise ValueError(f"there is no form {form!r}; this model has {', '.join(self.forms)}")
        self.num_bytes = 0
        self.calls = calls
        self._strategy = strategy
        self._threads = ThreadpoolController()

    def predict(
        self,
        columns: Mapping[str, Sequence[Any]],
        designs: int = 3,
        budget: int | None = None,
        rank: str = "margin",
        draws: int = 500,
    ) -> dict[str, list[Any]]:
        """Design each row within `budget` calls of the simulator (None: as in the bundle).

        `designs`: how many are returned, ranked by `rank` (margin, yield or parts), those that meet
        the mask first. `draws`: of parts within their tolerance, for the yield; 0: no yield.
        Raises ValueError that names a bad row or param.
        """
        check_param("designs", designs, 1, MAX_DESIGNS)
        budget = self.calls if budget is None else budget
        check_param("budget", budget, 1, MAX_BUDGET)
        check_param("draws", draws, 0, MAX_DRAWS)
        if not isinstance(rank, str) or rank not in RANKS:
            raise ValueError(f"rank: expected {', '.join(RANKS)}, found {show_found(rank)}")
        if rank == "yield" and draws == 0:
            raise ValueError("rank: yield needs draws of parts: leave out draws, or set it to 500")
        plan = DesignPlan(designs, budget, rank, draws)
        answers: dict[str, list[Any]] = {}
        with self._threads.limit(limits=1, user_api="blas"):  # products are small
            for spec in read_specs(columns):
                for name, value in answer_spec(spec, self._strategy, plan).items():
                    answers.setdefault(name, []).append(value)
        return answers


class TextbookPredictor(Predictor):
    """A predictor without files: the textbook, or random values around it (`strategy` random)."""

    def __init__(self, strategy: str = "textbook", calls: int = 64) -> None:
        super().__init__(build_strategy({"kind": strategy}, {}), calls=calls)


class DesignPlan(NamedTuple):
    """The params of one call of `predict`."""

    designs: int
    budget: int
    rank: str
    draws: int


def answer_spec(spec: Spec, strategy: "Strategy", plan: DesignPlan) -> dict[str, Any]:
    """Return the answer to one row, by the names of the signature."""
    designs, calls = search_ladders(spec, strategy, plan.budget, max(3, plan.designs))
    ranked = rank_designs(spec, designs, plan)
    best = ranked[0]
    limit = compute_limit_db(spec, spec.order or ORDERS[spec.kind][-1])
    frequencies = list_shown_frequencies(spec)
    loss = simulate_loss_db(best.parts[None], spec, best.order, best.topology, frequencies)[0]
    meets = best.margin_db >= 0
    return {
        "meets_spec": bool(meets),
        "possible": bool(limit >= spec.min_attenuation_db),
        "attenuation_limit_db": round_digits(limit),
        "margin_db": best.margin_db,
        "yield_share": best.yield_share,
        "calls": calls,
        "message": write_message(spec, best, limit),
        "netlist": write_netlist(spec, best),
        "designs": [describe_design(spec, design) for design in ranked],
        "frequency_hz": frequencies.tolist(),
        "s21_db": [round_digits(-value) for value in loss],
        "picture": draw_picture(spec, best, frequencies, loss),
    }


def search_textbook(spec: Spec, budget: int) -> list[FilterDesign]:
    """Return the designs of the textbook and of the search from them, the best first."""
    designs, _ = search_ladders(spec, Textbook({}, {}), budget)
    return sorted(designs, key=lambda design: (-design.margin_db, design.calls))


def simulate_loss_db(
    parts: np.ndarray, spec: Spec, order: int, topology: str, frequencies: np.ndarray
) -> np.ndarray:
    """Return the loss in dB [D, F] of ladders `parts` [D, P] in H and F, at frequencies in Hz."""
    ladder = build_ladder(spec, order)
    units = ladder.units_si[TOPOLOGIES.index(topology)]
    topologies = np.full(len(parts), TOPOLOGIES.index(topology))
    points = np.asarray(frequencies, float) / ladder.reference_hz
    powers = simulate(ladder, np.log(parts / units), topologies, points)
    losses: np.ndarray = 10 * np.log10(powers)
    return losses


def compute_reference(spec: Spec, order: int, topology: str) -> np.ndarray:
    """Return the textbook's ladder in H and F, not rounded: Chebyshev, its ripple the loss limit.

    Networks propose the logs of ratios to it.
    """
    ladder = build_ladder(spec, order)
    number = TOPOLOGIES.index(topology)
    parts: np.ndarray = np.exp(ladder.references[number]) * ladder.units_si[number]
    return parts


def round_to_series(values: np.ndarray, series: str) -> np.ndarray:
    """Round positive values to the nearest of the series, by their ratio."""
    steps = find_steps(np.log10(values), series)
    return np.array([name_value(series, int(step)) for step in steps.flat]).reshape(steps.shape)


# The rows.


def read_specs(columns: Mapping[str, Sequence[Any]]) -> list[Spec]:
    """Return the specification of each row; raises ValueError that names row and field."""
    for name in REQUIRED:
        if name not in columns:
            listed = ", ".join(map(repr, columns)) or "no columns"
            raise ValueError(f"no column {name!r}; found {listed}")
    table = {name: list(column) for name, column in columns.items()}  # by place, whatever an index
    num_rows = len(table["kind"])
    for name, values in table.items():
        if len(values) != num_rows:
            raise ValueError(
                f"column {name!r} has {len(values)} rows, and 'kind' has {num_rows}: give each row "
                "a value, or None where it is left out"
            )
    specs = []
    for row in range(num_rows):
        try:
            specs.append(read_spec({name: values[row] for name, values in table.items()}))
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
    return specs


def read_spec(values: Mapping[str, Any]) -> Spec:
    """Return the specification that one row asks for; raises ValueError with field and remedy."""
    kind = values["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind: expected {', '.join(KINDS)}, found {show_found(kind)}")
    series = values.get("series")
    series = DEFAULT_SERIES if is_missing(series) else series
    if not isinstance(series, str) or series not in SERIES:
        raise ValueError(f"series: expected {', '.join(SERIES)}, found {show_found(series)}")
    max_loss = read_number("max_loss_db", values["max_loss_db"], 1e-3, 100.0)
    attenuation = read_number("min_attenuation_db", values["min_attenuation_db"], 1e-3, 300.0)
    if attenuation <= max_loss:
        raise ValueError(
            f"min_attenuation_db: {attenuation:g} dB is not above max_loss_db ({max_loss:g}): "
            "a filter that attenuates no more than it may lose is a wire; raise it"
        )
    spec = Spec(
        kind=kind,
        pass_hz=read_edges("pass_hz", kind, values["pass_hz"]),
        stop_hz=read_edges("stop_hz", kind, values["stop_hz"]),
        max_loss_db=max_loss,
        min_attenuation_db=attenuation,
        order=read_order(kind, values.get("order")),
        z0_ohm=read_optional("z0_ohm", values, 1e-3, 1e6),
        q_inductor=read_optional("q_inductor", values, 1.0, 1e7),
        q_capacitor=read_optional("q_capacitor", values, 1.0, 1e7),
        series=series,
    )
    check_edges(spec)
    return spec


def read_edges(name: str, kind: str, value: Any) -> tuple[float, ...]:
    """Return the edges of a band in Hz: one, or two ascending ones for a band-pass."""
    expected = 2 if kind == "band-pass" else 1
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    is_list = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if is_text or not is_list or len(value) != expected:
        form = "[lower, upper]" if expected == 2 else "[edge]"
        raise ValueError(f"{name}: a {kind} has {form} in Hz, found {show_found(value)}")
    edges = tuple(read_number(name, edge, LEAST_HZ, MOST_HZ) for edge in value)
    if expected > 1 and edges[0] > edges[1]:
        raise ValueError(f"{name}: edges are not ascending: {edges[0]:g}, {edges[1]:g}; swap them")
    ratio = round_digits(edges[-1] / edges[0])
    if expected > 1 and ratio < LEAST_RATIO:
        raise ValueError(
            f"{name}: edges {edges[0]:.10g} and {edges[1]:.10g} are less than 0.1 % apart: "
            "no ladder of parts has so narrow a band; move them apart"
        )
    if name == "pass_hz" and ratio > MOST_RATIO:
        raise ValueError(
            f"{name}: edges {edges[0]:.10g} and {edges[1]:.10g} are more than a factor of "
            f"{MOST_RATIO:g} apart: design a high-pass and a low-pass for them"
        )
    return edges


def check_edges(spec: Spec) -> None:
    """Raise ValueError where a stop edge is not outside the passband."""
    stop, passed = spec.stop_hz, spec.pass_hz
    problem = ""
    if spec.kind == "low-pass" and stop[0] <= passed[0]:
        problem = f"{stop[0]:g} Hz is in the passband, below {passed[0]:g} Hz: move it above"
    if spec.kind == "high-pass" and stop[0] >= passed[0]:
        problem = f"{stop[0]:g} Hz is in the passband, above {passed[0]:g} Hz: move it below"
    if spec.kind == "band-pass" and not stop[0] < passed[0] < passed[1] < stop[1]:
        problem = (
            f"{stop[0]:g} and {stop[1]:g} Hz are not on both sides of the passband, "
            f"{passed[0]:g} to {passed[1]:g} Hz: move them outside"
        )
    if problem:
        raise ValueError(f"stop_hz: {problem}")


def read_order(kind: str, value: Any) -> int | None:
    """Return the order, or None where it is left out."""
    if is_missing(value):
        return None
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if is_number and not isinstance(value, bool) and value in ORDERS[kind]:
        return int(value)
    listed = " or ".join(map(str, ORDERS[kind]))
    raise ValueError(
        f"order: a {kind} is built with {listed}, found {show_found(value)}; equal terminations "
        "need an odd order; leave it out to get the fewest parts"
    )


def read_optional(name: str, values: Mapping[str, Any], least: float, most: float) -> float:
    """Return a number, or its default where it is left out."""
    value = values.get(name)
    default: Any = DEFAULTS[name]
    return float(default) if is_missing(value) else read_number(name, value, least, most)


def read_number(name: str, value: Any, least: float, most: float) -> float:
    """Return a number in the range; raises ValueError for anything else."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(
            f"{name}: expected a number from {least:g} to {most:g}, found {show_found(value)}; "
            f"give {REMEDIES[name]}"
        )
    return float(value)


def show_found(value: Any) -> str:
    """Return what a message says was found, at most 60 characters of it."""
    try:
        return f"{value!r:.60}"
    except ValueError:  # Python shows no integer of more than some thousand digits
        return "a number of too many digits"


def is_missing(value: Any) -> bool:
    """Whether a column that may be left out holds nothing: None, or NaN in a table."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def check_param(name: str, value: Any, least: int, most: int) -> None:
    """Raise ValueError unless `value` is a whole number in the range."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise ValueError(
            f"{name}: expected a whole number from {least} to {most}, found {show_found(value)}"
        )


# The theorem, the mask and the simulator.


def compute_limit_db(spec: Spec, order: int) -> float:
    """Return the most attenuation in dB that any ladder of `order` has at the stop edges.

    1 / |S21|^2 is a polynomial of degree `order` in the squared frequency, at least 1, within the
    ripple in the passband: none rises faster beyond it than Chebyshev's, whatever the parts and
    their losses. With two stop edges, the smaller of both limits.
    """
    ripple = math.log(math.expm1(spec.max_loss_db * LN10 / 10)) / 2
    angles = [order * math.acosh(ratio) for ratio in list_stop_ratios(spec)]
    angle = min(angles)
    swing = ripple + angle + math.log1p(math.exp(-2 * angle)) - math.log(2)
    return 10 / LN10 * float(np.logaddexp(0, 2 * swing))


def list_stop_ratios(spec: Spec) -> list[float]:
    """Return the stop edges in the frequency of the low-pass prototype, whose pass edge is 1."""
    if spec.kind == "low-pass":
        return [round_digits(spec.stop_hz[0] / spec.pass_hz[0])]
    if spec.kind == "high-pass":
        return [round_digits(spec.pass_hz[0] / spec.stop_hz[0])]
    centre, width = get_band(spec)
    ratios = [round_digits(edge / centre) for edge in spec.stop_hz]
    return [max(1.0, abs(ratio - 1 / ratio) / width) for ratio in ratios]


def get_band(spec: Spec) -> tuple[float, float]:
    """Return the reference frequency in Hz, and the relative width of a band-pass (else 1)."""
    if spec.kind != "band-pass":
        return spec.pass_hz[0], 1.0
    lower, upper = spec.pass_hz
    ratio = math.sqrt(round_digits(upper / lower))
    return math.sqrt(lower * upper), ratio - 1 / ratio


class Ladder:
    """One specification with one order, in units of its reference frequency and impedance.

    All tables have a row for each topology: `rising` is 1 for a part whose immittance in its branch
    rises with frequency, else 0; `dissipations` are 1 / Q; `references` the logs of the textbook's
    values.
    """

    def __init__(self, spec: Spec, order: int) -> None:
        self.spec = spec
        self.order = order
        self.per_branch = 2 if spec.kind == "band-pass" else 1
        self.num_parts = order * self.per_branch
        self.reference_hz, self.width = get_band(spec)
        self.points = build_mask(spec, self.width)
        self._place_parts()
        self._scale_parts()
        self.references = self.convert_prototype(find_prototype(order, spec.max_loss_db))

    def convert_prototype(self, prototype: np.ndarray) -> np.ndarray:
        """Return the logs of the parts of a low-pass prototype [N], for each topology [2, P]."""
        logs: np.ndarray = self.signs * np.repeat(np.log(prototype / self.width), self.per_branch)
        return logs

    def _place_parts(self) -> None:
        branches = np.repeat(np.arange(self.order), self.per_branch)
        is_series = (branches + np.arange(2)[:, None]) % 2 == 0
        if self.spec.kind == "low-pass":
            self.is_inductor = is_series
        elif self.spec.kind == "high-pass":
            self.is_inductor = ~is_series
        else:
            self.is_inductor = np.tile(np.arange(self.num_parts) % 2 == 0, (2, 1))
        self.rising = np.where(self.is_inductor == is_series, 1.0, 0.0)
        self.signs = 2 * self.rising - 1
        q_inductor, q_capacitor = self.spec.q_inductor, self.spec.q_capacitor
        self.dissipations = np.where(self.is_inductor, 1 / q_inductor, 1 / q_capacitor)

    def _scale_parts(self) -> None:
        """Find what part is 1 in the ladder's units, as a power of ten and a decade."""
        speed = 2 * math.pi * self.reference_hz
        impedance = self.spec.z0_ohm
        logs = [math.log10(unit) for unit in (impedance / speed, 1 / (speed * impedance))]
        nano_pico = [
            round(log - math.log10(unit), DIGITS) for log, unit in zip(logs, UNITS, strict=True)
        ]
        self.decades = np.where(self.is_inductor, *(math.floor(log) for log in nano_pico))
        fractions = [round(log - math.floor(log), DIGITS) for log in nano_pico]
        self.mantissas = np.where(self.is_inductor, *fractions)
        self.units_si = np.where(self.is_inductor, impedance / speed, 1 / (speed * impedance))


@functools.lru_cache(maxsize=64)
def build_ladder(spec: Spec, order: int) -> Ladder:
    """Return the ladder of a specification, which nobody changes: an answer asks several times."""
    return Ladder(spec, order)


def build_mask(spec: Spec, width: float) -> np.ndarray:
    """Return the frequencies of the mask over the reference [F]: NUM_PASS, then the stopband's."""
    if spec.kind == "band-pass":
        bends = -np.cos(np.linspace(0, math.pi, NUM_PASS)) * width / 2
        inside = bends + np.sqrt(1 + bends**2)
    else:
        inside = np.sin(np.linspace(0.01, math.pi, NUM_PASS) / 2)
    passband = 1 / inside if spec.kind == "high-pass" else inside
    return np.concatenate([passband, *list_stop_points(spec, np.linspace(0, 1, NUM_STOP))])


def list_stop_points(spec: Spec, shares: np.ndarray) -> list[np.ndarray]:
    """Return the points of each stopband over the reference, at `shares` of its logarithm."""
    beyond = STOP_SPAN**shares
    reference, _ = get_band(spec)
    stops = [round_digits(edge / reference) for edge in spec.stop_hz]
    if spec.kind == "low-pass":
        return [stops[0] * beyond]
    if spec.kind == "high-pass":
        return [stops[0] / beyond]
    return [stops[0] / beyond, stops[1] * beyond]


def simulate(
    ladder: Ladder, logs: np.ndarray, topologies: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """Return 1 / |S21|^2 [D, F] of ladders with parts `logs` [D, P] at `points` of the reference.

    A chain of ABCD matrices; series and shunt branches alternate, so that A + B + C + D over the
    branches follows p[n] = p[n - 2] + m[n] p[n - 1], where m is a branch's impedance or admittance.
    """
    coefficients = np.exp(ladder.signs[topologies] * logs)
    rising = coefficients * ladder.rising[topologies]
    shape = (len(logs), ladder.order, ladder.per_branch)
    up = rising.reshape(shape).sum(axis=2).T
    down = (coefficients - rising).reshape(shape).sum(axis=2).T
    lost = (coefficients * ladder.dissipations[topologies]).reshape(shape).sum(axis=2).T
    # Every branch is computed in the same memory: new arrays of this size cost more than the sums.
    branch = np.empty((len(logs), len(points)), complex)
    product = np.empty_like(branch)
    before, last = np.ones_like(branch), np.ones_like(branch)
    for number in range(ladder.order):
        branch.real = lost[number][:, None]
        branch.imag = up[number][:, None] * points - down[number][:, None] / points
        np.multiply(branch, last, out=product)
        before += product
        before, last = last, before
    total = np.add(before, last, out=product)
    powers: np.ndarray = (total.real**2 + total.imag**2) / 4
    return powers


def measure_margins(ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return by how many dB each ladder meets the mask [D]; below 0, by how many it fails."""
    powers = simulate(ladder, logs, topologies, ladder.points)
    loss = 10 * np.log10(powers[:, :NUM_PASS].max(axis=1))
    attenuation = 10 * np.log10(powers[:, NUM_PASS:].min(axis=1))
    margins: np.ndarray = np.minimum(
        ladder.spec.max_loss_db - loss, attenuation - ladder.spec.min_attenuation_db
    )
    return margins


def find_prototype(order: int, ripple_db: float) -> np.ndarray:
    """Return the values of Chebyshev's low-pass with the pass edge 1 [order] (Zverev 1967)."""
    numbers = np.arange(1, order + 1)
    sines = np.sin((2 * numbers - 1) * math.pi / (2 * order))
    beta = math.log(1 / math.tanh(ripple_db * LN10 / 40))
    gamma = math.sinh(beta / (2 * order))
    squares = gamma**2 + np.sin(numbers * math.pi / order) ** 2
    values = [2 * sines[0] / gamma]
    for number in range(1, order):
        values.append(
            4 * sines[number - 1] * sines[number] / (squares[number - 1] * values[number - 1])
        )
    return np.array(values)


# The series of standard parts.


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


def round_ladders(ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the standard parts [D, P], as numbers of steps, that are nearest to `logs`."""
    series = ladder.spec.series
    targets = logs / LN10 + ladder.mantissas[topologies]
    steps = find_steps(targets, series)
    if ladder.per_branch == 1:
        return steps
    return round_resonators(ladder, targets, steps)


def round_resonators(ladder: Ladder, targets: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Round inductor and capacitor together, so that a resonator keeps its frequency."""
    series = ladder.spec.series
    shifts = np.arange(-3, 4)
    inductors = steps[:, 0::2, None] + shifts
    excess = find_logs10(inductors, series) - targets[:, 0::2, None]
    capacitors = find_steps(targets[:, 1::2, None] - excess, series)
    rest = find_logs10(capacitors, series) - targets[:, 1::2, None]
    detuning, level = (excess + rest) / ladder.width, (excess - rest) / 2
    best = np.argmin(detuning**2 + level**2, axis=2)[:, :, None]
    rounded = steps.copy()
    rounded[:, 0::2] = np.take_along_axis(inductors, best, axis=2)[:, :, 0]
    rounded[:, 1::2] = np.take_along_axis(capacitors, best, axis=2)[:, :, 0]
    return rounded


def convert_steps(ladder: Ladder, steps: np.ndarray, topologies: np.ndarray) -> np.ndarray:
    """Return the logs of standard parts [D, P]."""
    logs10 = find_logs10(steps, ladder.spec.series)
    logs: np.ndarray = (logs10 - ladder.mantissas[topologies]) * LN10
    return logs


# The search.


class Proposals(NamedTuple):
    """Ladders to begin with: logs of parts [D, P] and topologies [D], the most promising first."""

    logs: np.ndarray
    topologies: np.ndarray


class Search:
    """Counts every simulation of one ladder's specification, and never repeats one."""

    def __init__(self, ladder: Ladder, first_call: int = 0) -> None:
        self.ladder = ladder
        self.calls = first_call
        self.steps: list[np.ndarray] = []
        self.topologies: list[int] = []
        self.margins: list[float] = []
        self.numbers: list[int] = []  # of the calls
        self._places: dict[tuple[int, bytes], int] = {}
        self._open: set[int] = set()  # whose neighbours were not tried

    def try_ladders(self, steps: np.ndarray, topologies: np.ndarray, budget: int) -> None:
        """Simulate the ladders that are new, until `calls` reaches `budget`."""
        fresh: list[int] = []
        for place, (row, topology) in enumerate(zip(steps, topologies.tolist(), strict=True)):
            key = (topology, row.tobytes())
            if key not in self._places and self.calls + len(fresh) < budget:
                self._places[key] = len(self._places)
                fresh.append(place)
        if not fresh:
            return
        logs = convert_steps(self.ladder, steps[fresh], topologies[fresh])
        margins = measure_margins(self.ladder, logs, topologies[fresh])
        self._open.update(range(len(self.margins), len(self.margins) + len(fresh)))
        self.steps += list(steps[fresh])
        self.topologies += topologies[fresh].tolist()
        self.margins += [round_digits(margin) for margin in margins]
        self.numbers += range(self.calls + 1, self.calls + len(fresh) + 1)
        self.calls += len(fresh)

    def expand(self, budget: int) -> None:
        """Try the neighbours of the best ladder, then of the next, until the budget is spent."""
        while self.calls < budget and self._open:
            place = max(self._open, key=lambda place: (self.margins[place], -place))
            self._open.remove(place)
            steps = self.steps[place] + build_moves(self.ladder)
            self.try_ladders(steps, np.full(len(steps), self.topologies[place]), budget)

    def has_tried(self, steps: np.ndarray, topology: int) -> bool:
        """Whether a ladder was simulated."""
        return (int(topology), steps.tobytes()) in self._places

    def has_met(self) -> bool:
        """Whether one of the ladders meets the mask."""
        return max(self.margins, default=-1.0) >= 0

    def list_designs(self, number: int) -> list[FilterDesign]:
        """Return the best designs by margin, up to `number` of each topology."""
        places = sorted(range(len(self.margins)), key=lambda place: -self.margins[place])
        designs: list[FilterDesign] = []
        for topology in range(len(TOPOLOGIES)):
            own = [place for place in places if self.topologies[place] == topology]
            designs += [self._build_design(place) for place in own[:number]]
        return check_stopbands(self.ladder, designs)

    def _build_design(self, place: int) -> FilterDesign:
        ladder, topology = self.ladder, self.topologies[place]
        series = ladder.spec.series
        steps = self.steps[place] + len(SERIES[series]) * ladder.decades[topology]
        units = np.where(ladder.is_inductor[topology], *UNITS)
        names = [name_value(series, step) for step in steps.tolist()]
        parts = [round_digits(name * unit) for name, unit in zip(names, units, strict=True)]
        logs = convert_steps(ladder, self.steps[place][None], np.array([topology]))[0]
        return FilterDesign(
            topology=TOPOLOGIES[topology],
            order=ladder.order,
            parts=np.array(parts),
            margin_db=self.margins[place],
            calls=self.numbers[place],
            logs=logs,
        )


def build_moves(ladder: Ladder) -> np.ndarray:
    """Return the changes by one step [moves, P]: of one part, or of a resonator in tune."""
    single = np.eye(ladder.num_parts, dtype=int)
    moves = [single, -single]
    if ladder.per_branch > 1:
        pairs = single[0::2] - single[1::2]
        moves = [pairs, -pairs, *moves]
    return np.concatenate(moves)


def search_ladders(
    spec: Spec, strategy: "Strategy", budget: int, number: int = 3
) -> tuple[list[FilterDesign], int]:
    """Return the best designs, up to `number` of each topology, and the number of calls.

    Where the order is left out, it begins with the least that the theorem allows; an order that
    does not meet the mask within its share of the calls leaves the rest to the next one.
    """
    orders = list_orders(spec)
    designs: list[FilterDesign] = []
    calls = 0
    for place, order in enumerate(orders):
        share = calls + max(1, (budget - calls) // (len(orders) - place))
        search = Search(build_ladder(spec, order), calls)
        strategy.run(search, min(share, budget))
        if search.has_met():
            search.expand(budget)
        designs += search.list_designs(number)
        calls = search.calls
        if search.has_met() or calls >= budget:
            break
    return designs, calls


def check_stopbands(ladder: Ladder, designs: list[FilterDesign]) -> list[FilterDesign]:
    """Return the designs with the margins that they have between the points of the search too.

    Parts may resonate in the stopband, where the search looks at a few points only.
    """
    spec = ladder.spec
    logs = np.array([design.logs for design in designs])
    topologies = np.array([TOPOLOGIES.index(design.topology) for design in designs])
    least = np.full(len(designs), np.inf)
    for points in list_stop_points(spec, FINE_SHARES):
        powers = simulate(ladder, logs, topologies, points)
        for place in range(len(designs)):
            one = slice(place, place + 1)
            compute = functools.partial(simulate, ladder, logs[one], topologies[one])
            least[place] = min(least[place], find_least(compute, points, powers[place]))
    margins = 10 * np.log10(least) - spec.min_attenuation_db
    return [
        replace(design, margin_db=min(design.margin_db, round_digits(margin)))
        for design, margin in zip(designs, margins.tolist(), strict=True)
    ]


def find_least(
    compute: Callable[[np.ndarray], np.ndarray], points: np.ndarray, values: np.ndarray
) -> float:
    """Return the least value of a function whose `values` at `points` are known.

    It looks closer and closer around each point that lies below its neighbours.
    """
    least = float(values.min())
    dips = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])) + 1
    for dip in dips.tolist():
        first, last = points[dip - 1], points[dip + 1]
        for _ in range(NUM_ZOOMS):
            cell = np.linspace(first, last, NUM_CELL)
            inside = compute(cell)[0]
            place = int(inside[1:-1].argmin()) + 1
            first, last = cell[place - 1], cell[place + 1]
        least = min(least, float(inside.min()))
    return least


def list_orders(spec: Spec) -> list[int]:
    """Return the orders to try, in turn; the highest where the theorem allows none."""
    if spec.order:
        return [spec.order]
    orders = ORDERS[spec.kind]
    able = [order for order in orders if compute_limit_db(spec, order) >= spec.min_attenuation_db]
    return able or [orders[-1]]


# Strategies: where the search begins.


class Strategy:
    """Proposes ladders; the search rounds and refines them."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> None:
        self.config = config
        self.weights = weights

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return where to begin."""
        raise NotImplementedError

    def run(self, search: Search, budget: int) -> None:
        """Spend calls until `search.calls` reaches `budget`."""
        proposals = self.propose(search.ladder, budget - search.calls)
        steps = round_ladders(search.ladder, *proposals)
        search.try_ladders(steps, proposals.topologies, budget)
        search.expand(budget)


class Textbook(Strategy):
    """Chebyshev's filters, of several ripples and cutoffs, either part first."""

    # Share of the loss limit as ripple, cutoff over the pass edge, topology. Each of the first 16
    # meets the most masks of those that the ones before it miss; the rest is for loose masks.
    FAMILY = (
        *((0.7, 1.03, 1), (0.8, 1.03, 0), (0.6, 1.0, 0), (0.8, 1.0, 1), (0.5, 1.0, 1)),
        *((0.7, 1.0, 0), (0.6, 1.03, 1), (0.7, 1.0, 1), (0.5, 1.0, 0), (0.9, 1.0, 1)),
        *((0.4, 1.0, 1), (0.6, 1.0, 1), (0.9, 1.03, 0), (0.5, 1.03, 0), (0.6, 1.03, 0)),
        *((0.7, 1.03, 0), (0.2, 1.0, 1), (0.2, 1.0, 0), (0.05, 1.0, 1), (0.05, 1.0, 0)),
    )

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return the family, in a fixed order."""
        logs = [self.build_member(ladder, *member) for member in self.FAMILY[:budget]]
        topologies = [topology for _, _, topology in self.FAMILY[:budget]]
        return Proposals(np.stack(logs), np.array(topologies))

    def build_member(
        self, ladder: Ladder, share: float, cutoff: float, topology: int
    ) -> np.ndarray:
        """Return the logs of one of the family [P]."""
        prototype = find_prototype(ladder.order, share * ladder.spec.max_loss_db) / cutoff
        logs: np.ndarray = ladder.convert_prototype(prototype)[topology]
        return logs


class RandomValues(Strategy):
    """Random values around the textbook: what a generator must beat."""

    SPREAD = 0.1  # of logs

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return as many ladders as there are calls."""
        random = np.random.default_rng(make_seed(ladder))
        places = random.integers(0, NUM_SAMPLES, MAX_BUDGET)[:budget]
        noise = random.normal(0, self.SPREAD, (MAX_BUDGET, ladder.num_parts))[:budget]
        family = Textbook({}, {}).propose(ladder, NUM_SAMPLES)
        return Proposals(family.logs[places] + noise, family.topologies[places])


class Bayesian(Strategy):
    """Bayesian optimisation from the textbook's ladders, in place of the search by neighbours.

    A Gaussian process of the margins says which ladder may raise the best one most (expected
    improvement: Jones, Schonlau and Welch 1998).
    """

    NUM_STARTS = 8
    NUM_POOL = 128  # ladders among which it chooses, around the best
    NUM_CHOSEN = 8  # before margins are fitted again
    SPREAD = 0.1  # of logs, between ladders of the pool and the best
    LENGTH = 0.3  # of logs, over which margins are alike
    NOISE = 1e-3  # of margins, as a share of their variance

    def run(self, search: Search, budget: int) -> None:
        """Spend calls until `search.calls` reaches `budget`."""
        ladder = search.ladder
        random = np.random.default_rng(make_seed(ladder))
        starts = Textbook({}, {}).propose(ladder, self.NUM_STARTS)
        search.try_ladders(round_ladders(ladder, *starts), starts.topologies, budget)
        while search.calls < budget:
            before = search.calls
            steps, topologies = self._choose(search, random)
            search.try_ladders(steps, topologies, budget)
            if search.calls == before:  # the pool has nothing new
                search.expand(min(budget, before + self.NUM_CHOSEN))
            if search.calls == before:
                return

    def _choose(self, search: Search, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps and topologies of the most promising ladders of a pool."""
        ladder = search.ladder
        steps, topologies = np.stack(search.steps), np.array(search.topologies)
        margins = np.array(search.margins)
        known = convert_steps(ladder, steps, topologies)
        places = np.argsort(-margins, kind="stable")[: self.NUM_CHOSEN]
        centres = np.resize(places, self.NUM_POOL)
        noise = random.normal(0, self.SPREAD, (self.NUM_POOL, ladder.num_parts))
        pool = round_ladders(ladder, known[centres] + noise, topologies[centres])
        is_new = np.array(
            [not search.has_tried(*pair) for pair in zip(pool, topologies[centres], strict=True)]
        )
        values = convert_steps(ladder, pool, topologies[centres])
        gains = self._expect_gains(
            self._place(ladder, known, topologies),
            (margins - margins.mean()) / max(margins.std(), 1e-9),
            self._place(ladder, values, topologies[centres]),
        )
        best = np.argsort(-np.where(is_new, gains, -1.0), kind="stable")[: self.NUM_CHOSEN]
        return pool[best], topologies[centres][best]

    def _place(self, ladder: Ladder, logs: np.ndarray, topologies: np.ndarray) -> np.ndarray:
        """Return where ladders are for the process [D, P + 1]; topologies are far apart."""
        logs = ladder.signs[topologies] * (logs - ladder.references[topologies])
        return np.column_stack([logs / self.LENGTH, 3.0 * topologies])

    def _expect_gains(self, known: np.ndarray, margins: np.ndarray, pool: np.ndarray) -> np.ndarray:
        """Return the expected improvement of each place of the pool."""
        inner = compute_kernel(known, known) + self.NOISE * np.eye(len(known))
        cross = compute_kernel(pool, known)
        solved = np.linalg.solve(inner, np.column_stack([margins, cross.T]))
        means = cross @ solved[:, 0]
        variances = 1 - (cross * solved[:, 1:].T).sum(axis=1)
        deviations = np.sqrt(np.maximum(variances, 1e-12))
        ratios = (means - margins.max()) / deviations
        density = np.exp(-(ratios**2) / 2) / math.sqrt(2 * math.pi)
        below = np.array([math.erf(ratio / math.sqrt(2)) for ratio in ratios.tolist()])
        gains: np.ndarray = deviations * (ratios * (1 + below) / 2 + density)
        return gains


def compute_kernel(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the covariance of a Gaussian process between places [D, E]."""
    squares = ((rows[:, None] - columns) ** 2).sum(axis=2)
    kernel: np.ndarray = np.exp(-squares / 2)
    return kernel


class Network(Strategy):
    """Layers that propose ladders for the features of a specification.

    A ladder of a group that no train row had comes from the textbook.
    """

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return NUM_SAMPLES ladders at most."""
        group = find_group(ladder)
        if not self.weights["known"][group]:
            return Textbook({}, {}).propose(ladder, budget)
        features = describe_ladder(ladder) - self.weights["features.mean"]
        features = np.clip(features / self.weights["features.scale"], -MAX_FEATURE, MAX_FEATURE)
        drawn = self.draw(np.tile(features.astype(np.float32), (NUM_SAMPLES, 1)), ladder)
        drawn = np.clip(np.nan_to_num(drawn), -MAX_COORDINATE, MAX_COORDINATE)
        coordinates = drawn * self.weights["scale"][group] + self.weights["mean"][group]
        return decode(ladder, coordinates.astype(float))

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates, with mean 0 and deviation 1, for features [NUM_SAMPLES, K]."""
        raise NotImplementedError

    def apply(self, name: str, units: np.ndarray) -> np.ndarray:
        """Return what the layers `name` make of units; SiLU between them."""
        last = int(self.config["layers"])
        for layer in range(last + 1):
            weight, bias = (self.weights[f"{name}.{layer}.{kind}"] for kind in ("weight", "bias"))
            units = units @ weight.T + bias
            if layer < last:
                units = units / (1 + np.exp(-units))
        return units


class Diffusion(Network):
    """Denoises random numbers into coordinates (DDIM: Song et al. 2021, arXiv:2010.02502)."""

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [NUM_SAMPLES, NUM_COORDINATES]."""
        random = np.random.default_rng(make_seed(ladder))
        state = random.normal(size=(NUM_SAMPLES, NUM_COORDINATES)).astype(np.float32)
        times = np.linspace(1, 0, int(self.config["steps"]) + 1)
        for time, following in itertools.pairwise(times.tolist()):
            kept, left = compute_signal(time), compute_signal(following)
            embedding = np.tile(embed_time(np.array([time])), (len(state), 1))
            noise = self.apply("model", np.concatenate([features, state, embedding], axis=1))
            clean = (state - math.sqrt(1 - kept) * noise) / math.sqrt(kept)
            clean = np.clip(clean, -MAX_DEVIATION, MAX_DEVIATION)
            noise = (state - math.sqrt(kept) * clean) / math.sqrt(1 - kept)
            state = (math.sqrt(left) * clean + math.sqrt(1 - left) * noise).astype(np.float32)
        return state


class LadderGenerator(Network):
    """Turns random numbers into coordinates in one pass: the generator of a GAN."""

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [NUM_SAMPLES, NUM_COORDINATES]."""
        random = np.random.default_rng(make_seed(ladder))
        size = (NUM_SAMPLES, int(self.config["noise"]))
        noise = random.normal(size=size).astype(np.float32)
        return self.apply("model", np.concatenate([features, noise], axis=1))


class Regression(Network):
    """One ladder for each topology."""

    def propose(self, ladder: Ladder, budget: int) -> Proposals:
        """Return the two ladders, then those of the textbook."""
        own, textbook = super().propose(ladder, budget), Textbook({}, {}).propose(ladder, budget)
        logs = np.concatenate([own.logs[:2], textbook.logs])
        return Proposals(logs, np.append(own.topologies[:2], textbook.topologies))

    def draw(self, features: np.ndarray, ladder: Ladder) -> np.ndarray:
        """Return coordinates [2, NUM_COORDINATES]: capacitors first, then inductors."""
        heads = self.apply("model", features[:1]).reshape(2, MAX_VALUES)
        return np.column_stack([heads, [-1.0, 1.0]])


NUM_GROUPS = 4  # low-pass and high-pass of order 3, 5, 7; band-pass
MAX_VALUES = 7
NUM_COORDINATES = MAX_VALUES + 1  # the last is the topology
NUM_FREQUENCIES = 8  # of the embedding of time
MAX_DEVIATION = 4.0


def find_group(ladder: Ladder) -> int:
    """Return which distribution of coordinates a ladder has: a high-pass mirrors a low-pass."""
    if ladder.per_branch > 1:
        return NUM_GROUPS - 1
    return (ladder.order - 3) // 2


def describe_ladder(ladder: Ladder) -> np.ndarray:
    """Return the features of a specification in terms of its low-pass prototype [K]."""
    spec = ladder.spec
    groups = np.eye(NUM_GROUPS)[find_group(ladder)]
    inductor, capacitor = 1 / spec.q_inductor, 1 / spec.q_capacitor
    if ladder.per_branch > 1:
        inductor = capacitor = (inductor + capacitor) / ladder.width
    slack = compute_limit_db(spec, ladder.order) - spec.min_attenuation_db
    ratio = max(min(list_stop_ratios(spec)), 1 + 1e-9)
    numbers = [
        math.log(spec.max_loss_db),
        min(max(slack, -5.0), 20.0),
        math.log(math.acosh(ratio)),
        spec.min_attenuation_db,
        inductor,
        capacitor,
        math.log(ladder.width),
        math.log(TOLERANCES[spec.series]),
    ]
    return np.concatenate([groups, numbers])


def decode(ladder: Ladder, coordinates: np.ndarray) -> Proposals:
    """Return the ladders that coordinates [S, NUM_COORDINATES] name; see `encode`."""
    arrangements = np.where(coordinates[:, -1] > 0, 0, 1)
    topologies = 1 - arrangements if ladder.spec.kind == "high-pass" else arrangements
    values = coordinates[:, : ladder.num_parts]
    if ladder.per_branch > 1:
        level, detuning = values[:, : ladder.order], values[:, ladder.order :]
        rising = ladder.rising[topologies].reshape(len(values), ladder.order, 2)
        shift = (2 * rising - 1) * ladder.width * detuning[:, :, None]
        values = (level[:, :, None] + shift).reshape(len(values), -1)
    logs = ladder.references[topologies] + ladder.signs[topologies] * values
    return Proposals(logs, topologies)


def encode(ladder: Ladder, ratios: np.ndarray, topology: int) -> np.ndarray:
    """Return the coordinates of a ladder by the logs of its parts' ratios to the textbook's [P].

    They are logs of the branches' immittances, which makes a high-pass a low-pass; of a resonator,
    of its level and its detuning over the width of the band. The last one is 1 where the first
    branch is inductive, else -1.
    """
    arrangement = 1 - topology if ladder.spec.kind == "high-pass" else topology
    values = ladder.signs[topology] * ratios
    if ladder.per_branch > 1:
        pairs = values.reshape(-1, 2)
        signs = ladder.signs[topology].reshape(-1, 2)
        detuning = (signs * pairs).sum(axis=1) / 2 / ladder.width
        values = np.concatenate([pairs.mean(axis=1), detuning])
    coordinates = np.zeros(NUM_COORDINATES)
    coordinates[: len(values)] = values
    coordinates[-1] = 1.0 - 2.0 * arrangement
    return coordinates


def compute_signal(time: float) -> float:
    """Return the share of the signal's power at a time from 0 to 1 (Nichol and Dhariwal 2021)."""
    angle = (time + 0.008) / 1.008 * math.pi / 2
    return max(math.cos(angle) ** 2, 1e-4)


def embed_time(times: np.ndarray) -> np.ndarray:
    """Return sines and cosines of times [B] at octaves [B, 2 NUM_FREQUENCIES], float32."""
    angles = times[:, None] * math.pi * 2.0 ** np.arange(NUM_FREQUENCIES)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def make_seed(ladder: Ladder) -> int:
    """Return a seed that is the same for all frequencies x 10 and impedances x 10."""
    spec = ladder.spec
    numbers = [spec.max_loss_db, spec.min_attenuation_db, spec.q_inductor, spec.q_capacitor]
    numbers += [ladder.width, *list_stop_ratios(spec), *np.unique(ladder.mantissas).tolist()]
    text = [spec.kind, str(ladder.order), spec.series, *(f"{number:.9g}" for number in numbers)]
    return int.from_bytes(hashlib.sha256("|".join(text).encode()).digest()[:8], "big")


STRATEGIES: dict[str, Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Strategy]] = {
    "textbook": Textbook,
    "random": RandomValues,
    "bayesian": Bayesian,
    "diffusion": Diffusion,
    "gan": LadderGenerator,
    "regression": Regression,
}


def build_strategy(config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> Strategy:
    """Return the strategy that `config` names."""
    return STRATEGIES[config["kind"]](config, weights)


# What an answer says.


def rank_designs(spec: Spec, designs: list[FilterDesign], plan: DesignPlan) -> list[FilterDesign]:
    """Return the best designs, with their yield, in the order that the plan asks for."""
    by_margin = sorted(designs, key=lambda design: (-design.margin_db, design.calls))
    if plan.rank == "parts":
        by_margin.sort(key=lambda design: (design.margin_db < 0, *count_parts(spec, design)))
    kept = by_margin[: max(plan.designs, 3 if plan.rank == "yield" else 1)]
    if plan.draws:
        kept = [measure_yield(spec, design, plan.draws) for design in kept]
    if plan.rank == "yield":
        kept.sort(key=lambda design: (design.margin_db < 0, -design.yield_share))
    return kept[: plan.designs]


def count_parts(spec: Spec, design: FilterDesign) -> tuple[int, int]:
    """Return the number of parts, and of inductors among them."""
    inductors, _ = split_parts(spec, design)
    return len(design.parts), len(inductors)


def measure_yield(spec: Spec, design: FilterDesign, draws: int) -> FilterDesign:
    """Return the design with the share of draws of its parts that meet the mask.

    A part is uniform within the tolerance of its series; its Q stays.
    """
    ladder = build_ladder(spec, design.order)
    errors = np.random.default_rng(YIELD_SEED).uniform(-1, 1, (draws, 14))[:, : ladder.num_parts]
    logs = design.logs + np.log1p(TOLERANCES[spec.series] * errors)
    topologies = np.full(draws, TOPOLOGIES.index(design.topology))
    margins = measure_margins(ladder, logs, topologies)
    share = float((margins >= 0).mean())
    values = (design.topology, design.order, design.parts, design.margin_db, design.calls)
    return FilterDesign(*values, design.logs, share)


def split_parts(spec: Spec, design: FilterDesign) -> tuple[list[float], list[float]]:
    """Return the inductors in nH and the capacitors in pF, from the source."""
    is_inductor = build_ladder(spec, design.order).is_inductor[TOPOLOGIES.index(design.topology)]
    inductors = [round_digits(part / UNITS[0]) for part in design.parts[is_inductor]]
    capacitors = [round_digits(part / UNITS[1]) for part in design.parts[~is_inductor]]
    return inductors, capacitors


def describe_design(spec: Spec, design: FilterDesign) -> dict[str, Any]:
    """Return one design as the answer lists it."""
    inductors, capacitors = split_parts(spec, design)
    return {
        "topology": design.topology,
        "order": design.order,
        "inductors_nh": inductors,
        "capacitors_pf": capacitors,
        "margin_db": design.margin_db,
        "yield_share": design.yield_share,
        "calls": design.calls,
    }


def write_message(spec: Spec, best: FilterDesign, limit: float) -> str:
    """Return the answer in one sentence."""
    order = spec.order or ORDERS[spec.kind][-1]
    branches = "resonators" if spec.kind == "band-pass" else "parts"
    asked = f"{spec.min_attenuation_db:g} dB are asked for"
    edges = " and ".join(f"{edge:g}" for edge in spec.stop_hz)
    if limit < spec.min_attenuation_db:
        return (
            f"no ladder of {order} {branches} can meet this mask: at {edges} Hz none attenuates "
            f"by more than {limit:.2f} dB, and {asked}"
        )
    if best.margin_db >= 0:
        return f"{len(best.parts)} parts meet the mask with a margin of {best.margin_db:.2f} dB"
    return (
        f"no ladder was found that meets this mask, though {order} {branches} without losses might "
        f"reach {limit:.2f} dB: the nearest fails by {-best.margin_db:.2f} dB; allow more calls "
        "(budget), a higher order, a finer series or a higher Q"
    )


def write_netlist(spec: Spec, design: FilterDesign) -> str:
    """Return a SPICE netlist whose V(out) is S21; ngspice -b runs it as it is."""
    ladder = build_ladder(spec, design.order)
    topology = TOPOLOGIES.index(design.topology)
    lower, upper = find_shown_range(spec)
    lines = [
        f"* {spec.kind} of order {design.order}, {spec.series} parts, {design.topology}",
        "V1 in 0 AC 2",
        f"RS in n0 {spec.z0_ohm:.9g}",
    ]
    node = "n0"
    is_series = [(branch + topology) % 2 == 0 for branch in range(design.order)]
    last_series = max(branch for branch, flag in enumerate(is_series) if flag)
    for branch in range(design.order):
        places = range(branch * ladder.per_branch, (branch + 1) * ladder.per_branch)
        parts = [
            (bool(ladder.is_inductor[topology, place]), float(design.parts[place]))
            for place in places
        ]
        if is_series[branch]:
            after = "out" if branch == last_series else f"n{branch + 1}"
            lines += write_series_branch(spec, branch + 1, parts, node, after)
            node = after
        else:
            lines += write_shunt_branch(spec, branch + 1, parts, node)
    lines += [f"RL out 0 {spec.z0_ohm:.9g}"]
    lines += [f".ac dec 100 {lower:.9g} {upper:.9g}", ".print ac vdb(out)"]
    return "\n".join([*lines, ".end", ""])


def write_series_branch(
    spec: Spec, number: int, parts: list[tuple[bool, float]], node: str, after: str
) -> Iterator[str]:
    """Yield the parts of a series branch, with the sum of their resistances."""
    speed = 2 * math.pi * get_band(spec)[0]
    resistance = 0.0
    at = node
    for is_inductor, value in parts:
        letter = "L" if is_inductor else "C"
        reactance = speed * value if is_inductor else 1 / (speed * value)
        resistance += reactance / (spec.q_inductor if is_inductor else spec.q_capacitor)
        following = f"{node}{letter.lower()}"
        yield f"{letter}{number} {at} {following} {value:.6g}"
        at = following
    yield f"RQ{number} {at} {after} {resistance:.12g}"


def write_shunt_branch(
    spec: Spec, number: int, parts: list[tuple[bool, float]], node: str
) -> Iterator[str]:
    """Yield the parts of a shunt branch, with the resistor of their conductances."""
    speed = 2 * math.pi * get_band(spec)[0]
    conductance = 0.0
    for is_inductor, value in parts:
        letter = "L" if is_inductor else "C"
        susceptance = 1 / (speed * value) if is_inductor else speed * value
        conductance += susceptance / (spec.q_inductor if is_inductor else spec.q_capacitor)
        yield f"{letter}{number} {node} 0 {value:.6g}"
    yield f"RQ{number} {node} 0 {1 / conductance:.12g}"


# The picture of an answer.

STEP, TOP, GROUND, MARGIN, HEIGHT = 92, 62, 172, 70, 204  # of a schematic, in units of the picture
PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 70, 560, 12, 212
DEEPEST_DB, HIGHEST_DB = 20.0, 2.0  # that are shown below the mask, and above 0 dB
LINE = 'fill="none" stroke="currentColor" stroke-width="1.6"'
TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor"'
GREY = 'fill="#bbbbbb"'
PREFIXES = {
    "nH": ((1e6, "mH"), (1e3, "µH"), (1, "nH")),
    "pF": ((1e6, "µF"), (1e3, "nF"), (1, "pF")),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1, "Hz")),
}


class Branch(NamedTuple):
    """A branch of a schematic: an inductor in nH, a capacitor in pF, or both."""

    in_series: bool
    inductor: float | None
    capacitor: float | None


def draw_picture(
    spec: Spec, design: FilterDesign, frequencies: np.ndarray, losses: np.ndarray
) -> str:
    """Return schematic and response [F] of a design as SVG: lines, areas and numbers, no script."""
    schematic, width = draw_ladder(list_branches(spec, design), spec.z0_ohm)
    width = max(width, PLOT_RIGHT + 20)
    height = HEIGHT + PLOT_BOTTOM + 40
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        schematic,
        f'<g transform="translate(0 {HEIGHT})">',
        *draw_response(spec, frequencies, losses),
        "</g>",
        "</svg>",
    ]
    return "\n".join(marks) + "\n"


def list_branches(spec: Spec, design: FilterDesign) -> list[Branch]:
    """Return the branches of a design from the source on."""
    inductors, capacitors = map(iter, split_parts(spec, design))
    topology = TOPOLOGIES.index(design.topology)
    is_inductor = build_ladder(spec, design.order).is_inductor[topology]
    branches = []
    for number, kinds in enumerate(is_inductor.reshape(design.order, -1).tolist()):
        inductor = next(inductors) if True in kinds else None
        capacitor = next(capacitors) if False in kinds else None
        branches.append(Branch((number + topology) % 2 == 0, inductor, capacitor))
    return branches


def draw_ladder(branches: Sequence[Branch], z0_ohm: float) -> tuple[str, int]:
    """Return the marks of a schematic, between a source and a load, and its width."""
    impedance = f"{z0_ohm:g} Ω"
    marks = [draw_resistor_down(30, impedance), draw_wire(30, TOP, MARGIN, TOP)]
    at = MARGIN
    for branch in branches:
        parts = []
        if branch.inductor is not None:
            parts.append(("L", show_value(branch.inductor, "nH")))
        if branch.capacitor is not None:
            parts.append(("C", show_value(branch.capacitor, "pF")))
        marks.append((draw_in_series if branch.in_series else draw_in_shunt)(at, parts))
        at += STEP
    marks += [draw_wire(at, TOP, at + 40, TOP), draw_resistor_down(at + 40, impedance)]
    return "".join(marks), at + 110


def draw_in_series(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or an inductor and a capacitor one after the other, on the upper wire."""
    room = STEP / len(parts)
    marks = []
    for place, (letter, value) in enumerate(parts):
        start = at + place * room
        glyph, low, high = draw_glyph(letter, start + room / 2, TOP)
        marks += [glyph, draw_wire(start, TOP, low, TOP), draw_wire(high, TOP, start + room, TOP)]
        marks.append(draw_text(start + room / 2, TOP - 16 - 14 * place, value, "middle"))
    return "".join(marks)


def draw_in_shunt(at: int, parts: list[tuple[str, str]]) -> str:
    """Draw one part, or both beside each other, from the upper wire to ground."""
    middle = at + STEP / 2
    marks = [draw_wire(at, TOP, at + STEP, TOP), draw_ground(middle)]
    centre = (TOP + GROUND) / 2
    offsets = [0.0] if len(parts) == 1 else [-16.0, 16.0]
    for place, ((letter, value), offset) in enumerate(zip(parts, offsets, strict=True)):
        glyph, low, high = draw_glyph(letter, 0, 0)
        turned = f'<g transform="translate({middle + offset:g} {centre:g}) rotate(90)">{glyph}</g>'
        marks += [turned, draw_wire(middle + offset, TOP, middle + offset, centre + low)]
        marks.append(draw_wire(middle + offset, centre + high, middle + offset, GROUND))
        side = 14 if offset >= 0 else -14
        anchor = "start" if offset >= 0 else "end"
        height = centre + 4 - 8 * (len(parts) - 1) + 16 * place
        marks.append(draw_text(middle + offset + side, height, value, anchor))
    if len(parts) > 1:
        marks.append(draw_wire(middle - 16, GROUND, middle + 16, GROUND))
    return "".join(marks)


def draw_glyph(letter: str, x: float, y: float) -> tuple[str, float, float]:
    """Return an inductor or a capacitor on a level wire, and where it begins and ends."""
    if letter == "L":
        arcs = "a5 5 0 0 1 10 0" * 4
        return f'<path {LINE} d="M{x - 20:g} {y:g}{arcs}"/>', x - 20, x + 20
    plates = f"M{x - 4:g} {y - 12:g}v24M{x + 4:g} {y - 12:g}v24"
    return f'<path {LINE} d="{plates}"/>', x - 4, x + 4


def draw_resistor_down(x: float, value: str) -> str:
    """Draw a termination, from the upper wire to ground."""
    centre = (TOP + GROUND) / 2
    box = f'<rect {LINE} x="{x - 7:g}" y="{centre - 18:g}" width="14" height="36"/>'
    wires = draw_wire(x, TOP, x, centre - 18) + draw_wire(x, centre + 18, x, GROUND)
    return box + wires + draw_ground(x) + draw_text(x + 12, centre + 4, value, "start")


def draw_ground(x: float) -> str:
    """Draw the end of a wire."""
    lines = f"M{x:g} {GROUND}v8M{x - 10:g} {GROUND + 8}h20M{x - 6:g} {GROUND + 12}h12"
    return f'<path {LINE} d="{lines}M{x - 2:g} {GROUND + 16}h4"/>'


def draw_wire(x: float, y: float, to_x: float, to_y: float) -> str:
    """Draw a straight line."""
    return f'<path {LINE} d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'


def draw_text(x: float, y: float, text: str, anchor: str) -> str:
    """Write text; `anchor`: start, middle or end."""
    return f'<text {TEXT} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def show_value(value: float, unit: str) -> str:
    """Return a value with the largest unit that leaves a number from 1."""
    for size, name in PREFIXES[unit]:
        if value >= size:
            return f"{value / size:.4g} {name}"
    return f"{value:.3g} {unit}"


def draw_response(spec: Spec, frequencies: np.ndarray, losses: np.ndarray) -> Iterator[str]:
    """Yield the marks of a response over its mask, whose forbidden areas are grey."""
    deepest = spec.min_attenuation_db + DEEPEST_DB
    scale = (PLOT_BOTTOM - PLOT_TOP) / (deepest + HIGHEST_DB)
    low, high = math.log(frequencies[0]), math.log(frequencies[-1])
    width = (PLOT_RIGHT - PLOT_LEFT) / (high - low)
    is_shown = losses <= deepest
    across = PLOT_LEFT + (np.log(frequencies[is_shown]) - low) * width
    down = PLOT_TOP + (losses[is_shown] + HIGHEST_DB) * scale
    edges = {
        edge: PLOT_LEFT + (math.log(edge) - low) * width for edge in (*spec.pass_hz, *spec.stop_hz)
    }
    zero, lost, stopped = (
        PLOT_TOP + (level + HIGHEST_DB) * scale
        for level in (0.0, spec.max_loss_db, spec.min_attenuation_db)
    )
    passed = [edges[edge] for edge in spec.pass_hz]
    start = PLOT_LEFT if spec.kind == "low-pass" else passed[0]
    end = PLOT_RIGHT if spec.kind == "high-pass" else passed[-1]
    yield draw_area(start, end, lost, PLOT_BOTTOM)
    if spec.kind != "low-pass":
        yield draw_area(PLOT_LEFT, edges[spec.stop_hz[0]], zero, stopped)
    if spec.kind != "high-pass":
        yield draw_area(edges[spec.stop_hz[-1]], PLOT_RIGHT, zero, stopped)
    pairs = zip(across.tolist(), down.tolist(), strict=True)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
    yield f'<polyline fill="none" stroke="#1f5fa8" stroke-width="2" points="{points}"/>'
    yield draw_wire(PLOT_LEFT, PLOT_TOP, PLOT_LEFT, PLOT_BOTTOM)
    yield draw_wire(PLOT_LEFT, PLOT_BOTTOM, PLOT_RIGHT, PLOT_BOTTOM)
    for level, y in ((0.0, zero), (-spec.min_attenuation_db, stopped)):
        yield draw_text(PLOT_LEFT - 6, y + 4, f"{level:.4g} dB", "end")
    for place, (edge, x) in enumerate(sorted(edges.items())):
        yield draw_wire(x, PLOT_BOTTOM, x, PLOT_BOTTOM + 5)
        yield draw_text(x, PLOT_BOTTOM + 18 + 13 * (place % 2), show_value(edge, "Hz"), "middle")


def draw_area(left: float, right: float, top: float, bottom: float) -> str:
    """Fill what the response must stay out of."""
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect {GREY} x="{left:.1f}" y="{top:.1f}" {size}/>'


def list_shown_frequencies(spec: Spec) -> np.ndarray:
    """Return the frequencies of the response in an answer, in Hz [NUM_SHOWN]."""
    lower, upper = find_shown_range(spec)
    grid = lower * (upper / lower) ** np.linspace(0, 1, NUM_SHOWN)
    return np.array([round_digits(frequency) for frequency in grid.tolist()])


def find_shown_range(spec: Spec) -> tuple[float, float]:
    """Return the lowest and the highest frequency of the response in an answer, in Hz."""
    edges = [*spec.pass_hz, *spec.stop_hz]
    return min(edges) / 3, max(edges) * 3


def round_digits(value: float) -> float:
    """Return `value` with DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}")
