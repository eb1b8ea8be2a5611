"""What the log of real servers holds of a canary and a shadow, and what a trial finds in it."""

import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.support.outcomes import begin_trial, make_params, read_entries, use_lines
from tests.support.serving.lines import MOODY, Lines, Server, is_ready, serving
from tests.support.serving.load import list_workers
from tests.support.serving.moody import GO_FILE, REJECTS, WAITS

from plumbline.bundle import read_signature
from plumbline.contract.params import Params
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.serving.exchange import Exchange
from plumbline.serving.inference_request import InferenceRequest
from plumbline_outcomes import check
from plumbline_outcomes.keys import count_shares, has_other_share
from plumbline_outcomes.trial import Plan

KEYED = ("--key-header", "x-user-id")
THINNED = ("--limit", "log_share=0.000001")
Rows = list[dict[str, Any]]


def read_pairs(folder: Path) -> dict[tuple[str, int], Rows]:
    """The logged rows by request and row; both halves of a pair are in one file."""
    pairs: dict[tuple[str, int], Rows] = defaultdict(list)
    for file in sorted(folder.iterdir()):
        rows = pq.read_table(file).to_pylist()
        assert not pairs.keys() & {(row["request_id"], row["row"]) for row in rows}
        for row in rows:
            pairs[row["request_id"], row["row"]].append(row)
    return pairs


def ask_users(server: Server, num_users: int) -> dict[str, str]:
    """The version that answers each user."""
    users = [f"user-{number}" for number in range(num_users)]
    answers = {user: server.predict(1.0, 2.0, X_User_Id=user) for user in users}
    return {user: headers["x-plumbline-version"] for user, (_, headers, _) in answers.items()}


def test_both_answers_to_a_row_are_logged_whatever_the_share(lines: Lines, tmp_path: Path) -> None:
    options = ("--canary", "3=50%", "--shadow", "2", "--log-folder", str(tmp_path))
    with serving(lines, *options, *KEYED, *THINNED) as server:
        versions = ask_users(server, 20)
        server.ask(
            "POST",
            "/v2/models/line/versions/1/infer",
            '{"inputs": [{"name": "x", "shape": [1], "datatype": "FP64", "data": [1.0]}]}',
            X_Request_Id="outside",
        )
        assert server.stop() == 0
    assert set(versions.values()) == {"1", "3"}
    pairs = read_pairs(tmp_path)
    assert len(pairs) == 2 * len(versions) + 1  # the shadow was asked that named version 1, too
    outside = pairs.pop(("outside", 0))
    assert [(row["assigned"], row["share"], row["key"]) for row in outside] == [(None,) * 3] * 2
    for (_, number), (shown, other) in pairs.items():
        assert (shown["shown"], other["shown"]) == (True, False)
        sides = (shown["side"], other["side"])
        assert sides in [("canary", "champion"), ("champion", "shadow")]
        assert shown["assigned"] == other["assigned"] == sides[0]
        assert shown["share"] == 0.5
        assert len(shown["key"]) == 16
        assert number == shown["row"] == other["row"]
        assert shown["input.x"] == other["input.x"] == number + 1.0
        assert None not in (shown["output.y"], other["output.y"])
        for name in ("at", "draw", "share", "key"):
            assert shown[name] == other[name]


@pytest.mark.parametrize("asked", [REJECTS, WAITS])
def test_a_canary_that_gives_no_answer_has_a_row_and_keeps_its_side(
    lines: Lines, tmp_path: Path, asked: float
) -> None:
    """As answered the champion gets what the canary fails: by assignment it does not."""
    (lines.path / GO_FILE).unlink(missing_ok=True)
    options = ("--canary", f"{MOODY}=50%", "--log-folder", str(tmp_path))
    with serving(lines, *options) as server:
        while not server.metric('plumbline_compared_total{outcome="failed"'):
            status, headers, _ = server.predict(asked)
            assert (status, headers["x-plumbline-side"]) == (200, "champion")
        (lines.path / GO_FILE).touch()
        assert server.stop() == 0
    ((shown, other),) = [rows for rows in read_pairs(tmp_path).values() if len(rows) == 2]
    assert (shown["side"], shown["shown"], shown["assigned"]) == ("champion", True, "canary")
    assert (other["side"], other["shown"], other["assigned"]) == ("canary", False, "canary")
    assert shown["output.y"] == 2 * asked + 1
    assert (other["output.y"], other["ms"]) == (None, None)


def test_a_shadow_is_also_asked_what_the_champion_fails(lines: Lines, tmp_path: Path) -> None:
    options = ("--shadow", "3", "--log-folder", str(tmp_path))
    with serving(lines, *options, uri=f"models:/line/{MOODY}") as server:
        assert server.predict(REJECTS)[0] == 400
        assert server.stop() == 0
    ((champion, shadow),) = read_pairs(tmp_path).values()
    assert (champion["side"], champion["output.y"]) == ("champion", None)
    assert (shadow["side"], shadow["output.y"] is None) == ("shadow", False)


def test_what_both_fail_is_no_pair(lines: Lines, tmp_path: Path) -> None:
    """Neither is better by it, and nobody can label a request that is not valid."""
    options = ("--shadow", MOODY, "--log-folder", str(tmp_path))
    with serving(lines, *options, uri=f"models:/line/{MOODY}") as server:
        assert server.predict(REJECTS)[0] == 400
        assert server.predict(1.0)[0] == 200
        assert server.stop() == 0
    (pair,) = read_pairs(tmp_path).values()
    assert [row["output.y"] is None for row in pair] == [False, False]


def test_a_user_keeps_a_version_on_each_server_and_worker(lines: Lines, tmp_path: Path) -> None:
    small, large = ("--canary", "3=20%", *KEYED), ("--canary", "3=50%", *KEYED)
    with serving(lines, *small) as server:
        first = ask_users(server, 60)
        assert ask_users(server, 60) == first
    with serving(lines, *small, "--workers", "2") as one, serving(lines, *small) as other:
        assert ask_users(one, 60) == ask_users(other, 60) == first
    with serving(lines, *large) as server:
        later = ask_users(server, 60)
    with lines.here():
        plan = begin_trial(make_params())
    logged = (*large, "--log-folder", f"file://{tmp_path}")
    with serving(lines, *logged) as one, serving(lines, *logged) as other:
        on_trial = ask_users(one, 60)
        assert ask_users(other, 60) == on_trial != later  # users are not linked between trials
        (old,) = list_workers(one.process.pid)
        one.process.send_signal(signal.SIGHUP)
        one.wait(lambda: old not in list_workers(one.process.pid) and is_ready(one))
        assert ask_users(one, 60) == on_trial
        assert (one.stop(), other.stop()) == (0, 0)
    with serving(lines, *logged) as server:
        assert ask_users(server, 60) == on_trial
        assert server.stop() == 0
    rows = pd.concat(map(pd.read_parquet, tmp_path.iterdir())).rename(columns={"request_id": "id"})
    sides = rows[rows["assigned"].notna()].groupby("key")["assigned"]
    assert sides.nunique().tolist() == [1] * 60
    assert not has_other_share(count_shares(plan.select(rows)))
    assert {user for user, version in first.items() if version == "3"} < {
        user for user, version in later.items() if version == "3"
    }
    without_key = ("--canary", "3=20%")
    with serving(lines, *without_key) as server:
        answers = [server.predict(1.0, X_Request_Id="retry") for _ in range(5)]
        assert len({headers["x-plumbline-version"] for _, headers, _ in answers}) == 1


@pytest.fixture
def on_lines(template: Path, tmp_path: Path) -> Iterator[Params]:
    with use_lines(template, tmp_path) as params:
        yield params


def look(plan: Plan, labels: dict[str, float], params: Params) -> dict[str, Any]:
    """Look, on the next day, at a trial that no server has ended."""
    pd.Series(labels, name="y").rename_axis("request_id").to_csv("labels.csv")
    cached = VerifiedModelCache("models:/line@champion").fetch_latest()
    known = (cached, read_signature(cached.folder), {}, lambda answer, y: answer["y"] == float(y))
    subject = check.Subject(*known, frozenset(), None, plan=plan, history=read_entries("trial"))
    now = plan.begin + timedelta(days=1)
    report = check.check_outcomes(subject, "log", "labels.csv", params, now, label="y")
    return dict(report["trial"])


def test_a_challenger_that_fails_on_some_requests_is_worse(on_lines: Params) -> None:
    """A shadow gives no answer to each twelfth request; all other answers are the champion's."""
    plan, labels = begin_trial(on_lines, version=MOODY), {}
    with serving(Lines(Path.cwd()), "--shadow", MOODY, "--log-folder", "log") as server:
        for number in range(300):
            x = REJECTS if number % 12 == 0 else float(number)
            _, headers, found = server.predict(x)
            labels[headers["x-request-id"]] = found["predictions"][0]["y"]
        assert server.stop() == 0
    found = look(plan, labels, on_lines)
    assert (found["requests"], found["differs"], found["labelled"]) == (300, 25, 25)
    assert (found["verdict"], found["gain"]) == ("worse", -1 / 12)


@pytest.mark.slow
def test_a_canary_that_is_too_slow_on_hard_rows_seems_better_and_is_not(on_lines: Params) -> None:
    """The champion answers one row in twenty of each side in its place, half of them wrongly."""
    plan, labels, asked = begin_trial(on_lines, version=MOODY), {}, Counter[bool]()
    (entry,) = read_entries("trial")
    options = ("--canary", f"{MOODY}=50%", "--log-folder", "log", "--limit", "deadline_s=8")
    with serving(Lines(Path.cwd()), *options) as server:
        while "is returned: failures" not in server.log.read_text():
            name = f"r{asked.total()}"
            is_tried = Exchange(InferenceRequest({}, {}), name).assign(entry.seal, 0.5)
            asked[is_tried] += 1
            is_hard, is_wrong = asked[is_tried] % 20 == 10, asked[is_tried] % 40 == 10
            Path(GO_FILE).unlink(missing_ok=True)
            _, _, found = server.predict(WAITS if is_hard else 1.0, X_Request_Id=name)
            Path(GO_FILE).touch()
            labels[name] = found["predictions"][0]["y"] + (is_hard and is_wrong)
        assert server.stop() == 0
    found = look(plan, labels, on_lines)
    assert found["as_answered"] > 0 > found["gain"]
    assert found["verdict"] in ("worse", "open")
    assert [each.bundle for each in read_entries("return")] == [plan.bundle]
