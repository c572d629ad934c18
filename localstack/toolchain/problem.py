from __future__ import annotations


class SetupProblem(Exception):
    """Something a person has to put right: what it is, and the command that does it."""

    def __init__(self, what: str, *, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n    fix: {self.fix}"
