"""Sets a checkout up: uv, the locked Python packages, Node and the CDK command line.

Runs before anything is installed, so it is standard library only and speaks Python 3.8. It installs into the checkout
alone (`.venv`, `.local`, `infra/node_modules`), does nothing when nothing changed, and follows the index settings that
the machine has for pip, uv and npm.
"""
