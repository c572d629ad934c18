"""The real command line, with no credentials, no home and no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bundle import ROOT, BundlingFailed, find_uv
from localstack.toolchain.node import find_node
from localstack.toolchain.paths import CDK, INFRA

#: Where nobody listens: whatever asks the network fails at once.
NOWHERE = "http://127.0.0.1:9"


def tools() -> tuple[str, Path]:
    """Uv and node, or skip: `make test` sees to both."""
    node = find_node(os.environ)
    if node is None or not CDK.is_file():
        pytest.skip("the CDK command line is not installed: run `make doctor`")
    try:
        return find_uv(os.environ), node
    except BundlingFailed as failure:
        pytest.skip(str(failure))


def synth(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    uv, node = tools()
    cache = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{node.parent}:/usr/bin:/bin",
        "HOME": str(home),
        "CARILLON_UV": uv,
        "UV_CACHE_DIR": cache,
        "UV_OFFLINE": "1",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
    return subprocess.run(
        [str(node), str(CDK), "synth", "--quiet", "--no-notices", "--output", str(home / "out"), *arguments],
        cwd=INFRA,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


#: It makes both bundles for AWS and both build contexts.
@pytest.mark.timeout(300)
def test_it_needs_neither_credentials_nor_a_network(tmp_path: Path) -> None:
    done = synth(tmp_path, "-c", "environment=dev")
    if "run `make prefetch`" in done.stderr:
        pytest.skip("the packages of the bundles are not in uv's cache: run `make prefetch`")
    assert done.returncode == 0, done.stderr

    out = tmp_path / "out"
    assert {path.name for path in out.glob("*.template.json")} == {"Data.template.json", "Service.template.json"}
    libraries = [path.name for path in out.rglob("*.so")]
    assert libraries
    assert all("aarch64" in name for name in libraries)
    assert image_holds(out, "scheduler") == {"pyproject.toml", "uv.lock", "shared", "functions"}
    assert image_holds(out, "worker") == {"pyproject.toml", "uv.lock", "shared", "functions", "carillon"}


def image_holds(out: Path, program: str) -> set[str]:
    """What lies on top of the build context of an image."""
    images = json.loads((out / "Service.assets.json").read_text())["dockerImages"].values()
    wanted = [image for image in images if image["source"]["dockerFile"] == f"functions/{program}/Dockerfile"]
    context = out / wanted[0]["source"]["directory"]
    assert [path.name for path in (context / "functions").iterdir() if path.is_dir()] == [program]
    assert (context / "functions" / program / "Dockerfile").is_file()
    assert not (context / "shared" / "adapters" / "memory").exists()
    return {path.name for path in context.iterdir()}


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"environment": "staging"}, "there is no environment 'staging': choose local, dev, prod"),
        ({"settings": '{"shard_count": 0}'}, "setting shard_count of environment dev: input should be greater"),
        ({"name": "1st"}, "'1st' cannot begin the name of a stack"),
    ],
    ids=["environment", "settings", "name"],
)
def test_what_cannot_be_deployed_ends_with_one_sentence(context: dict[str, str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "infra.app"],
        env={**os.environ, "CDK_CONTEXT_JSON": json.dumps(context)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_the_images_lie_where_the_app_looks_for_them() -> None:
    for program in ("scheduler", "worker"):
        ignored = (ROOT / "functions" / program / "Dockerfile.dockerignore").read_text().splitlines()
        assert "*" in ignored
        assert f"!functions/{program}" in ignored
