"""Alerts of deploy/prometheus name what a server counts, and Prometheus' own tool takes them."""

import re
import shutil
import subprocess

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT

from plumbline.serving.metrics import render_metrics

RULES = ROOT / "deploy/prometheus/alerts.yml"
METRIC = re.compile(r"plumbline_\w+")


def test_each_alert_is_of_what_a_server_counts() -> None:
    (group,) = YAML(typ="safe").load(RULES)["groups"]
    counted = set(re.findall(r"(?m)^# TYPE (\w+)", render_metrics().decode()))
    for rule in group["rules"]:
        asked = set(METRIC.findall(rule["expr"]))
        assert asked, rule
        assert asked <= counted, rule
        assert rule["annotations"]["summary"]


def test_prometheus_takes_the_rules() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    subprocess.run(["promtool", "check", "rules", RULES], check=True)
