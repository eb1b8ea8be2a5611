"""A small signal_extraction with the real DVC and MLflow: every way in gives the same answers."""

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import Checkout
from tests.support.serving.lines import serving
from tests.support.small_signals import values

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PYFUNC = """
import json, mlflow, pandas, sys
model = mlflow.pyfunc.load_model("models:/signal-extractor@champion")
told = model.predict(pandas.DataFrame(json.load(open(sys.argv[1]))))
print(json.dumps({name: [list(row) for row in told[name]] for name in told}))
"""


@pytest.fixture(scope="module")
def ran(checkout: Checkout) -> Checkout:
    """A checkout in which a filter and a small LSTM were trained and the better one is champion."""
    found = values(window=60)
    found["candidates"] = {name: found["candidates"][name] for name in ("fir", "film")}
    found["data"]["realisations"]["train"] = 2000  # enough for 60 taps
    found["evaluation"] |= {
        "floor": 0.6,
        "min_gain_over_baseline": 0.0,
        "max_detectable_difference": 0.5,
    }
    found["evaluation"] |= {"min_behaviour": {"invariance": 1.0, "direction": 0.0, "minimum": 0.0}}
    with (checkout.path / "params.yaml").open("w") as file:
        YAML().dump(found, file)
    checkout.printed = checkout.run("dvc", "repro").stdout  # type: ignore[attr-defined]
    return checkout


@pytest.fixture(scope="module")
def asked(ran: Checkout) -> dict[str, list[Any]]:
    """Rows from the test split, the last of which continues another."""
    golden = ran.read_report("golden")
    rows: dict[str, list[Any]] = {
        name: list(column[:6]) for name, column in golden["inputs"].items()
    }
    rows["state"] = [None] * 5 + [golden["outputs"]["state"][0]]
    return rows


@pytest.fixture(scope="module")
def told(ran: Checkout, asked: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What the bundle of the winner answers."""
    (ran.path / "rows.json").write_text(json.dumps(asked))
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom plumbline import bundle\n"
        "print(json.dumps(bundle.load(Path(sys.argv[1])).predict(json.load(open('rows.json')))))"
    )
    winner = ran.read_report("registration")["winner"]
    said: dict[str, list[Any]] = json.loads(
        ran.run(sys.executable, "-c", code, f"models/{winner}").stdout
    )
    return said


def same(found: dict[str, list[Any]], told: dict[str, list[Any]]) -> None:
    for name in ("component", "state"):
        assert len(found[name]) == len(told[name])
        for ours, theirs in zip(found[name], told[name], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_data_in_a_registered_model_out(ran: Checkout) -> None:
    found = ran.read_report("registration")
    assert (found["verdict"], found["version"]) == ("promote", "1")
    evidence = ran.read_report("evidence")
    status = {gate["name"]: gate["status"] for gate in evidence["gates"]}
    assert {status[name] for name in ("leakage", "bounds", "control", "behaviour", "replay")} == {
        "pass"
    }
    figures = {path.stem for path in (ran.path / "reports/plots").glob("*.svg")}
    assert figures >= {"components", "by_sample"}
    page = (ran.path / "reports/report.html").read_text()
    assert page.count("<svg role=") == len(figures)
    assert 'src="http' not in page
    assert "try it:" in ran.run("plumbline", "report").stdout


def test_pyfunc_answers_as_the_bundle(ran: Checkout, told: dict[str, list[Any]]) -> None:
    done = ran.run(
        sys.executable, "-W", "ignore", "-c", PYFUNC, "rows.json", MLFLOW_TRACKING_URI=ran.store
    )
    same(json.loads(done.stdout.splitlines()[-1]), told)


def test_score_answers_as_the_bundle(
    ran: Checkout, asked: dict[str, list[Any]], told: dict[str, list[Any]]
) -> None:
    pd.DataFrame(asked).to_parquet(ran.path / "asked.parquet")
    champion = "models:/signal-extractor@champion"
    ran.run("plumbline", "score", champion, "asked.parquet", "told.parquet", "--prefix", "out_")
    found = pd.read_parquet(ran.path / "told.parquet")
    same({name: found[f"out_{name}"].tolist() for name in ("component", "state")}, told)
    pd.DataFrame(asked).drop(columns="state").head(5).to_parquet(ran.path / "begin.parquet")
    ran.run("plumbline", "score", champion, "begin.parquet", "begun.parquet")
    begun = pd.read_parquet(ran.path / "begun.parquet")
    same(
        {name: begun[name].tolist() for name in told},
        {name: rows[:5] for name, rows in told.items()},
    )


def test_predict_takes_an_object(
    ran: Checkout, asked: dict[str, list[Any]], told: dict[str, list[Any]]
) -> None:
    row = {name: asked[name][5] for name in asked}
    found = json.loads(ran.run("plumbline", "predict", "--json", json.dumps(row)).stdout)
    np.testing.assert_allclose(found["component"], told["component"][5], atol=1e-5)
    refused = ran.run("plumbline", "predict", "0.5", code=2)
    assert "expected values or JSON objects of signal, frequency_hz" in refused.stderr


def test_http_answers_as_the_bundle(
    ran: Checkout, asked: dict[str, list[Any]], told: dict[str, list[Any]]
) -> None:
    with serving(ran, uri="models:/signal-extractor@champion") as server:

        def post(**body: Any) -> tuple[int, Any]:
            status, _, raw = server.ask(
                "POST", "/invocations", json.dumps(body), content_type="application/json"
            )
            return status, json.loads(raw)

        given = {name: column[:5] for name, column in asked.items() if name != "state"}
        records = [{name: asked[name][row] for name in asked} for row in range(6)]
        for body, rows in (({"inputs": given}, 5), ({"dataframe_records": records}, 6)):
            status, found = post(**body)
            assert status == 200, found
            columns = {name: [row[name] for row in found["predictions"]] for name in told}
            same(columns, {name: column[:rows] for name, column in told.items()})
        status, found = post(inputs={"signal": [[0.1]], "frequency_hz": [4.5]})
        assert status == 400
        assert "the model knows 1, 3, 5, 7" in found["message"]
        routes = json.loads(server.ask("GET", "/openapi.json")[2])["paths"]
        asking = routes["/invocations"]["post"]["requestBody"]["content"]["application/json"]
        assert post(**asking["example"])[0] == 200
