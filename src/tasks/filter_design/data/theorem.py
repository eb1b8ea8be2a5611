"""The most attenuation that any ladder can have at a stop edge, whatever its values and losses.

A ladder of N reactive parts between equal terminations, with constant resistances in its series
branches and constant conductances in its shunt branches, has no finite zero of transmission:
1/|S21|^2 is a polynomial of degree N in the square of the frequency. It is 1 or more (passivity),
and at most 1 + e^2 in the passband (the mask), with e^2 = 10^(loss / 10) - 1. Of all such
polynomials 1 + e^2 T_N^2 is the largest everywhere outside of the band (Chebyshev; Cheney 1966,
Introduction to Approximation Theory, section 3.7), which bounds the attenuation. For a high-pass
the frequency turns around; for a band-pass of N resonators its powers from -N to N are a Chebyshev
system too.
"""

import math

from tasks.filter_design.data.specifications import Specification

NUM_INTERVALS = 50  # of the passband, between the frequencies at which loss is looked at


def compute_limit(specification: Specification, order: int) -> float:
    """Return the most attenuation in dB of any ladder of `order` at the harder stop edge."""
    return _bound_attenuation(specification, order, 1.0)


def is_possible(specification: Specification) -> bool:
    """Whether the theorem leaves room for a ladder of the order that is asked for."""
    limit = compute_limit(specification, specification.max_order)
    return limit >= specification.min_attenuation_db


def is_possible_on_grid(specification: Specification) -> bool:
    """Whether a ladder could meet the mask at the frequencies where it is looked at.

    Between them a polynomial of degree N may exceed what it is at M intervals between Chebyshev
    points by the factor 1 / cos(pi N / 2M) (Ehlich and Zeller 1964), which raises the limit a
    little: a model that meets an example beyond this one has broken the theorem.
    """
    order = specification.max_order
    degree = 2 * order if specification.kind == "band-pass" else order
    excess = 1 / math.cos(math.pi * degree / (2 * NUM_INTERVALS))
    limit = _bound_attenuation(specification, order, excess)
    return limit >= specification.min_attenuation_db


def _bound_attenuation(specification: Specification, order: int, excess: float) -> float:
    """Bound the attenuation in dB if the swing of loss in the passband is `excess` times larger."""
    swing = excess * math.expm1(specification.max_loss_db * math.log(10) / 10)
    farthest = min(_normalise_edges(specification))
    polynomial = math.cosh(order * math.acosh(max(1.0, farthest)))
    return 10 * math.log10(1 + swing * polynomial**2)


def _normalise_edges(specification: Specification) -> list[float]:
    """Return each stop edge as a frequency of the low-pass prototype, whose pass edge is 1."""
    if specification.kind == "low-pass":
        return [specification.stop_hz[0] / specification.pass_hz[0]]
    if specification.kind == "high-pass":
        return [specification.pass_hz[0] / specification.stop_hz[0]]
    ratios = [edge / specification.centre_hz for edge in specification.stop_hz]
    return [abs(ratio - 1 / ratio) / specification.bandwidth for ratio in ratios]
