"""Runs any ONNX model on the simulated FPGA card from plain onnxruntime.

python fpga_plain_onnxruntime.py MODEL.onnx batch=1
"""

import sys

import numpy as np
import onnxruntime

from runtimes.fpga import provider
from runtimes.fpga.card import timing

if len(sys.argv) < 2:
    sys.stderr.write("usage: python fpga_plain_onnxruntime.py MODEL.onnx [AXIS=SIZE ...]\n")
    sys.exit(2)
name = provider.get_ep_name()
onnxruntime.register_execution_provider_library(name, provider.get_library_path())
card = next(device for device in onnxruntime.get_ep_devices() if device.ep_name == name)

options = onnxruntime.SessionOptions()
options.add_provider_for_devices([card], {"card": "v80"})
for axis in sys.argv[2:]:
    name, _, size = axis.partition("=")
    options.add_free_dimension_override_by_name(name, int(size))
session = onnxruntime.InferenceSession(sys.argv[1], options)
feeds = {i.name: np.ones(i.shape, np.float32) for i in session.get_inputs()}
outputs = session.run(None, feeds)

for spec, array in zip(session.get_outputs(), outputs, strict=True):
    print(spec.name, array.shape)
for part in provider.compiled():
    print(f"simulated on {part.card.name}: {timing.latency_us(part):.3f} us")
