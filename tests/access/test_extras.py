"""What an installation without an extra can do all the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
for name in sys.argv[2:]:
    sys.modules[name] = None  # as if it were not installed
__import__(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("suffice.server.auth", ("jwt", "argon2")),  # the gateway needs no `oidc`
        ("suffice.server.rate_limiter", ("jwt", "argon2")),  # `mcp` needs no `server`
        ("suffice.access.sign_in", ("argon2",)),
    ],
)
def test_a_module_needs_no_package_of_another_extra(module: str, missing: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, module, *missing], check=True, timeout=60)
