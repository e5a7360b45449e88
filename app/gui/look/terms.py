"""The words of the subject, each in a sentence: what tooltips and the glossary show."""

from __future__ import annotations

TERMS: dict[str, str] = {
    "case": "One point of a sweep: one model on one runtime, with its precision, batch size, "
    "sequence length, threads, options and scenario all fixed.",
    "round": "One measuring process of a case. Every case is measured in several of them, because "
    "processes differ more than iterations do.",
    "p50": "The median: half of the inferences took at most this long.",
    "p90": "Nine of ten inferences took at most this long.",
    "p99": "99 of 100 inferences took at most this long. It needs at least 368 samples, or it "
    "can't be told with 95 % confidence.",
    "needed": "What the p99 still lacks: independent samples of all rounds, before it can be told, "
    "then rounds, before its interval reaches 5 % to either side.",
    "p99.9": "999 of 1000 inferences took at most this long. It needs at least 3,688 samples.",
    "interval": "The range that holds the true value with 95 % confidence, the wider of the one "
    "from ranks and the one between processes.",
    "provisional": "Read from histogram bins while the round runs, good to about 1.2 %; it is "
    "recomputed from the raw samples when the round ends.",
    "spacing": "The idle time between the end of one inference and the start of the next. Caches "
    "and clocks cool down in it, so spaced latencies are often longer.",
    "closed loop": "The next inference starts as soon as the last one has finished.",
    "paced": "The next inference starts a fixed gap after the last one has finished.",
    "rate": "Runs are due so often a second, evenly, whether or not the last one has finished. "
    "Latency counts from when a run was due.",
    "poisson": "Runs are due at times drawn beforehand, so often a second on average, as requests "
    "of many users come. Latency counts from when a run was due.",
    "burst": "So many runs are due at once, again and again after a fixed time. Latency counts "
    "from when they were due.",
    "multistream": "So many runs begin at once, the next as many when all of them are answered; "
    "one sample is all of them.",
    "offline": "All runs are there from the start and are worked off on all lanes: what counts "
    "is the inputs a second.",
    "ahead": "So many runs are queued on a GPU one after another, with one wait for all of them: "
    "what counts is the inputs a second, and no run has a latency of its own.",
    "service time": "From when a run began to its end, without what it had waited before.",
    "queueing": "From when a run was due to when it began: what it waited for those before it.",
    "wait policy": "How the gap is waited out: spinning keeps the core awake and is exact, "
    "sleeping lets it rest and wakes up to 0.1 ms late, hybrid sleeps first and then spins.",
    "boundary": "Where the outputs are complete when the clock stops: in the host's memory, or "
    "on the device.",
    "clock": "Who tells the time: the wall clock of this machine, the device's own, or a "
    "simulation, which is never a wall time.",
    "profile": "How long to measure: quick for a first look, standard for comparing, publication "
    "for figures that others will quote.",
    "batch": "How many inputs one inference takes at once. Several sizes, with commas, make "
    "several cases.",
    "sequence": "How many time steps a sequence model is given at once.",
    "axes": "Sizes of the axes that a model of your own leaves open, each name with its values.",
    "threads": "How many threads the engine may compute with; 0 leaves the number to the engine.",
    "replicas": "How many sessions share the work of the scenario offline, each in a thread of its "
    "own. One alone is measured too, so that the rows tell how well it scales.",
    "precision": "The number format that the graph is exported in. What the engine really "
    "executes is read from the compiled graph and shown beside it.",
    "seed": "Draws the order of the rounds and everything random, so that a sweep can be repeated.",
    "operator times": "After the timed rounds each case runs once more under its runtime's own "
    "profiler, in a process of its own: profilers slow down what they look at.",
    "largest batch": "Double the batch until memory runs out, then halve the gap: every try is a "
    "process of its own, measured for one round.",
    "percentiles": "Which percentiles are told, such as 50, 99, 99.99; others than the usual ones "
    "get columns of their own.",
    "precise": "Rounds until the interval of each of these percentiles reaches no farther, such as "
    "p50=1%, p99=10%; Rounds is then the most that a case may have.",
    "baseline": "What every case is compared with, round by round: a runtime, a model, "
    "@environment or runtime.option=value of this sweep.",
    "band": "A change within it counts as none, such as 2%.",
    "judged figures": "Which figures get a verdict, such as p50, p99, mean, throughput; each one "
    "more makes all of them stricter.",
    "comparisons with itself": "Each case is compared with itself so many times: it tells the "
    "machine's own wrong verdicts, and the smallest change that it can find.",
    "latency target": "Such as p99=5ms: each case becomes a search for the highest rate that keeps "
    "it, whatever else its scenario says.",
    "tuning goal": "Such as p99 or throughput@p99=10ms: each case becomes a search for the runtime "
    "and the options that reach it best, over the grid's values and what the runtimes offer.",
    "largest error": "Of such a search: what outputs may be off by, of their largest value.",
    "condition": "What is going on beside the runs: cold:64MB pollutes the caches between them, "
    "shapes:mix.csv has one session serve several shapes; none is the default. Several with "
    "commas.",
    "batcher": "A dynamic batcher before the model, such as max=8,wait=2ms: up to so many requests "
    "are sent together, none waits longer to be. Several with semicolons.",
    "cold starts": "So many fresh processes of each case after its rounds: what they take to their "
    "first answer.",
    "page cache": "Of cold starts: whether files lie warm in memory, or were dropped from it.",
    "deadline": "A time such as 100us: each row tells the share of its runs that take longer.",
    "null twin": "The same case with a graph that computes next to nothing: what the model takes "
    "more is its compute, the rest is the call, the copies and the boundary.",
    "compile only": "A check: each case is compiled as far as this machine can, nothing is run or "
    "timed, and its row says whether it runs there.",
    "cores": "Where the measuring process runs, such as 2,3 or 2-5; empty leaves it free.",
    "priority": "Of SCHED_FIFO, 1 to 99, where the system permits it; it needs cores that leave "
    "one to all others.",
    "cluster": "Other machines that measure: ssh:HOST,HOST, tls://SCHEDULER:8786, or local:N for "
    "trying.",
    "every host": "Every case is measured on every machine of the cluster that has its runtime.",
    "send code": "Files of your own, file.py:factory, may run on the machines of the cluster.",
    "no certificates": "Speak to a tcp:// scheduler without certificates, off this machine too.",
    "environments": "Interpreters with their packages, each name=python: ort-cpu@name measures the "
    "release that is installed there.",
    "lock memory": "Lock the measuring process into memory, so that nothing of it is paged out.",
    "budget": "Bounds the whole run, such as 10m: every case has its first round before any has "
    "a second.",
    "time limit": "When a round or an export is ended, such as 90s.",
    "tolerance": "What outputs may be off by, relative to the largest; empty for what follows "
    "from the types that a graph computes in.",
    "compare outputs": "Outputs are compared with a reference; without it nobody knows whether "
    "they are right.",
    "accuracy data": "A folder of classes, or an .npz of images and labels, on which each model "
    "is tested once its rounds are over.",
    "inputs": "An .npz with one array for each input of the graph; several files with commas are "
    "sets that are fed in turn.",
    "rotate inputs": "Feed another set from run to run: those of Inputs, or eight that are drawn.",
    "save inputs": "Keep what was fed in the run folder.",
    "input ranges": "What an input is drawn from: ids=0:999 mask=0:1.",
    "weights": "A .safetensors file with the weights for the models.",
    "calibration": "An .npz of samples, for int8.",
    "states": "An output that becomes this input in the next run: h_out=h_in.",
    "first nodes": "Names of the nodes where the measured part of an .onnx begins.",
    "last nodes": "Names of the nodes where the measured part of an .onnx ends.",
    "custom operators": "Libraries of operators for ONNX Runtime, with commas.",
    "memory limit": "What a measuring process may hold of the host's memory, such as 8GiB; beyond "
    "it the case ends as out of memory instead of taking the machine down.",
    "device memory limit": "What a measuring process may hold of a GPU's memory, such as 16GiB: "
    "the rest is held by us, so that a large GPU behaves as a smaller one does.",
    "warm-up": "Inferences before the measurement, until their median stands still. They are "
    "kept, shaded, and never counted.",
    "simulated": "Computed from a schedule of the card, not measured with a clock.",
    "partial": "A node of the graph ran somewhere else than on the engine that the row names, so "
    "the row is kept but not ranked.",
    "doubted": "The row has warnings, or is partial: it is hollow in plots and `ok !` in the "
    "table. The badge beside the run's name has all that is wrong with it, and the remedies.",
    "published": "A figure that a source document prints: a reference to lay beside, never a "
    "result of this machine.",
}
