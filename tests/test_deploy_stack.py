"""The compose files and the Kubernetes manifests agree with each other, the image and the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from suffice.server.openapi import document
from suffice.settings import read_settings
from tests.test_deploy import DEPLOY, IMAGE, parsed, read

COMPOSE = ("compose.yaml", "compose.qdrant.yaml", "compose.monitoring.yaml")
KUBERNETES = DEPLOY / "kubernetes"
PROJECT = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
Manifest = dict[str, Any]


def services() -> dict[str, dict[str, Any]]:
    """The services of all compose files, with the environment of each put together."""
    found: dict[str, dict[str, Any]] = {}
    for file in COMPOSE:
        for name, service in read(file)["services"].items():
            known = found.setdefault(name, {"environment": {}, "depends_on": {}})
            known["environment"] |= service.get("environment", {})
            known["depends_on"] |= service.get("depends_on", {})
            known |= {key: one for key, one in service.items() if key not in known}
    return found


def manifests() -> dict[str, Manifest]:
    """Every manifest by its kind, with those that the kustomization leaves out."""
    files = set(KUBERNETES.glob("*.yaml")) - {KUBERNETES / "suffice.yaml"}
    return {one["kind"]: one for one in map(yaml.safe_load, (path.read_text() for path in files))}


def pod() -> Manifest:
    spec: Manifest = manifests()["Deployment"]["spec"]["template"]["spec"]
    return spec


def container() -> Manifest:
    (only,) = pod()["containers"]
    return dict(only)


def variables() -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in container()["env"]}


def test_compose_holds_no_secret_and_publishes_on_loopback_only() -> None:
    example = (DEPLOY / ".env.example").read_text()
    for name, service in services().items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
        for key, value in service["environment"].items():
            if re.search("PASSWORD|KEY|SECRET", key):
                required = re.fullmatch(r"\$\{(\w+):\?.+\}", value)
                assert required, f"{name}: {key} must come from the environment"
                assert f"\n{required[1]}=\n" in example


def test_compose_services_are_pinned_probed_and_confined() -> None:
    for name, service in services().items():
        if "build" not in service:
            assert re.search(r"_IMAGE:-.+:v?\d+\.\d+[\w.-]*}$", service["image"]), (
                f"{name} is not pinned"
            )
            assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}, name
        assert service["restart"] == "unless-stopped", name
        if name != "db":  # its entry point changes the owner of the data
            assert service["cap_drop"] == ["ALL"], name
        for other, how in service["depends_on"].items():
            assert other in services()
            assert how == {"condition": "service_healthy"}


def test_compose_declares_its_volumes_and_mounts_files_that_exist() -> None:
    for file in COMPOSE:
        compose = read(file)
        kept = set()
        for service in compose["services"].values():
            for volume in service.get("volumes", []):
                source = re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", volume).split(":")[0]
                if source.startswith("."):
                    assert (DEPLOY / source).exists(), f"{file}: {volume}"
                else:
                    kept.add(source)
        assert kept == compose["volumes"].keys(), file


def test_compose_lets_the_gateway_search_the_qdrant_server() -> None:
    together = services()
    environment = together["gateway"]["environment"]
    given = {key: value for key, value in environment.items() if key.startswith("SUFFICE_")}
    settings = read_settings(DEPLOY / "suffice.yaml", given)
    assert settings.index_engine == "qdrant"
    assert settings.qdrant.url == "http://qdrant:6333"
    key = environment[settings.qdrant.key_env]
    assert key == together["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"]
    version = re.search(r":v(\d+)\.(\d+)", together["qdrant"]["image"])
    assert version
    assert (int(version[1]), int(version[2])) >= (1, 19)  # docs/how-to/qdrant.md
    assert "qdrant" in re.findall(r"suffice\[([\w,]+)\]", IMAGE)[0].split(",")


def test_prometheus_finds_the_gateway_the_rules_and_the_key() -> None:
    together = services()
    prometheus = together["prometheus"]
    config = read("prometheus/prometheus.yaml")
    (job,) = config["scrape_configs"]
    host, _, port = job["static_configs"][0]["targets"][0].partition(":")
    assert host in together
    assert int(port) == read_settings(DEPLOY / "suffice.yaml", {}).server.port
    mounted = {volume.split(":")[1] for volume in prometheus["volumes"]}
    assert {f"/etc/prometheus/{name}" for name in config["rule_files"]} <= mounted
    (secret,) = prometheus["secrets"]
    assert secret["target"] == f"/etc/prometheus/{job['authorization']['credentials_file']}"
    assert secret["source"] in read("compose.monitoring.yaml")["secrets"]


def test_grafana_is_provisioned_with_the_data_source_and_the_board() -> None:
    grafana = services()["grafana"]
    mounted = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"
    (provider,) = read("grafana/provisioning/dashboards/suffice.yaml")["providers"]
    assert mounted["./grafana/suffice.json"] == f"{provider['options']['path']}/suffice.json"
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    interval = read("prometheus/prometheus.yaml")["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == interval
    board = json.loads((DEPLOY / "grafana" / "suffice.json").read_text())
    (chosen,) = [one for one in board["templating"]["list"] if one["type"] == "datasource"]
    assert chosen["query"] == source["type"]


def test_the_kustomization_lists_every_manifest() -> None:
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    files = {path.name for path in KUBERNETES.glob("*.yaml")}
    left_out = {"kustomization.yaml", "secret.example.yaml", "autoscaler.yaml", "suffice.yaml"}
    assert set(listed["resources"]) == files - left_out
    (settings,) = listed["configMapGenerator"]
    assert settings["files"] == ["suffice.yaml"]
    names = [one["configMap"]["name"] for one in pod()["volumes"] if "configMap" in one]
    assert names == [settings["name"]]
    (image,) = listed["images"]
    assert image["name"] == container()["image"]
    assert image["newTag"] == PROJECT["version"]


def test_the_pods_settings_are_valid_and_require_keys() -> None:
    given = {key: one for key, one in variables().items() if key.startswith("SUFFICE_")}
    mounts = {one["name"]: one["mountPath"] for one in container()["volumeMounts"]}
    config = Path(given.pop("SUFFICE_CONFIG"))
    assert config == Path(mounts["settings"]) / "suffice.yaml"
    settings = read_settings(KUBERNETES / config.name, given)
    assert settings.store.startswith("postgresql://")
    assert ":" not in settings.store.partition("//")[2].partition("@")[0]  # no password
    assert settings.server.keys == "required"
    assert settings.server.host == "0.0.0.0"
    parsed(container()["args"])
    stop = settings.server.shutdown_seconds + int(
        container()["lifecycle"]["preStop"]["exec"]["command"][1]
    )
    assert pod()["terminationGracePeriodSeconds"] > stop + 5
    (port,) = container()["ports"]
    assert port["containerPort"] == settings.server.port
    (service,) = manifests()["Service"]["spec"]["ports"]
    assert service["targetPort"] == port["name"]
    (ingress,) = manifests()["NetworkPolicy"]["spec"]["ingress"]
    assert ingress["ports"] == [{"protocol": "TCP", "port": settings.server.port}]


def test_the_secret_has_every_key_that_the_pods_read() -> None:
    secret = manifests()["Secret"]
    assert not any(secret["stringData"].values()), "a template holds no secret"
    read_keys = set()
    for one in container()["env"]:
        if reference := one.get("valueFrom", {}).get("secretKeyRef"):
            assert reference["name"] == secret["metadata"]["name"]
            assert reference["key"] == one["name"]
            read_keys.add(one["name"])
    assert read_keys == secret["stringData"].keys() - {"QDRANT_API_KEY"}
    routes = read_settings(KUBERNETES / "suffice.yaml", {}).server.routes
    assert {route.key_env for route in routes.values()} <= read_keys


def test_pods_are_probed_on_paths_of_the_gateway() -> None:
    known = document()["paths"]
    probes = {
        name: container()[name]["httpGet"]
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    assert probes["readinessProbe"]["path"] == "/readyz"
    assert probes["livenessProbe"]["path"] == "/healthz"
    for probe in probes.values():
        assert probe["path"] in known
        assert probe["port"] == container()["ports"][0]["name"]


def test_pods_run_confined_as_the_user_of_the_image() -> None:
    user = re.search(r"^USER (\d+):(\d+)$", IMAGE, re.MULTILINE)
    assert user
    identity = pod()["securityContext"]
    assert identity["runAsNonRoot"] is True
    assert (identity["runAsUser"], identity["runAsGroup"]) == (int(user[1]), int(user[2]))
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["automountServiceAccountToken"] is False
    volume = re.search(r"^VOLUME (\S+)$", IMAGE, re.MULTILINE)
    assert volume
    written = {one["mountPath"] for one in container()["volumeMounts"] if not one.get("readOnly")}
    assert written == {volume[1], "/tmp"}
    assert {"cpu", "memory"} <= container()["resources"]["requests"].keys()


def test_selectors_choose_the_pods() -> None:
    found = manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"] == labels
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == found["Deployment"]["metadata"]["name"]
    assert (
        found["PodDisruptionBudget"]["spec"]["minAvailable"]
        < (found["Deployment"]["spec"]["replicas"])
    )


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kubectl_builds_the_kustomization() -> None:
    ran = subprocess.run(
        ["kubectl", "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    built = {one["kind"]: one for one in yaml.safe_load_all(ran.stdout)}
    assert built["ConfigMap"]["data"]["suffice.yaml"] == (KUBERNETES / "suffice.yaml").read_text()
    used = built["Deployment"]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
    assert used == built["ConfigMap"]["metadata"]["name"]
