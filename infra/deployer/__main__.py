from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

import infra.deployer
from infra.app import DEFAULT_NAME
from infra.deployer.documents import documents


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(
        "infra.deployer", description=infra.deployer.__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("document", choices=documents(DEFAULT_NAME))
    parser.add_argument("--name", default=DEFAULT_NAME, help="as in -c name=")
    chosen = parser.parse_args(arguments)
    sys.stdout.write(json.dumps(documents(chosen.name)[chosen.document], indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
