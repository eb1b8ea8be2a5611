"""Thousands of odd requests: each is answered correctly or refused, and the server is unchanged.

Hypothesis makes every case and prints the smallest one that fails. The fast tests make the same
cases in each run, the slow ones others: 5,000 in total, and 20,000 every night.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from tests.support.effort import choose_effort
from tests.support.serving import grammar, oracle
from tests.support.serving.lines import Lines, Server, serving
from tests.support.serving.wire import Connection, Got, Watch, parse, post, send_all_at_once

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
MIB = 24  # more memory than that after thousands of requests would be a leak
WARM_UP = 200  # requests until memory use is stable
PATIENCE_S = 0.5
FEW: set[int] = set()  # the numbers of cases of fast tests
RIGHT = [oracle.ROW | {"length": 1, "top_k": 3}]


def few_or_many(few: int, many: int, night: int) -> pytest.MarkDecorator:
    """A fast test and a slow one, which tries more every night."""
    FEW.add(few)
    slow = pytest.param(choose_effort(many, night), marks=pytest.mark.slow)
    return pytest.mark.parametrize("num_cases", [few, slow])


@pytest.fixture(scope="module")
def server(wide: Lines) -> Iterator[Server]:
    """The model `wide`, served."""
    with serving(wide, uri="models:/wide@champion") as found:
        yield found


@few_or_many(150, 1750, 7000)
def test_json(server: Server, num_cases: int) -> None:
    _try(
        server,
        num_cases,
        grammar.invocations(),
        lambda raw: ("/invocations", raw, "application/json", raw),
    )


@few_or_many(150, 1250, 5000)
def test_open_inference(server: Server, num_cases: int) -> None:
    _try(
        server,
        num_cases,
        grammar.infer(),
        lambda raw: ("/v2/models/wide/infer", raw, "application/json", raw),
    )


@few_or_many(100, 750, 3000)
def test_csv(server: Server, num_cases: int) -> None:
    _try(
        server,
        num_cases,
        grammar.csv(),
        lambda case: ("/invocations", case[0], "text/csv", case[1]),
    )


@few_or_many(4, 60, 220)
def test_streams(server: Server, num_cases: int) -> None:
    """16 connections at a time, each of which sends something similar to HTTP."""
    watch = Watch(server)

    @_settings(num_cases)
    @given(st.lists(grammar.streams(), min_size=16, max_size=16))
    def check(streams: list[bytes]) -> None:
        received = send_all_at_once(server.port, streams, PATIENCE_S)
        for raw, response in zip(streams, received, strict=True):
            answers, rest = parse(response)
            assert rest == b"", (raw, rest)
            for got in answers:
                got.check()
                if got.body.startswith(b'{"predictions"'):
                    assert json.loads(got.body) == {"predictions": [RIGHT[0] | {"marks": []}]}, raw
        _ask_as_usual(server)

    check()
    watch.check(MIB)


@few_or_many(5, 30, 100)
def test_openapi_describes_every_answer(server: Server, num_cases: int) -> None:
    """/openapi.json describes every answer; a request that violates it is refused."""
    watch = Watch(server)
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")
    # A schema cannot say that a shape matches its data: what is valid by it may be refused.
    checks = [check for check in CHECKS.get_all() if check.__name__ != "positive_data_acceptance"]
    for found in schema.get_all_operations():
        operation = found.ok()
        modes = (
            (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            if operation.body
            else (GenerationMode.POSITIVE,)
        )
        for mode in modes:

            @_settings(num_cases)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                note(case.as_curl_command())
                response = case.call()
                case.validate_response(response, checks=checks)
                headers = {name: values[0] for name, values in response.headers.items()}
                Got(response.status_code, headers, response.content).check()

            check()
    _ask_as_usual(server)
    watch.check(MIB)


def _try(
    server: Server, num_cases: int, cases: st.SearchStrategy[Any], read: Callable[[Any], Any]
) -> None:
    """Send each case on one connection: expect the right answer if there is one, else an error."""
    num_tried = 0
    with closing(Connection(server.port)) as connection:
        for _ in range(WARM_UP):
            connection.ask(post("/invocations", grammar.BODY))
        watch = Watch(server)

        @_settings(num_cases)
        @given(cases)
        def check(case: Any) -> None:
            nonlocal num_tried
            num_tried += 1
            path, raw, content_type, told = read(case)
            note(f"{raw!r}")
            got = connection.ask(post(path, raw, content_type))
            got.check()
            if told is None:
                assert got.status in (200, 400), got
            elif (right := _right(path, told)) is None:
                assert got.status in (400, 413), got
            else:
                assert got.status == 200, got
                assert _rows(got) == right
            if num_tried % 50 == 0:
                _ask_as_usual(server)

        check()
        watch.check(MIB)


def _right(path: str, told: Any) -> oracle.Rows | None:
    try:
        if isinstance(told, list):
            return oracle.cells(told)
        return oracle.infer(told) if path.startswith("/v2") else oracle.invocations(told)
    except oracle.WrongError:
        return None


def _rows(got: Got) -> oracle.Rows:
    body = json.loads(got.body)
    if "predictions" in body:
        return body["predictions"]
    columns = {}
    for tensor in body["outputs"]:
        data = tensor["data"]
        if tensor["name"] == "marks":
            width = tensor["shape"][1]
            data = [data[row * width : (row + 1) * width] for row in range(tensor["shape"][0])]
        columns[tensor["name"]] = data
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _ask_as_usual(server: Server) -> None:
    status, _, raw = server.ask(
        "POST",
        "/invocations",
        json.dumps({"inputs": [oracle.ROW]}),
        content_type="application/json",
    )
    assert (status, json.loads(raw)) == (200, {"predictions": RIGHT})


def _settings(num_cases: int) -> Any:
    fast = num_cases in FEW
    return settings(
        max_examples=num_cases,
        derandomize=fast,
        database=None,
        deadline=None,
        print_blob=not fast,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
