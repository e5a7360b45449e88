"""Public shapes of models that hear or speak: recognisers, voices, voice activity."""

from __future__ import annotations

from onnx import ModelProto

from tests.shapes.net import BOOL, FLOAT, INT32, INT64, Net


def _spoken(n: Net, hidden: str, mask: str, pace: str, width: int, noise: str = "") -> str:
    """A waveform: durations by symbol, as many frames, upsampled."""
    raw = n("Sigmoid", n("Squeeze", n.linear(hidden, width, 1), [2]))
    frames = n("Ceil", n("Mul", n("Mul", n("Mul", raw, 6.0), pace), mask))
    ends = n("CumSum", frames, 1)
    total = n("Cast", n("ReduceMax", n("ReduceSum", frames, [1], keepdims=0), keepdims=0), to=INT64)
    steps = n("Cast", n("Range", 0, total, 1), to=FLOAT)
    before = n("Less", n("Unsqueeze", steps, [0, 2]), n("Unsqueeze", ends, [1]))
    path = n("Cast", before, to=FLOAT)
    frames = n("Transpose", n("MatMul", path, hidden), perm=[0, 2, 1])
    if noise:
        drawn = n("RandomNormalLike", frames)
        frames = n("Add", frames, n("Mul", drawn, noise))
    for factor, out in ((8, 16), (8, 1)):
        frames = n.conv1d(frames, width, width, 7)
        weights = n.weights(width, out, 2 * factor)
        frames = n("ConvTranspose", frames, weights, strides=[factor], pads=[factor // 2] * 2)
        width = out
    return n("Tanh", frames)


def piper() -> ModelProto:
    n = Net(1)
    ids = n.input("input", "batch_size", "phonemes", element=INT64)
    lengths = n.input("input_lengths", "batch_size", element=INT64)
    scales = n.input("scales", 3)
    noise, pace, _ = (n("Gather", scales, place) for place in range(3))
    mask = n.until(lengths, n.size(ids, 1))
    hidden = n("Mul", n.block(n.embedding(ids, 130, 32), 32, 2), n("Unsqueeze", mask, [2]))
    n.output(_spoken(n, hidden, mask, pace, 32, noise), "output")
    return n.model()


def kokoro() -> ModelProto:
    n = Net(2)
    ids = n.input("input_ids", 1, "sequence_length", element=INT64)
    style, speed = n.input("style", 1, 256), n.input("speed", 1)
    hidden = n("Add", n.embedding(ids, 178, 32), n("Unsqueeze", n.linear(style, 256, 32), [1]))
    ones = n("Cast", n("GreaterOrEqual", ids, 0), to=FLOAT)
    pace = n("Div", 1.0, speed)
    n.output(_spoken(n, n.block(hidden, 32, 2), ones, pace, 32), "waveform")
    return n.model()


def voice_conversion() -> ModelProto:
    n = Net(4)
    phone = n.input("phone", 1, "phone_length", 256)
    lengths = n.input("phone_lengths", 1, element=INT64)
    pitch = n.input("pitch", 1, "phone_length", element=INT64)
    pitchf = n.input("pitchf", 1, "phone_length")
    ds, rnd = n.input("ds", 1, element=INT64), n.input("rnd", 1, 192, "phone_length")
    hidden = n("Add", n.linear(phone, 256, 32), n.embedding(pitch, 256, 32))
    mask = n("Unsqueeze", n.until(lengths, n.size(phone, 1)), [2])
    hidden = n.block(n("Mul", hidden, mask), 32, 2)
    hidden = n("Add", hidden, n("Unsqueeze", n.embedding(ds, 109, 32), [1]))
    hidden = n("Add", hidden, n.linear(n("Transpose", rnd, perm=[0, 2, 1]), 192, 32))
    hidden = n("Add", hidden, n("Unsqueeze", pitchf, [2]))
    x = n("Transpose", hidden, perm=[0, 2, 1])
    x = n("ConvTranspose", x, n.weights(32, 1, 16), strides=[16])
    n.output(n("Tanh", x), "audio")
    return n.model()


def silero() -> ModelProto:
    n = Net(5)
    samples = n.input("input", None, None)
    state, rate = n.input("state", 2, None, 128), n.input("sr", element=INT64)
    branches = []
    for window in (256, 128):
        inner = Net(window)
        signal = inner("Unsqueeze", samples, [1])
        bands = inner.conv1d(signal, 1, 64, window, window // 2, pad=0)
        bands = inner.conv1d(inner.conv1d(bands, 64, 128), 128, 128)
        last = inner("ReduceMean", bands, axes=[2], keepdims=0)
        branches.append(inner.branch(inner("Identity", last)))
    is_wide = n("Equal", rate, 16000)
    x = n("If", is_wide, then_branch=branches[0], else_branch=branches[1])
    h, c = (n("Gather", state, [place], axis=0) for place in range(2))
    weights = n.weights(1, 512, 128), n.weights(1, 512, 128), n.weights(1, 1024)
    _, hn, cn = n("LSTM", n("Unsqueeze", x, [0]), *weights, None, h, c, hidden_size=128, count=3)
    probability = n("Sigmoid", n.linear(n("Squeeze", hn, [0]), 128, 1))
    n.output(probability, "output")
    n.output(n("Concat", hn, cn, axis=0), "stateN")
    return n.model()


def zipformer() -> ModelProto:
    """A streaming encoder: each layer keeps keys, values, convolutions and a count."""
    n = Net(6)
    x = n.input("x", "N", 45, 80)
    x = n.linear(x, 80, 32)
    x = n("Slice", x, [0], [45], [1], [3])
    for layer in range(4):
        keys = n.input(f"cached_key_{layer}", 64, "N", 32)
        values = n.input(f"cached_val1_{layer}", 64, "N", 32)
        seen = n.input(f"cached_conv1_{layer}", "N", 32, 7)
        new = n("Transpose", x, perm=[1, 0, 2])
        found = []
        for name, cache in (("key", keys), ("val1", values)):
            joined = n("Concat", cache, n.linear(new, 32, 32), axis=0)
            n.output(n("Slice", joined, [-64], [10**6], [0]), f"new_cached_{name}_{layer}")
            found.append(n.heads(n("Transpose", joined, perm=[1, 0, 2]), 2, 32))
        x = n("Add", x, n.attend(n.heads(n.linear(x, 32, 32), 2, 32), found[0], found[1], 32))
        line = n("Concat", seen, n("Transpose", x, perm=[0, 2, 1]), axis=2)
        n.output(n("Slice", line, [-7], [10**6], [2]), f"new_cached_conv1_{layer}")
        line = n("Conv", line, n.weights(32, 1, 8), group=32)
        x = n("Add", x, n("Transpose", line, perm=[0, 2, 1]))
    processed = n.input("processed_lens", "N", element=INT64)
    n.output(n("Add", processed, 15), "new_processed_lens", INT64)
    n.output(x, "encoder_out")
    return n.model()


def wenet() -> ModelProto:
    """A conformer over chunks, with an offset into its positions and a cache of a wanted size."""
    n = Net(7)
    chunk = n.input("chunk", 1, "T", 80)
    offset = n.input("offset", element=INT64)
    wanted = n.input("required_cache_size", element=INT64)
    cache = n.input("att_cache", 2, 2, "T_CACHE", 32)
    mask = n.input("att_mask", 1, 1, "T_CACHE + T'", element=BOOL)
    x = n("Reshape", n("Slice", chunk, [0], [10**6], [1], [4]), [1, -1, 80])
    x = n.linear(x, 80, 32)
    steps, past = n.size(x, 1), n.size(cache, 2)
    end = n("Add", n("Unsqueeze", offset, [0]), steps)
    table = n.weights(1, 5000, 32, scale=0.1)
    x = n("Add", x, n("Slice", table, n("Unsqueeze", offset, [0]), end, [1]))
    bias = n("Where", n("Unsqueeze", mask, [1]), 0.0, -1e9)
    total = n("Add", past, steps)
    following = []
    for layer in range(2):
        own = n("Gather", cache, [layer], axis=0)
        past_keys, past_values = n("Split", own, [16, 16], axis=3, count=2)
        x, keys, values = n.cached(x, (past_keys, past_values), 32, 2)
        joined = n("Concat", keys, values, axis=3)
        begin = n("Max", n("Sub", total, n("Unsqueeze", wanted, [0])), [0])
        following.append(n("Slice", joined, begin, [10**6], [2]))
    n.output(n("Add", x, n("ReduceMax", bias, keepdims=0)), "output")
    n.output(n("Concat", *following, axis=0), "r_att_cache")
    return n.model()


def wav2vec() -> ModelProto:
    n = Net(8)
    samples = n.input("input_values", "batch_size", "sequence_length")
    x = n("Unsqueeze", samples, [1])
    width = 1
    for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
        x, width = n.conv1d(x, width, 16, kernel, stride, pad=0), 16
    x = n.block(n.linear(n("Transpose", x, perm=[0, 2, 1]), 16, 32), 32, 2)
    n.output(n.linear(x, 32, 32), "logits")
    return n.model()


def conformer_ctc() -> ModelProto:
    """Lengths are halved twice on their way to the mask."""
    n = Net(9)
    signal = n.input(
        "audio_signal", "audio_signal_dynamic_axes_1", 80, "audio_signal_dynamic_axes_2"
    )
    length = n.input("length", "length_dynamic_axes_1", element=INT64)
    x = n.conv1d(n.conv1d(signal, 80, 32, stride=2), 32, 32, stride=2)
    for _ in range(2):
        half = n("Div", n("Sub", n("Cast", length, to=FLOAT), 1.0), 2.0)
        length = n("Cast", n("Add", n("Floor", half), 1.0), to=INT64)
    x = n("Transpose", x, perm=[0, 2, 1])
    seen = n.until(length, n.size(x, 1))
    bias = n("Unsqueeze", n("Mul", n("Sub", 1.0, seen), -10000.0), [1, 2])
    n.output(n("LogSoftmax", n.linear(n.block(x, 32, 2, bias), 32, 129), axis=-1), "logprobs")
    return n.model()


def rnnt_decoder() -> ModelProto:
    n = Net(10)
    encoder = n.input("encoder_outputs", "batch", 128, "time")
    targets = n.input("targets", "batch", "tokens", element=INT32)
    length = n.input("target_length", "batch", element=INT32)
    h, c = (n.input(f"input_states_{place}", 1, "batch", 64) for place in (1, 2))
    x = n("Transpose", n.embedding(targets, 1025, 64), perm=[1, 0, 2])
    weights = n.weights(1, 256, 64), n.weights(1, 256, 64), n.weights(1, 512)
    y, hn, cn = n("LSTM", x, *weights, None, h, c, hidden_size=64, count=3)
    own = n("Unsqueeze", n("Transpose", n("Squeeze", y, [1]), perm=[1, 0, 2]), [1])
    frames = n("Unsqueeze", n.linear(n("Transpose", encoder, perm=[0, 2, 1]), 128, 64), [2])
    n.output(n.linear(n("Relu", n("Add", own, frames)), 64, 1025), "outputs")
    n.output(n("Identity", length), "prednet_lengths", INT32)
    n.output(hn, "output_states_1")
    n.output(cn, "output_states_2")
    return n.model()


def paraformer() -> ModelProto:
    n = Net(11)
    speech = n.input("speech", "batch_size", "feats_length", 560)
    lengths = n.input("speech_lengths", "batch_size", element=INT32)
    mask = n.until(n("Cast", lengths, to=INT64), n.size(speech, 1))
    bias = n("Unsqueeze", n("Mul", n("Sub", 1.0, mask), -10000.0), [1, 2])
    x = n.block(n.linear(speech, 560, 32), 32, 2, bias)
    weight = n("Mul", n("Sigmoid", n("Squeeze", n.linear(x, 32, 1), [2])), mask)
    count = n("Cast", n("ReduceMax", n("ReduceSum", weight, [1], keepdims=0), keepdims=0), to=INT64)
    tokens = n("Slice", x, [0], n("Unsqueeze", count, [0]), [1])
    n.output(n.linear(n.block(tokens, 32, 2, other=x), 32, 8404), "logits")
    return n.model()


def whisper_decoder() -> ModelProto:
    """A merged decoder: a flag says whether the caches of the encoder's side are used."""
    n = Net(12)
    ids = n.input("input_ids", "batch_size", "decoder_sequence_length", element=INT64)
    heard = n.input("encoder_hidden_states", "batch_size", "encoder_sequence_length / 2", 64)
    names = [
        [f"past_key_values.0.{side}.{part}" for part in ("key", "value")]
        for side in ("decoder", "encoder")
    ]
    axes = "past_decoder_sequence_length", "encoder_sequence_length_out"
    pasts = [
        [n.input(name, "batch_size", 4, axis, 16) for name in pair]
        for pair, axis in zip(names, axes, strict=True)
    ]
    flag = n.input("use_cache_branch", 1, element=BOOL)
    x = n.embedding(ids, 51, 64)
    x, keys, values = n.cached(x, pasts[0], 64, 4)
    weights = [(n.weights(64, 64), part) for part in range(2)]
    used, fresh = Net(1), Net(2)
    kept = [used("Identity", name) for name in pasts[1]]
    made = [fresh.heads(fresh("MatMul", heard, matrix), 4, 64) for matrix, _ in weights]
    shape: list[int | str] = ["batch_size", 4, "length", 16]
    branches = used.branch(*kept, shape=shape), fresh.branch(*made, shape=shape)
    cross = n(
        "If", n("Squeeze", flag, [0]), then_branch=branches[0], else_branch=branches[1], count=2
    )
    x = n("Add", x, n.attend(n.heads(n.linear(x, 64, 64), 4, 64), cross[0], cross[1], 64))
    n.output(n.linear(x, 64, 51), "logits")
    for name, tensor in zip(("key", "value"), (keys, values), strict=True):
        n.output(tensor, f"present.0.decoder.{name}")
    for name, tensor in zip(("key", "value"), cross, strict=True):
        n.output(tensor, f"present.0.encoder.{name}")
    return n.model()
