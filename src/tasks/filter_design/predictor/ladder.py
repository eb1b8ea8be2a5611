"""The theorem, the mask and the simulator."""

import functools
import math

import numpy as np

from .rows import DIGITS, Spec, round_digits

TOPOLOGIES = ("series_first", "shunt_first")
NUM_PASS, NUM_STOP, STOP_SPAN = 51, 9, 5.0  # points of the mask; the stopband ends at 5 x its edge
UNITS = (1e-9, 1e-12)  # nH and pF
LN10 = math.log(10.0)


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
