#!/usr/bin/env bash
# `make demo` on a machine that has nothing but python3, make and curl: an export of the tree without .git, an empty
# home, the system's PATH and no other variable. It must succeed and leave no process behind.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/carillon"
git -C "$root" ls-files -z | tar -C "$root" --null -cf - -T - | tar -C "$scratch/carillon" -xf -

bare() {
    env -i HOME="$scratch/home" PATH=/usr/bin:/bin "$@"
}

cd "$scratch/carillon"
started=$SECONDS
bare make doctor
bare make demo
echo "fresh machine: make demo succeeded after $((SECONDS - started)) s"

left=$(ps -eo pid=,args= | grep -F "$scratch" | grep -vF 'grep -F' || true)
if [ -n "$left" ]; then
    echo "fresh machine: these processes are left:"
    echo "$left"
    exit 1
fi
echo "fresh machine: no process is left"
