from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from infra import bundle, sbom
from infra.bundle import BundlingFailed


def test_every_deployable_has_its_bill_of_materials(tmp_path: Path) -> None:
    try:
        bundle.find_uv(os.environ)
    except BundlingFailed as failure:
        pytest.skip(str(failure))

    bills = {path.name.removesuffix(".cdx.json"): json.loads(path.read_text()) for path in sbom.write(tmp_path)}

    assert {"api", "scheduler", "worker"} <= set(bills)
    for bill in bills.values():
        assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    listed = {(each["name"], each["version"]) for each in bills["api"]["components"]}
    locked = set(re.findall(r"^([a-z0-9-]+)==(\S+)", bundle.requirements_of(bundle.API), flags=re.MULTILINE))
    assert listed == locked
