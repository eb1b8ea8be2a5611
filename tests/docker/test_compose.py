"""docker/ without an engine: what is pinned, who may do what, and where passwords come from."""

import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT

DOCKER = ROOT / "docker"
PINNED = re.compile(r"[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
GENERATED = re.compile(r"\$\{(\w+):\?run docker/secrets\.sh\}")
SECRET = re.compile(r"PASSWORD|SECRET|KEY|TOKEN")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of compose.yaml."""
    found: dict[str, Any] = YAML(typ="safe").load(DOCKER / "compose.yaml")["services"]
    return found


def test_every_base_is_pinned_and_all_are_one() -> None:
    files = sorted(DOCKER.glob("*.Dockerfile"))
    bases = {
        re.findall(r"(?m)^ARG BASE=(.*)$", file.read_text(encoding="utf-8"))[0] for file in files
    }
    assert len(files) == 3
    assert len(bases) == 1
    assert PINNED.fullmatch(bases.pop())
    for file in files:
        assert set(re.findall(r"(?m)^FROM (\S+)", file.read_text(encoding="utf-8"))) == {"${BASE}"}


def test_every_service_is_locked_down(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "cap_add", "devices", "pid", "network_mode"} & set(service), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert not any("docker.sock" in volume for volume in service.get("volumes", [])), name


def test_no_password_stands_in_compose_and_each_is_made(
    services: dict[str, Any], tmp_path: Path
) -> None:
    made = {*_made(tmp_path)}
    asked = {
        name: value
        for service in services.values()
        for name, value in service.get("environment", {}).items()
        if SECRET.search(name)
    }
    assert len(asked) > 8
    for name, value in asked.items():
        found = GENERATED.fullmatch(value)
        assert found is not None, name
        assert found[1] in made, name
    assert set(GENERATED.findall((DOCKER / "compose.yaml").read_text(encoding="utf-8"))) <= made


def test_passwords_are_private_new_each_time_and_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = _made(tmp_path / "one"), _made(tmp_path / "other")
    same = {name for name in one if one[name] == other[name]}
    assert same == {"MODEL"}
    assert all(len(value) >= 26 for name, value in one.items() if name != "MODEL")
    folder = tmp_path / "one/docker"
    for name in (".env", "client.env"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "secrets").stat().st_mode) == 0o700
    assert len((folder / "secrets/token").read_text()) == 64
    assert _made(tmp_path / "one") == one


def test_prometheus_asks_the_served_model_by_a_name_it_answers_to(services: dict[str, Any]) -> None:
    job = YAML(typ="safe").load(DOCKER / "prometheus.yml")["scrape_configs"][0]
    (target,) = job["static_configs"][0]["targets"]
    name, _, port = target.partition(":")
    assert f"--allowed-host={name}" in services[name]["command"]
    assert services[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert job["authorization"]["credentials_file"] == "/run/secrets/token"
    assert "--token-file=/run/secrets/token" in services[name]["command"]
    assert services["prometheus"]["secrets"] == services[name]["secrets"] == ["token"]


def test_images_hold_the_versions_of_the_lock() -> None:
    whole, serve, mlflow = (
        _versions(f"requirements{kind}.lock") for kind in ("", "-serve", "-mlflow")
    )
    assert serve <= whole
    assert {name for name, _ in mlflow - whole} == {
        "boto3",
        "botocore",
        "flask-wtf",
        "jmespath",
        "s3transfer",
        "wtforms",
    }
    held = {name for name, _ in serve}
    assert held >= {"fastapi", "uvicorn", "onnxruntime", "tokenizers", "safetensors", "sqlalchemy"}
    assert not {"torch", "mlflow", "pandas", "transformers", "huggingface-hub"} & held


def _made(folder: Path) -> dict[str, str]:
    """What secrets.sh writes into docker/.env, run in a copy of docker/ below `folder`."""
    copy = folder / "docker"
    copy.mkdir(exist_ok=True)
    for name in ("secrets.sh", ".gitignore"):
        shutil.copy2(DOCKER / name, copy / name)
    subprocess.run(["bash", str(copy / "secrets.sh")], check=True, capture_output=True)
    return dict(line.split("=", 1) for line in (copy / ".env").read_text().splitlines())


def _versions(lock: str) -> set[tuple[str, str]]:
    return set(re.findall(r"(?m)^([a-z0-9._-]+)==(\S+)", (ROOT / lock).read_text(encoding="utf-8")))
