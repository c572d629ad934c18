"""What the names of a deployment's own roles begin with, so that no job is ever given one."""

from __future__ import annotations

import re
from typing import Final

from aws_cdk import Stack
from constructs import Construct

#: CloudFormation names a role `<stack>-<logical id>-<random>`, and cuts each part of a long name down to so much.
KEPT: Final = 24


def own_roles(scope: Construct) -> str:
    """A pattern, ending in `*`, for the roles below that construct, which have no names of their own."""
    stack = Stack.of(scope)
    below = scope.node.path.removeprefix(stack.node.path)
    # A logical id begins with the path of its construct.
    place = re.sub("[^A-Za-z0-9]", "", below)[:KEPT]
    return f"{stack.stack_name}-{place}*" if len(stack.stack_name) <= KEPT else f"{stack.stack_name[:KEPT]}*"
