"""The words of the subject, each in a sentence: what tooltips and the glossary show."""

from __future__ import annotations

TERMS: dict[str, str] = {
    "case": "One point of a sweep: one model on one runtime, with its precision, batch size, "
    "sequence length, threads, options and scenario all fixed.",
    "round": "One measuring process of a case. Every case is measured in several of them, because "
    "processes differ more than iterations do.",
    "p50": "The median: half of the inferences took at most this long.",
    "p90": "Nine of ten inferences took at most this long.",
    "p99": "99 of 100 inferences took at most this long. It needs at least 368 samples for an "
    "interval with 95 % confidence.",
    "needed": "What the p99 still lacks: independent samples of all rounds, then rounds until its "
    "interval is within 5 %.",
    "p99.9": "999 of 1000 inferences took at most this long. It needs at least 3,688 samples.",
    "interval": "The range that holds the true value with 95 % confidence, the wider of the one "
    "from ranks and the one between processes.",
    "provisional": "Read from histogram bins while the round runs, good to about 1.2 %; it is "
    "recomputed from the raw samples when the round ends.",
    "spacing": "The idle time between the end of one inference and the start of the next. Caches "
    "and clocks cool down in it, so spaced latencies are often longer.",
    "closed loop": "The next inference starts as soon as the last one has finished.",
    "paced": "The next inference starts a fixed gap after the last one has finished.",
    "rate": "Requests are due at this rate, evenly, independently of completions. Latency counts "
    "from when a request was due.",
    "poisson": "Requests are due at random times with this average rate, as from many users. The "
    "times are drawn beforehand; latency counts from when a request was due.",
    "burst": "This many requests are due at once, again and again after a fixed time. Latency "
    "counts from when they were due.",
    "multistream": "This many runs begin at once, the next ones when all are answered. One sample "
    "is all of them.",
    "offline": "All runs are queued at the start and processed on all lanes. The result is the "
    "inputs per second.",
    "ahead": "This many runs are queued on a GPU, with one wait for all of them. The result is "
    "the inputs per second; no run has a latency.",
    "service time": "From the start of a run to its end, without its wait.",
    "queueing": "From when a run was due to its start: its wait for earlier runs.",
    "wait policy": "How the gap is waited out: spinning keeps the core awake and is exact, "
    "sleeping lets it rest and wakes up to 0.1 ms late, hybrid sleeps first and then spins.",
    "boundary": "Where the outputs are complete when the clock stops: in the host's memory, or "
    "on the device.",
    "clock": "The source of the time: the wall clock of this machine, the device's own, or a "
    "simulation, which is never a wall time.",
    "profile": "How long to measure: quick for a first look, standard for comparing, publication "
    "for figures that others will quote.",
    "batch": "How many inputs one inference takes at once. Several sizes, with commas, make "
    "several cases.",
    "sequence": "How many time steps a sequence model is given at once.",
    "axes": "Sizes of the axes that a model of your own leaves open, each name with its values.",
    "threads": "How many threads the engine may compute with; 0 leaves the number to the engine.",
    "replicas": "How many sessions share the work of the scenario offline, each in its own "
    "thread. A single one is measured too, so that the rows show the scaling.",
    "precision": "The number format of the exported graph. The format that the engine executes is "
    "read from the compiled graph and shown next to it.",
    "seed": "Draws the order of the rounds and everything random, so that a sweep can be repeated.",
    "operator times": "After the timed rounds each case runs once more under its runtime's "
    "profiler, in a separate process, since profilers slow down what they measure.",
    "largest batch": "Double the batch until memory runs out, then halve the gap. Every try is a "
    "separate process, measured for one round.",
    "percentiles": "The reported percentiles, such as 50, 99, 99.99; unusual ones get additional "
    "columns.",
    "precise": "Add rounds until the interval of each of these percentiles is within its width, "
    "such as p50=1%, p99=10%. Rounds is then the limit of a case.",
    "sequential comparison": "Add rounds until each verdict against the baseline is decided. "
    "Rounds is then the limit of a case.",
    "detectable slowdown": "A slowdown that a gate must be able to find, such as 5%: rounds are "
    "added until it could, up to the limit.",
    "baseline": "What every case is compared with, round by round: a runtime, a model, "
    "@environment or runtime.option=value of this sweep.",
    "band": "Changes within it do not count, such as 2%.",
    "judged figures": "The figures with a verdict, such as p50, p99, mean, throughput. Each "
    "additional one makes all verdicts stricter.",
    "comparisons with itself": "Each case is compared with itself this many times: the rate of "
    "wrong verdicts of this machine, and the smallest detectable change.",
    "latency target": "Such as p99=5ms: each case becomes a search for the highest rate that "
    "keeps it, with any scenario.",
    "tuning goal": "Such as p99 or throughput@p99=10ms: each case becomes a search for the runtime "
    "and the options that reach it best, over the grid's values and what the runtimes offer.",
    "largest error": "The error of outputs that such a search accepts, relative to their largest "
    "value.",
    "condition": "A circumstance of the runs: cold:64MB evicts the caches between them, "
    "shapes:mix.csv has one session serve several shapes; none is the default. Several with "
    "commas.",
    "batcher": "A dynamic batcher before the model, such as max=8,wait=2ms: requests are sent "
    "together up to this number, and none waits longer. Several with semicolons.",
    "cold starts": "The number of fresh processes of each case after its rounds, for the time to "
    "their first answer.",
    "page cache": "For cold starts: whether files are warm in memory or were dropped from it.",
    "deadline": "A time such as 100us: each row has the share of its runs that take longer.",
    "null twin": "The same case with a graph that computes almost nothing. The difference is the "
    "compute of the model; the rest is the call, the copies and the boundary.",
    "compile only": "A check: each case is compiled as far as this machine can, without runs or "
    "times. Its row shows whether it compiles.",
    "cores": "Where the measuring process runs, such as 2,3 or 2-5; empty leaves it free.",
    "priority": "Of SCHED_FIFO, 1 to 99, where the system permits it; it needs cores that leave "
    "one to all others.",
    "cluster": "Other machines that measure: ssh:HOST,HOST, tls://SCHEDULER:8786, or local:N for "
    "tests.",
    "every host": "Every case is measured on every machine of the cluster that has its runtime.",
    "send code": "Files of your own, file.py:factory, may run on the machines of the cluster.",
    "no certificates": "Connect to a tcp:// scheduler without certificates, also on other "
    "machines.",
    "environments": "Interpreters with their packages, each name=python: ort-cpu@name measures the "
    "release that is installed there.",
    "lock memory": "Lock the measuring process into memory, so that none of it is paged out.",
    "budget": "Bounds the whole run, such as 10m: every case has its first round before any has "
    "a second.",
    "time limit": "The longest time of a round or an export, such as 90s.",
    "tolerance": "The accepted error of outputs, relative to the largest; empty for the default "
    "of the types that a graph computes in.",
    "compare outputs": "Compare outputs with a reference. Without it wrong outputs are not "
    "detected.",
    "accuracy data": "A folder of classes, or an .npz of images and labels, on which each model "
    "is tested once its rounds are over.",
    "inputs": "An .npz with one array for each input of the graph; several files with commas are "
    "sets that are fed in turn.",
    "rotate inputs": "Use another set in each run: the sets of Inputs, or eight generated ones.",
    "save inputs": "Keep the inputs in the run folder.",
    "input ranges": "The range of generated inputs: ids=0:999 mask=0:1.",
    "weights": "A .safetensors file with the weights for the models.",
    "calibration": "An .npz of samples, for int8.",
    "states": "An output that becomes this input in the next run: h_out=h_in.",
    "first nodes": "Names of the nodes where the measured part of an .onnx begins.",
    "last nodes": "Names of the nodes where the measured part of an .onnx ends.",
    "custom operators": "Libraries of operators for ONNX Runtime, with commas.",
    "memory limit": "The host memory that a measuring process may hold, such as 8GiB. Beyond it "
    "the case ends as out of memory.",
    "device memory limit": "The GPU memory that a measuring process may hold, such as 16GiB. "
    "Graphlap reserves the rest, so that a large GPU behaves like a smaller one.",
    "warm-up": "Inferences before the measurement, until their median is stable. They are kept, "
    "shaded, and never counted.",
    "simulated": "Computed from a schedule of the card, not measured with a clock.",
    "partial": "A node of the graph ran outside the engine of the row, so the row is kept but not "
    "ranked.",
    "doubted": "The row has warnings, or is partial: it is hollow in plots and `ok !` in the "
    "table. The badge next to the run's name lists all warnings of a run, with actions.",
    "published": "A figure printed in a source document: a reference, never a result of this "
    "machine.",
}
