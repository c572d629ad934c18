"""Where a checkout keeps what it installs and what it runs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
LOGS = LOCAL / "logs"
STAMPS = LOCAL / "stamps"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
INFRA = ROOT / "infra"
CDK = INFRA / "node_modules" / "aws-cdk" / "bin" / "cdk"
