"""Reads the netlist of an answer and solves it, as SPICE would.

What a user builds is the netlist; that it is the design which was judged is not believed.
"""

import math
import re

import numpy as np

ELEMENT = re.compile(r"([RLC])(\w*) (\w+) (\w+) (\S+)", re.ASCII)
NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.ASCII)  # SPICE reads no 5_0, inf or nan
COMMANDS = (".ac ", ".print ")  # that change nothing of the circuit
END = ".end"
SOURCE, GROUND, OUTPUT = "in", "0", "out"
GROUNDS = {"gnd": GROUND}  # other names of it in SPICE
SOURCE_LINE, SOURCE_VOLTS = "V1 in 0 AC 2", 2.0  # so that V(out) is S21


def compute_netlist_loss(netlist: str, frequencies: np.ndarray) -> np.ndarray:
    """Return -20 log10 |V(out)| at each frequency in Hz [F].

    Raises ValueError that names a line that SPICE would read in another way or not at all, or says
    that the circuit cannot be solved.
    """
    elements = _read_elements(netlist)
    names = sorted({node for element in elements for node in element[1:3]} - {SOURCE, GROUND})
    if OUTPUT not in names:
        raise ValueError(f"no element at the node {OUTPUT!r}")
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(frequencies), len(names), len(names)), complex)
    current = np.zeros((len(frequencies), len(names), 1), complex)
    for letter, first, second, value in elements:
        admittance = _compute_admittance(letter, value, frequencies)
        for node, other in ((first, second), (second, first)):
            if node not in places:
                continue
            matrix[:, places[node], places[node]] += admittance
            if other in places:
                matrix[:, places[node], places[other]] -= admittance
            if other == SOURCE:
                current[:, places[node], 0] += admittance * SOURCE_VOLTS
    try:
        voltages = np.linalg.solve(matrix, current)[:, places[OUTPUT], 0]
    except np.linalg.LinAlgError:
        raise ValueError("a node of the circuit has no voltage") from None
    with np.errstate(divide="ignore"):  # an output that nothing reaches is lost without end
        loss: np.ndarray = -20 * np.log10(np.abs(voltages))
    return loss


def _read_elements(netlist: str) -> list[tuple[str, str, str, float]]:
    """Return letter, nodes and value of each element; the first line is a title."""
    lines = netlist.rstrip("\n").split("\n")[1:]
    elements: dict[str, tuple[str, str, str, float]] = {}
    for line in lines:
        if line in (SOURCE_LINE, END) or line.startswith(COMMANDS):
            continue
        name, element = _read_element(line)
        if name in elements:
            raise ValueError(f"line {line!r:.60}: an element of this name is there already")
        elements[name] = element
    num_sources = lines.count(SOURCE_LINE)
    if num_sources != 1:
        raise ValueError(f"{num_sources} lines {SOURCE_LINE!r}; expected one")
    if END not in lines or lines.index(END) + 1 < len(lines):  # ngspice reads on
        raise ValueError(f"the last line, and no other, is {END!r}")
    return list(elements.values())


def _read_element(line: str) -> tuple[str, tuple[str, str, str, float]]:
    """Return name, and letter, nodes and value; SPICE makes no difference between n1 and N1."""
    match = ELEMENT.fullmatch(line)
    if match is None:
        raise ValueError(f"line {line!r:.60} is not an element of the circuit")
    letter, rest, first, second, text = match.groups()
    value = float(text) if NUMBER.fullmatch(text.lower()) else 0.0
    if not 0 < value < math.inf:
        raise ValueError(f"line {line!r:.60}: the value is not a finite number above 0")
    one, other = (GROUNDS.get(node.lower(), node.lower()) for node in (first, second))
    return (letter + rest).lower(), (letter, one, other, value)


def _compute_admittance(letter: str, value: float, frequencies: np.ndarray) -> np.ndarray:
    """Return the admittance of one element in siemens [F]."""
    speed = 2j * math.pi * frequencies
    if letter == "R":
        return np.full(len(frequencies), 1 / value, complex)
    admittance: np.ndarray = speed * value if letter == "C" else 1 / (speed * value)
    return admittance
