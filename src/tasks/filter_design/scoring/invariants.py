"""What every answer must be, whatever the specification; and the longest specification."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.contract.task import Columns, Predictor
from tasks.filter_design.data.specifications import Specification, accept_columns
from tasks.filter_design.data.theorem import compute_limit, is_possible_on_grid
from tasks.filter_design.scoring.judgement import find_fault, iterate_answers
from tasks.filter_design.scoring.oracle import compute_loss, compute_margin, read_ladder

TOLERANCE_DB = 1e-6  # of a claim, from what the oracle computes
DEFAULT_DESIGNS, MAX_CALLS = 3, 1024


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself, or the oracle, in the answers.

    Designs are ladders of the kind and order that were asked, of parts of the series; their margin
    and response are what nodal analysis says; `meets_spec` follows from the margin, `possible` from
    the theorem; there are no more designs and calls than were asked for; yields are shares.
    """
    specifications = accept_columns(columns)
    problems = []
    for row, answer in enumerate(iterate_answers(answers)):
        problem = _check_row(specifications[row], params, answer)
        if problem:
            problems.append(f"row {row}: {problem}")
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[Any]]:
    """Return the row with the most to try: seven parts of the finest series, order left open."""
    row = {
        "kind": "low-pass",
        "pass_hz": [3.0e7],
        "stop_hz": [4.5e7],
        "max_loss_db": 1.0,
        "min_attenuation_db": 15.0,
        "order": None,
        "z0_ohm": 50.0,
        "q_inductor": 60.0,
        "q_capacitor": 300.0,
        "series": "E96",
    }
    return {name: [value] for name, value in row.items()}


def _check_row(
    specification: Specification, params: Mapping[str, Any], answer: Mapping[str, Any]
) -> str | None:
    budget = params.get("budget") or MAX_CALLS
    if not 1 <= answer["calls"] <= budget:
        return f"{answer['calls']} calls of the simulator; the budget is {budget}"
    designs = answer["designs"]
    if not 1 <= len(designs) <= params.get("designs", DEFAULT_DESIGNS):
        return f"{len(designs)} designs; {params.get('designs', DEFAULT_DESIGNS)} were asked for"
    for place, design in enumerate(designs):
        problem = _check_design(specification, design)
        if problem:
            return f"design {place}: {problem}"
    if answer["margin_db"] != designs[0]["margin_db"]:
        return "margin_db is not that of the first design"
    if answer["meets_spec"] != (answer["margin_db"] >= 0):
        return f"meets_spec is {answer['meets_spec']} at a margin of {answer['margin_db']:.6f} dB"
    return _check_limit(specification, answer) or _check_response(specification, answer)


def _check_design(specification: Specification, design: Mapping[str, Any]) -> str | None:
    ladder = read_ladder(design)
    fault = find_fault(specification, ladder)
    if fault:
        return fault
    margin = compute_margin(specification, ladder)
    if not abs(design["margin_db"] - margin) <= TOLERANCE_DB:
        return f"margin {design['margin_db']:.6f} dB, but nodal analysis says {margin:.6f}"
    share = design["yield_share"]
    if not (share == -1 or 0 <= share <= 1):
        return f"yield_share {share} is neither a share nor -1"
    return None


def _check_limit(specification: Specification, answer: Mapping[str, Any]) -> str | None:
    limit = compute_limit(specification, specification.max_order)
    if not abs(answer["attenuation_limit_db"] - limit) <= TOLERANCE_DB:
        return f"attenuation_limit_db {answer['attenuation_limit_db']:.6f}; it is {limit:.6f}"
    if answer["possible"] != (limit >= specification.min_attenuation_db):
        return f"possible is {answer['possible']}, but the limit is {limit:.6f} dB"
    if answer["meets_spec"] and not is_possible_on_grid(specification):
        return "meets_spec, but no ladder of so many parts can"
    return None


def _check_response(specification: Specification, answer: Mapping[str, Any]) -> str | None:
    """Compare the response with the first design."""
    frequencies, gains = np.array(answer["frequency_hz"]), np.array(answer["s21_db"])
    if not len(frequencies):
        return "frequency_hz is empty; the response is of one frequency at least"
    if len(frequencies) != len(gains):
        return f"{len(frequencies)} frequencies and {len(gains)} values of s21_db"
    loss = compute_loss(specification, read_ladder(answer["designs"][0]), frequencies)
    difference = float(np.abs(loss + gains).max())
    if not difference <= TOLERANCE_DB:
        return f"s21_db differs from nodal analysis by {difference:.6g} dB"
    return None
