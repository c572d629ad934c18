"""Logical names as CloudFormation spells them."""

from __future__ import annotations


def in_pascal_case(logical_name: str) -> str:
    """`job_schedules` is `JobSchedules`."""
    return "".join(part.capitalize() for part in logical_name.split("_"))
