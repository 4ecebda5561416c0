"""What each rank of test_workers.py runs: trains, and prints what it has."""

import json
import sys

import numpy

import spillway as sp

WORK = json.loads(sys.argv[1])


def rows(count, shape, seed=1):
    random = numpy.random.default_rng(seed)
    return (random.standard_normal((count, *shape), dtype="float32"),
            random.integers(0, 10, count))


def steps(session, workers, shape):
    """Three updates; the rows of each are those that one process would have."""
    images, labels = rows(3 * 16 * workers.size, shape)
    losses = []
    for update in range(3):
        if update == 1 and workers.rank in WORK.get("fails", []):
            raise RuntimeError("this rank gives up")
        first = 16 * (update * workers.size + workers.rank)
        losses.append(session.step(images=images[first:first + 16],
                                   labels=labels[first:first + 16]))
    return losses


def train(session, workers, shape):
    images, labels = rows(100, shape)
    epochs = sp.train(session, {"images": images, "labels": labels}, epochs=2,
                      test={"images": images, "labels": labels},
                      checkpoint=WORK.get("checkpoint"))
    return [[epoch["loss"], epoch["test_accuracy"]] for epoch in epochs]


def main():
    workers = sp.workers(**WORK.get("workers", {}))
    model = sp.zoo(WORK.get("model", "mnist_deep"), batch_size=16)
    step = model.training_step(optimizer=sp.Momentum(0.01), workers=workers,
                               **WORK.get("step", {}))
    assert sp.memory(step, threads=1).device_bytes > 0
    shape = step.inputs["images"][1][1:]
    session = sp.Session(step, evaluation=model.evaluation_step(), threads=1,
                         **WORK.get("session", {}))
    if "load" in WORK:
        session.load(WORK["load"])
    results = {"steps": steps, "train": train}[WORK["do"]](session, workers, shape)
    if "save" in WORK:
        session.save(WORK["save"])
    total = workers.all_reduce(numpy.array([workers.rank + 1], "int64"))
    text = json.dumps({"rank": workers.rank, "size": workers.size, "results": results,
                       "checksum": session.checksum(), "total": int(total[0]),
                       "steps": session.step_number, "comm": workers.comm})
    sys.stdout.write(text + "\n")  # in one piece: ranks share the terminal


main()
