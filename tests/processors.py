"""`make test-processors`: what depends on the processor's vector units, once more with fewer.

A processor may have AVX2 alone, or AVX-512, VNNI and bf16 too, and a test that passes on one can
fail on another. Where a library lets its vector units be limited, its tests run with AVX2. ONNX
Runtime has no such limit, so its tests run on an emulated processor, where `qemu-x86_64` is
installed (Debian, Ubuntu: apt install qemu-user); only the tests' own process is emulated.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

LIMITS: Mapping[str, str] = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""numpy, its products of matrices, torch, torch's MKL, OpenVINO and torch's convolutions."""
LIMITED: Mapping[str, str] = {
    "tests/golden/test_golden.py": "the order of numpy's sums decides last digits of statistics",
    "tests/exporters/onnx_files/test_evaluator.py": "ONNX's evaluator sums in numpy",
    "tests/runtimes/pytorch/test_runtime.py": "torch picks its kernels by processor",
    "tests/runtimes/openvino/test_runtime.py": "OpenVINO picks its kernels by processor",
}
_UNLIKE = "not bf16"
"""OpenVINO asks the processor itself whether it has bf16, and then lacks the kernels."""
EMULATED: Mapping[str, str] = {
    "tests/exporters/precision/test_int8.py": "sums of two products saturate without VNNI",
    "tests/differential_lowered/test_lowered.py": "the same of drawn graphs in int8",
    "tests/exporters/onnx_files/test_evaluator.py": "references of both evaluators",
}
_NARROW = "int8 or weights or old_softmax"
_QEMU = "qemu-x86_64"
_PROCESSOR = "Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid"
"""AVX2 without more; qemu has no counterpart of the last four and would say so."""
_LACKING = re.compile(r" (avx512\w*|avx_vnni\w*|amx_\w*)")


def main(arguments: Sequence[str]) -> int:
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
    if platform.machine() != "x86_64":
        sys.stdout.write(f"test-processors: {platform.machine()} has no such vector units\n")
        return 0
    print_tests("with AVX2 at most", LIMITED)
    command = [sys.executable, *pytest, "-n", "2", "-k", _UNLIKE, *LIMITED]
    codes = [subprocess.run(command, env={**os.environ, **LIMITS}, check=False).returncode]
    if shutil.which(_QEMU) is None:
        sys.stdout.write(f"on a processor without VNNI: not run, since there is no {_QEMU}\n")
    else:
        print_tests("on an emulated processor without AVX-512 and VNNI", EMULATED)
        with tempfile.TemporaryDirectory() as root:
            write_cpuinfo(Path(root))
            emulator = [_QEMU, "-cpu", _PROCESSOR, "-L", root, sys.executable]
            command = [*emulator, *pytest, "-k", _NARROW, *EMULATED]
            codes.append(subprocess.run(command, check=False).returncode)
    return max(codes)


def print_tests(how: str, reasons: Mapping[str, str]) -> None:
    """Name what runs, and why it depends on the processor."""
    lines = "".join(f"  {path}: {reason}\n" for path, reason in reasons.items())
    sys.stdout.write(f"{how}:\n{lines}")
    sys.stdout.flush()


def write_cpuinfo(root: Path) -> None:
    """What the emulated processor says of itself, below the root that qemu looks in first."""
    text = Path("/proc/cpuinfo").read_text("utf-8")
    (root / "proc").mkdir()
    (root / "proc" / "cpuinfo").write_text(_LACKING.sub("", text), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
