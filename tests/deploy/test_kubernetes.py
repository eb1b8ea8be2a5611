"""The manifests of deploy/kubernetes: what Kubernetes' own schemas say, and what they promise."""

import inspect
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT

from plumbline.cli import serve
from plumbline.serving.health import is_health_path
from plumbline.serving.settings import Limits

FOLDER = ROOT / "deploy/kubernetes"
COMPONENT = FOLDER / "requests-metric"
OVERLAYS = sorted({path.parent for path in FOLDER.glob("*/kustomization.yaml")} - {COMPONENT})
MANIFESTS = sorted(path for path in FOLDER.glob("*/*.yaml") if path.name != "kustomization.yaml")
OLDEST = "1.30"  # the first in which a container may sleep before it is stopped
KSERVE_KEYS = {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget"}  # beside a pod's own
Manifest = dict[str, Any]


def read_manifests(text: str) -> list[Manifest]:
    return list(YAML(typ="safe", pure=True).load_all(text))


def validate(manifest: Manifest, version: str) -> None:
    """Check one manifest with all of its keys; of an InferenceService, its pod."""
    if manifest["kind"] == "InferenceService":
        predictor = manifest["spec"]["predictor"]
        pod = {key: value for key, value in predictor.items() if key not in KSERVE_KEYS}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod}
    kubernetes_validate.validate(manifest, version, strict=True)


def find_pods(manifest: Manifest) -> Iterator[Manifest]:
    """Find the specs of pods in a manifest."""
    for value in manifest.values():
        if isinstance(value, dict):
            if "containers" in value:
                yield value
            yield from find_pods(value)


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_manifest_fits_the_schemas_of_kubernetes(path: Path, version: str) -> None:
    (manifest,) = read_manifests(path.read_text(encoding="utf-8"))
    validate(manifest, version)


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda path: path.name)
def test_a_kustomization_lists_the_files_beside_it(folder: Path) -> None:
    (listed,) = read_manifests((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    beside = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in listed["resources"] if name.endswith(".yaml")} == beside
    for name in listed["resources"]:
        assert (folder / name).exists()


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda path: path.name)
def test_what_kustomize_builds_fits_the_schemas(folder: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    built = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=True
    ).stdout
    for manifest in read_manifests(built):
        validate(manifest, kubernetes_validate.latest_version())
    if folder.name == "canary":
        assert "--canary=$(CANARY)" in built
        assert "plumbline/side: champion" not in built
        check_canary_accounts(built)


def check_canary_accounts(built: str) -> None:
    """A canary that is returned is recorded: its server may write what the champion's may not."""
    pods = [pod for manifest in read_manifests(built) for pod in find_pods(manifest)]
    ((container,),) = [pod["containers"] for pod in pods]
    variables = {variable["name"]: variable for variable in container["env"]}
    assert len(variables) == len(container["env"])
    assert variables["MLFLOW_TRACKING_USERNAME"]["value"] == "canary"
    assert "//canary@" in variables["PLUMBLINE_JOURNAL_URI"]["value"]
    for name in ("MLFLOW_TRACKING_PASSWORD", "PGPASSWORD"):
        secret = variables[name]["valueFrom"]["secretKeyRef"]
        assert secret == {"name": "plumbline-canary", "key": "password"}


def test_requests_count_for_the_autoscaler_once_the_component_is_named(tmp_path: Path) -> None:
    """With a metric that a cluster does not know, it would never scale down."""
    (scaler,) = read_manifests((FOLDER / "champion/autoscaler.yaml").read_text(encoding="utf-8"))
    assert [metric["type"] for metric in scaler["spec"]["metrics"]] == ["Resource"]
    (component,) = read_manifests((COMPONENT / "kustomization.yaml").read_text(encoding="utf-8"))
    (patch,) = component["patches"]
    (change,) = YAML(typ="safe").load(patch["patch"])
    scaler["spec"]["metrics"].append(change["value"])
    validate(scaler, OLDEST)
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    named = tmp_path / "kubernetes/champion/kustomization.yaml"
    named.write_text(named.read_text() + "components: [../requests-metric]\n")
    built = subprocess.run(
        ["kubectl", "kustomize", named.parent], capture_output=True, text=True, check=True
    ).stdout
    (scaler,) = [
        manifest
        for manifest in read_manifests(built)
        if manifest["kind"] == "HorizontalPodAutoscaler"
    ]
    validate(scaler, kubernetes_validate.latest_version())
    assert [metric["type"] for metric in scaler["spec"]["metrics"]] == ["Resource", "Pods"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_pod_is_locked_down(path: Path) -> None:
    (manifest,) = read_manifests(path.read_text(encoding="utf-8"))
    for pod in find_pods(manifest):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"] is True
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])
            assert "memory" in container["resources"]["limits"]
            for variable in container["env"]:
                is_secret = any(word in variable["name"] for word in ("PASS", "KEY", "TOKEN"))
                assert not is_secret or "secretKeyRef" in variable["valueFrom"]


@pytest.mark.parametrize("name", ["server/deployment.yaml", "kserve/inference-service.yaml"])
def test_a_pod_starts_the_server_with_options_and_probes_that_it_has(name: str) -> None:
    (manifest,) = read_manifests((FOLDER / name).read_text(encoding="utf-8"))
    (pod,) = find_pods(manifest)
    (container,) = pod["containers"]
    options = {f"--{key.replace('_', '-')}" for key in inspect.signature(serve.serve).parameters}
    model, *args = container["args"]
    assert model == "$(MODEL)"
    assert {arg.partition("=")[0] for arg in args} <= options
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert is_health_path(container[kind]["httpGet"]["path"])
    stop = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    timeout = Limits.shutdown_timeout_s
    assert pod["terminationGracePeriodSeconds"] > stop + timeout
