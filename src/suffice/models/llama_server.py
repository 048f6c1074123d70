"""Starting llama.cpp in this process: silent, bounded threads, reachable by nobody."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged, ModelError
from suffice.models.threads import bounded

_LONGEST_FOLDER = 60  # systems give 104 or 108 bytes to the path of a socket
_WAITING = "OMP_WAIT_POLICY"


def start_server(base: Path, adapter: Path | None, threads: int, window: int) -> Any:
    """llama.cpp's server with prompts up to `window` tokens; `threads` 0 takes the cores there
    are, at most four. It ends with its last reference."""
    llama = _library()
    params = llama.CommonParams()
    params.model.path = str(base)
    if adapter is not None:
        params.lora_adapters = [llama.CommonAdapterLoraInfo(str(adapter), 1.0)]
    params.n_ctx = window + 2  # a stop, and the answer
    params.n_batch, params.n_ubatch, params.n_parallel = 2048, 512, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = bounded(threads)
    # Off, so that a prompt read in portions scores what it scores in one.
    params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.warmup = params.ui = params.endpoint_slots = params.fit_params = False
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.verbosity = -1
    # It insists on listening: on a socket in a folder of ours, gone as soon as it has started.
    place = tempfile.gettempdir()
    place = place if len(place) <= _LONGEST_FOLDER else "/tmp"
    with tempfile.TemporaryDirectory(prefix="suffice-", dir=place) as folder:
        params.hostnames = [f"{folder}/llama.sock"]
        try:
            return llama.Server(params)
        except RuntimeError as problem:  # it tells no cause; the adapter is what can be wrong
            if adapter is None:
                raise ModelError(
                    f"llama.cpp cannot start with {base.name}.", remedy="See to enough memory."
                ) from problem
            raise ModelDamaged(
                f"llama.cpp cannot load {adapter} on {base.name}.",
                remedy="Fetch the adapter again, or train it on this base.",
            ) from problem


def _library() -> Any:
    """xllamacpp, its waiting threads told to sleep: costs 10 ms a prompt alone, and on busy cores
    a short prompt takes a tenth of the time."""
    ours = _WAITING not in os.environ
    if ours:
        os.environ[_WAITING] = "passive"
    try:
        return import_module("xllamacpp")
    except ImportError as problem:
        raise ModelError(
            f"xllamacpp cannot be loaded: {problem}.",
            remedy="Install what is missing; libgomp.so.1 is in the system package libgomp1.",
        ) from problem
    finally:
        if ours:
            del os.environ[_WAITING]
