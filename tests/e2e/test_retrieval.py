"""A small retrieval with the real DVC and MLflow: every way in ranks the same passages."""

import json
import sys
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import Checkout
from tests.support.serving.lines import serving
from tests.support.small_retrieval import ROOT, values

from plumbline.contract.yaml_file import load_yaml

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
CHAMPION = "models:/help-search@champion"
PYFUNC = f"""
import json, mlflow, pandas, sys
model = mlflow.pyfunc.load_model("{CHAMPION}")
told = model.predict(pandas.DataFrame({{"query": json.load(open("asked.json"))}}))
print(json.dumps([list(row) for row in told["ids"]]))
"""


@pytest.fixture(scope="module")
def ran(checkout: Checkout) -> Checkout:
    """A checkout in which the top layers of an encoder were tuned on some queries."""
    found = values()
    found["data"]["generated"] |= {"train": 600, "validation": 120, "test": 300}
    tuned = load_yaml(ROOT / "recipes/retrieval.yaml")["candidates"]["tuned"]
    found["candidates"]["tuned"] = tuned | {"frozen_layers": 4}
    with (checkout.path / "params.yaml").open("w") as file:
        YAML().dump(found, file)
    checkout.run("dvc", "repro")
    return checkout


@pytest.fixture(scope="module")
def told(ran: Checkout) -> list[list[str]]:
    """What evaluation saw the winner answer to the first rows of the test split."""
    golden = ran.read_report("golden")
    (ran.path / "asked.json").write_text(json.dumps(golden["inputs"]["query"]))
    return golden["outputs"]["ids"]  # type: ignore[no-any-return]


def test_pairs_in_a_registered_search_out(ran: Checkout) -> None:
    found = ran.read_report("registration")
    assert (found["verdict"], found["winner"], found["version"]) == ("promote", "tuned", "1")
    evidence = ran.read_report("evidence")
    assert set(evidence["baselines"]) == {"random", "bm25", "base"}
    status = {gate["name"]: gate["status"] for gate in evidence["gates"]}
    for name in ("baselines", "leakage", "bounds", "behaviour", "replay", "slices"):
        assert status[name] == "pass", name
    figures = {path.stem for path in (ran.path / "reports/plots").glob("*.svg")}
    assert figures == {"recall", "overlap"}  # one epoch has no curve


def test_pyfunc_ranks_as_evaluation(ran: Checkout, told: list[list[str]]) -> None:
    done = ran.run(sys.executable, "-W", "ignore", "-c", PYFUNC, MLFLOW_TRACKING_URI=ran.store)
    assert json.loads(done.stdout.splitlines()[-1]) == told


def test_score_ranks_as_evaluation(ran: Checkout, told: list[list[str]]) -> None:
    asked = json.loads((ran.path / "asked.json").read_text())
    pd.DataFrame({"query": asked}).to_csv(ran.path / "asked.csv", index=False)
    ran.run("plumbline", "score", CHAMPION, "asked.csv", "told.parquet", "--param", "vectors=true")
    found = pd.read_parquet(ran.path / "told.parquet")
    assert [list(row) for row in found["ids"]] == told
    assert {len(row) for row in found["vector"]} == {384}


def test_the_server_ranks_as_evaluation(ran: Checkout, told: list[list[str]]) -> None:
    asked = json.loads((ran.path / "asked.json").read_text())
    with serving(ran, uri=CHAMPION) as server:

        def post(**body: Any) -> tuple[int, Any]:
            text = json.dumps(body)
            status, _, raw = server.ask(
                "POST", "/invocations", text, content_type="application/json"
            )
            return status, json.loads(raw)

        status, found = post(inputs={"query": asked[:8]})
        assert status == 200, found
        assert [row["ids"] for row in found["predictions"]] == told[:8]
        status, found = post(inputs={"query": asked[:1]}, params={"top_k": 2, "texts": True})
        (row,) = found["predictions"]
        assert row["ids"] == told[0][:2]
        assert len(row["texts"]) == 2
        vector = post(inputs={"query": asked[:1]}, params={"vectors": True})[1]["predictions"][0]
        body = json.dumps({"model": "help-search", "input": asked[:2], "passages": True})
        headers = {"content_type": "application/json"}
        embedded = json.loads(server.ask("POST", "/v1/embeddings", body, **headers)[2])
        assert embedded["data"][0]["embedding"] == pytest.approx(vector["vector"])
        assert embedded["usage"]["prompt_tokens"] > vector["tokens"] > 2
        status, found = post(inputs={"query": [" "]})
        assert status == 400
        assert "query: empty" in found["message"]
