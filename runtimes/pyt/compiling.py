"""A torch module into one compiled graph, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import torch

from runtimes.faults import CompileFault, NotAvailable, OutOfMemory, Unsupported
from runtimes.memory_words import tells_of_no_memory
from runtimes.options import Settings
from runtimes.pyt.faults import plain
from runtimes.pyt.lane import Args, Kwargs, Result


def compile_module(
    module: torch.nn.Module,
    args: Args,
    kwargs: Kwargs,
    settings: Settings,
    dynamic: bool | None = False,
    mode: str | None = None,
) -> Callable[..., Result]:
    """The module compiled whole for these shapes; its first call, here, does the work.

    With `dynamic` None a call with another shape compiles again, as torch decides. `mode` is
    torch.compile's; Unsupported for CUDA graphs of its own that it then does without.
    """
    import torch._dynamo as dynamo
    from torch._dynamo.utils import counters
    from torch._inductor import config

    compilers = [name for name in config.cpp.cxx if name is not None]
    if not any(map(shutil.which, compilers)):
        raise NotAvailable(
            f"torch.compile needs the C++ compiler {compilers[0]}",
            f"install {compilers[0]}, or set CXX to another",
        )
    if settings.cache_dir:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(settings.cache_dir) / "inductor")
    # An LSTM would be left eager without a word; and no pool of compiling processes may
    # outlive the compilation.
    dynamo.config.allow_rnn = True
    config.compile_threads = 1
    config.cpp.enable_kernel_profile = settings.operator_times
    _keep_progress_bars_from_their_thread()
    compiled = torch.compile(module, fullgraph=True, dynamic=dynamic, mode=mode)
    skipped = counters["inductor"]["cudagraph_skips"]
    try:
        compiled(*args, **kwargs)
    except (dynamo.exc.Unsupported, dynamo.exc.UserError) as error:
        raise Unsupported(
            f"torch.compile cannot take the module whole ({plain(error)})",
            "use mode=eager",
        ) from error
    except Exception as error:
        if tells_of_no_memory(error):
            raise OutOfMemory("PyTorch ran out of memory", "use a smaller batch") from error
        raise CompileFault(f"torch.compile failed ({plain(error)})", "use mode=eager") from error
    if counters["inductor"]["cudagraph_skips"] > skipped:
        raise Unsupported(
            "torch.compile records no CUDA graph of this module, and runs it without a word",
            f"use mode=compile in place of {mode}",
        )
    return compiled


def _keep_progress_bars_from_their_thread() -> None:
    """torch shows how far it is where tqdm is installed, and its thread wakes up beside a clock."""
    with suppress(ImportError):
        import_module("tqdm").tqdm.monitor_interval = 0
