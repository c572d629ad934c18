"""`python -P -m functions.api.first_key --table NAME --owner OWNER`: the key with which all others are made.

Nobody has a key to ask a new deployment for one. Run it from the checkout with credentials of AWS that may write to
the table of output AccessTable; it prints the key, which is shown this once. All others come from `carillon keys`.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from functions.api.wiring import KeyStore, key_store
from shared.config import table_variable
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, Scope, mint_key
from shared.domain.errors import CarillonError
from shared.domain.limits import MAX_NAME_LENGTH, OWNER_ID

#: Who made it, in the lists of keys.
CREATED_BY: Final = "operator"
_FAILED: Final = 1


def first_key(keys: KeyStore, owner_id: str, scopes: frozenset[Scope], name: str) -> str:
    """The text of a new key. Raises StoreError."""
    key, text = mint_key(
        owner_id=owner_id,
        scopes=scopes,
        created_by=CREATED_BY,
        now=keys.clock.now(),
        randomness=keys.randomness.random_bytes(KEY_ID_BYTES + SECRET_BYTES),
        name=name,
    )
    if not keys.access.put_key(key):
        raise RuntimeError(f"of 2^48 ids of keys the dice gave one that is taken: {key.key_id}")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    variable = table_variable("access")
    parser = ArgumentParser("python -P -m functions.api.first_key", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument(
        "--table", default=os.environ.get(variable), help=f"output AccessTable of the stack ({variable})"
    )
    parser.add_argument("--owner", required=True, help="whose key it is")
    parser.add_argument("--scope", action="append", choices=list(map(str, Scope)), help="all of them when left out")
    parser.add_argument("--name", default="first key")
    chosen = parser.parse_args(arguments)
    if not chosen.table:
        parser.error("name the table of keys with --table: it is output AccessTable of the stack")
    if not OWNER_ID.fullmatch(chosen.owner):
        parser.error(f"{chosen.owner!r} is no owner: 1 to 64 characters out of A-Z a-z 0-9 and _ . : @ | + = -")
    if len(chosen.name) > MAX_NAME_LENGTH:
        parser.error(f"a name has at most {MAX_NAME_LENGTH} characters")
    try:
        text = first_key(
            key_store(chosen.table), chosen.owner, frozenset(map(Scope, chosen.scope or Scope)), chosen.name
        )
    except CarillonError as error:
        print(f"no key was made: {error}", file=sys.stderr)  # noqa: T201 - talks to the terminal
        return _FAILED
    print(text)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
