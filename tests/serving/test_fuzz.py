"""Odd requests that Hypothesis and Schemathesis make: each is answered rightly or refused.

The fast tests make the same cases in each run, the slow ones others, and more every night.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from tests.support.effort import choose_effort
from tests.support.serving.lines import Lines, Server, serving
from tests.support.serving.load import Watch
from tests.support.serving.models import INPUTS, ROW

MAX_ERROR_BYTES = 1000
MIB = 24  # more memory than that after hundreds of requests would be a leak
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
CELLS = {
    "text": st.text(),
    "count": st.integers(-(2**63), 2**63 - 1),
    "ratio": DOUBLES,
    "yes": st.booleans(),
    "marks": st.lists(DOUBLES, max_size=4),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=5)


def few_or_many(few: int, many: int, night: int) -> pytest.MarkDecorator:
    """A fast test and a slow one, which tries more every night."""
    slow = pytest.param(choose_effort(many, night), False, marks=pytest.mark.slow)
    return pytest.mark.parametrize(("num_cases", "is_fixed"), [(few, True), slow])


@pytest.fixture(scope="module")
def server(wide: Lines) -> Iterator[Server]:
    """The model `wide`, served: it answers with its inputs."""
    with serving(wide, uri="models:/wide@champion") as found:
        yield found


@few_or_many(60, 500, 3000)
def test_every_form_of_the_same_rows_gets_the_same_answer(
    server: Server, num_cases: int, is_fixed: bool
) -> None:
    watch = Watch(server)

    @choose_settings(num_cases, is_fixed)
    @given(ROWS)
    def check(rows: list[dict[str, Any]]) -> None:
        right = [{**row, "length": len(row["text"].encode()), "top_k": 3} for row in rows]
        columns = {name: [row[name] for row in rows] for name in INPUTS}
        split = {"columns": list(INPUTS), "data": [[row[name] for name in INPUTS] for row in rows]}
        for body in (
            {"instances": rows},
            {"inputs": columns},
            {"dataframe_records": rows},
            {"dataframe_split": split},
        ):
            assert ask(server, json.dumps(body)) == (200, {"predictions": right})
        assert ask(server, write_csv(rows), "text/csv") == (200, {"predictions": right})

    check()
    watch.check(MIB)


@few_or_many(5, 30, 100)
def test_openapi_describes_every_answer(server: Server, num_cases: int, is_fixed: bool) -> None:
    """/openapi.json describes every answer; a request that violates it is refused."""
    watch = Watch(server)
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")
    # A schema cannot say that a shape matches its data: what is valid by it may be refused.
    checks = [check for check in CHECKS.get_all() if check.__name__ != "positive_data_acceptance"]
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in list(GenerationMode) if operation.body else [GenerationMode.POSITIVE]:

            @choose_settings(num_cases, is_fixed)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                note(case.as_curl_command())
                response = case.call()
                case.validate_response(response, checks=checks)
                check_answer(response)

            check()
    assert ask(server, json.dumps({"instances": [ROW]}))[0] == 200
    watch.check(MIB)


def ask(server: Server, body: str, content_type: str = "application/json") -> tuple[int, Any]:
    status, _, raw = server.ask("POST", "/invocations", body.encode(), content_type=content_type)
    return status, json.loads(raw)


def write_csv(rows: list[dict[str, Any]]) -> str:
    """Write rows with every text in quotes, and lists as JSON."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(INPUTS), quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows({**row, "marks": json.dumps(row["marks"])} for row in rows)
    return file.getvalue()


def choose_settings(num_cases: int, is_fixed: bool) -> settings:
    return settings(
        max_examples=num_cases,
        derandomize=is_fixed,
        database=None,
        deadline=None,
        print_blob=not is_fixed,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )


def check_answer(answer: schemathesis.Response) -> None:
    """No failure; a refusal is short JSON that repeats nothing."""
    status, raw = answer.status_code, answer.content.decode()
    headers = {name: values[0] for name, values in answer.headers.items()}
    kind = headers.get("content-type", "")
    assert status // 100 in (2, 4), raw
    told = json.loads(raw, parse_constant=pytest.fail) if kind == "application/json" else {}
    if status >= 400 and not (status == 400 and kind.startswith("text/plain")):  # by uvicorn
        code = told.get("error_code")
        if isinstance(told["error"], dict):  # of /v1/embeddings
            told, code = told["error"], told["error"]["code"]
            assert set(told) == {"message", "type", "param", "code"}, raw
        else:
            assert set(told) == {"error_code", "message", "error"}, raw
        assert re.fullmatch("[A-Z_]+", code), raw
        assert len(raw) <= MAX_ERROR_BYTES
        for word in ("Traceback", 'File "'):
            assert word not in raw + str(headers)
