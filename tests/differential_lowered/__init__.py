"""Differential fuzzing of lowered graphs: the simulated card, and fp16, bf16 and int8 conversions.

Each draw is computed twice, once by the part under test and once by ONNX Runtime's CPU provider
with its optimisations off. `python -m tests.differential_lowered --minutes N --seed S`.
"""
