"""Shell completion of the installed command, as a shell asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MAIN = "import sys; sys.argv = ['suffice']; from suffice.cli import main; main()"


def asked(instruction: str, words: str = "", code: str = MAIN) -> str:
    number = str(len(words.split()) - (not words.endswith(" ")))
    environment = {**os.environ, "_SUFFICE_COMPLETE": instruction}
    environment |= {"COMP_WORDS": words, "COMP_CWORD": number}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_for_each_shell(shell: str) -> None:
    script = asked(f"{shell}_source")
    assert "_SUFFICE_COMPLETE" in script
    assert f"{shell}_complete" in script


def completed(words: str) -> set[str]:
    lines = asked("bash_complete", words).splitlines()
    return {line.partition(",")[2] for line in lines}


def test_commands_subcommands_options_and_values() -> None:
    assert completed("suffice ba") == {"batch"}
    assert {"ask", "check", "serve"} <= completed("suffice ")
    assert completed("suffice batch ") == {"check", "gate"}
    assert "--uncited" in completed("suffice batch check --u")
    assert completed("suffice batch check --engine ") == {"process", "ray"}


def test_completing_a_command_imports_none() -> None:
    code = MAIN.replace("main()", "\ntry: main()\nfinally: print(*sys.modules)")
    said = asked("bash_complete", "suffice ", code)
    assert "plain,serve" in said
    assert "suffice.cli.serve" not in said
    assert "suffice.cli.check" not in said
