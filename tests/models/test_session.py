"""A process opens a model file once, and a forked process opens its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from suffice.models.catalog import DEFAULT, open_embedder, weights
from suffice.models.session import open_session
from suffice.settings import EmbedderSettings


def test_a_file_is_opened_once_and_again_when_it_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    shutil.copy(weights(DEFAULT) / "model.onnx", file)
    first = open_session(file)
    assert open_session(file) is first
    assert open_session(file, 2) is not first
    os.utime(file, ns=(1, 1))
    assert open_session(file) is not first


def test_a_forked_process_works_and_ends() -> None:
    settings = EmbedderSettings(threads=2)
    open_embedder(settings).embed(["Here: leave lasts 18 weeks."])
    child = os.fork()
    if child == 0:
        done = 1
        try:
            open_embedder(settings).embed(["There: leave lasts 18 weeks."])
            done = 0
        finally:
            os._exit(done)
    assert os.waitpid(child, 0)[1] == 0
