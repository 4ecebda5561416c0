"""Many ranks: they train as one process with as many micro-batches, bit for bit."""

import json
import os
import shutil
import socket
import subprocess
import sys

import numpy
import pytest
import spillway as sp

RANK = os.path.join(os.path.dirname(__file__), "rank.py")
PYTHONPATH = os.path.dirname(os.path.dirname(sp.__file__))
SECONDS = 120


def environment(**more):
    return {**os.environ, "PYTHONPATH": PYTHONPATH, **more}


def run_ranks(folder, work, size=2):
    """Starts ranks by hand and returns what each printed, by rank."""
    folder.mkdir(exist_ok=True)
    ranks = []
    for rank in range(size):
        variables = environment(
            SPILLWAY_RANK=str(rank), SPILLWAY_WORLD_SIZE=str(size),
            SPILLWAY_LOCAL_RANK=str(rank), SPILLWAY_LOCAL_WORLD_SIZE=str(size),
            SPILLWAY_RENDEZVOUS=str(folder), SPILLWAY_RUN_ID=str(folder))
        given = work[rank] if isinstance(work, list) else work
        ranks.append(subprocess.Popen([sys.executable, RANK, json.dumps(given)], text=True,
                                      env=variables, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE))
    return [(*rank.communicate(timeout=SECONDS), rank.returncode) for rank in ranks]


def results_of(outcomes):
    for out, err, code in outcomes:
        assert code == 0, out + err
    return [json.loads(out) for out, _, _ in outcomes]


def run_alone(work):
    done = subprocess.run([sys.executable, RANK, json.dumps(work)], env=environment(),
                          capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def accumulated(size):
    """One process, whose updates have the rows of `size` ranks."""
    random = numpy.random.default_rng(1)
    images = random.standard_normal((3 * 16 * size, 28, 28, 1), dtype="float32")
    labels = random.integers(0, 10, 3 * 16 * size)
    step = sp.zoo("mnist_deep", batch_size=16).training_step(
        optimizer=sp.Momentum(0.01), accumulate=size)
    with sp.Session(step, threads=1) as session:
        losses = [session.step(images=images[i:i + 16 * size], labels=labels[i:i + 16 * size])
                  for i in range(0, len(labels), 16 * size)]
        return losses, session.checksum()


def test_two_ranks_step_as_one_with_two_batches(tmp_path):
    results = results_of(run_ranks(tmp_path / "run", {"do": "steps"}))
    losses, checksum = accumulated(2)
    for rank, result in enumerate(results):
        assert (result["rank"], result["size"], result["total"]) == (rank, 2, 3)
        assert result["comm"] == "gloo"
        assert result["results"] == losses
        assert result["checksum"] == checksum
        assert result["steps"] == 3


def test_a_budget_of_one_rank_changes_no_bit(tmp_path):
    work = {"do": "steps", "model": "resnet20"}
    plain = results_of(run_ranks(tmp_path / "plain", work))
    needed = sp.memory(sp.zoo("resnet20", batch_size=16).training_step(
        optimizer=sp.Momentum(0.01)), threads=1)
    budget = {"device_memory": needed.smallest_device_bytes * 7 // 10}
    tight = results_of(run_ranks(tmp_path / "tight", [{**work, "session": budget}, work]))
    assert [r["checksum"] for r in tight] == [r["checksum"] for r in plain]
    assert [r["results"] for r in tight] == [r["results"] for r in plain]


def test_trains_and_tests_as_one(tmp_path):
    results = results_of(run_ranks(tmp_path / "run", {"do": "train"}))
    alone = run_alone({"do": "train", "step": {"accumulate": 2}})
    for result in results:
        assert result["results"] == alone["results"]
        assert result["checksum"] == alone["checksum"]


@pytest.mark.parametrize("step", [
    {"accumulate": 2}, {"reduce": "half", "wire": "bf16"},
    {"reduce": "sparse", "topk": True, "spars": 0.5}, {"reduce": "partial"}], ids=str)
def test_goes_on_from_a_checkpoint(tmp_path, step):
    saved = str(tmp_path / "net.safetensors")
    if "accumulate" in step:
        work = {"do": "train", "step": step, "checkpoint": saved}
        first = results_of(run_ranks(tmp_path / "first", work))
        again = results_of(run_ranks(tmp_path / "again", work))
        assert [r["checksum"] for r in again] == [r["checksum"] for r in first]
        assert [r["results"] for r in again] == [[], []]  # all was done
        return
    first = results_of(run_ranks(tmp_path / "first", {"do": "steps", "step": step, "save": saved}))
    again = results_of(run_ranks(tmp_path / "again", {"do": "steps", "step": step, "load": saved}))
    assert [r["steps"] for r in again] == [6, 6]
    assert os.listdir(tmp_path).count("net.safetensors") == 1
    with_same_variables = step.get("reduce") != "partial"
    assert (len({r["checksum"] for r in again}) == 1) == (
        with_same_variables and step.get("reduce") != "sparse")
    assert first[0]["checksum"] != again[0]["checksum"]


def test_ranks_that_train_different_things_are_told(tmp_path):
    outcomes = run_ranks(tmp_path / "run", [
        {"do": "steps", "workers": {"comm_timeout": 60}},
        {"do": "steps", "workers": {"comm_timeout": 60}, "step": {"weight_decay": 0.1}}])
    assert all(code != 0 for _, _, code in outcomes)
    assert any("spillway.errors" in err and "rank" in err for _, err, _ in outcomes)


def test_a_rank_that_fails_ends_the_others(tmp_path):
    outcomes = run_ranks(tmp_path / "run", {"do": "steps", "fails": [1]})
    assert all(code != 0 for _, _, code in outcomes)
    assert "this rank gives up" in outcomes[1][1]
    assert "spillway.errors.Unavailable" in outcomes[0][1]


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs openmpi-bin")
def test_mpirun(tmp_path):
    done = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, RANK,
         json.dumps({"do": "steps"})],
        env=environment(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    losses, checksum = accumulated(2)
    assert sorted(result["rank"] for result in results) == [0, 1]
    assert {result["comm"] for result in results} == {"mpi"}
    assert {result["checksum"] for result in results} == {checksum}
    assert results[0]["results"] == losses


def launch(work, *flags):
    return subprocess.run(
        [sys.executable, "-m", "spillway.launch", *flags, RANK, json.dumps(work)],
        env=environment(), capture_output=True, text=True, timeout=SECONDS)


def test_our_own_launcher(tmp_path):
    done = launch({"do": "steps"}, "-n", "2", "--log_dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert [line[:4] for line in lines] == ["[0] ", "[1] "]
    losses, checksum = accumulated(2)
    for line in lines:
        result = json.loads(line[4:])
        assert (result["results"], result["checksum"]) == (losses, checksum)
    assert json.loads((tmp_path / "rank_1.log").read_text())["rank"] == 1

    done = launch({"do": "steps", "fails": [1]}, "-n", "2")
    assert done.returncode == 1
    assert "this rank gives up" in done.stderr and "ended with exit status 1" in done.stderr
    done = launch({}, "-n", "0")
    assert done.returncode != 0 and "ranks" in done.stderr


def check_torchrun(out):
    results = [json.loads(line) for line in out.splitlines()]
    _, checksum = accumulated(2)
    assert sorted(result["rank"] for result in results) == [0, 1]
    assert {result["checksum"] for result in results} == {checksum}


def test_the_variables_of_torchrun():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen(
        [sys.executable, RANK, json.dumps({"do": "steps"})], text=True, stdout=subprocess.PIPE,
        env=environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                        LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                        TORCHELASTIC_RUN_ID="none"))
             for rank in range(2)]
    check_torchrun("".join(rank.communicate(timeout=SECONDS)[0] for rank in ranks))


def test_torchrun(tmp_path):
    torch = pytest.importorskip("torch")
    if int(torch.__version__.split(".")[0]) < 2:
        pytest.skip("torchrun of 1.13 does not run with Python 3.11")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2",
         RANK, json.dumps({"do": "steps"})],
        env=environment(), capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check_torchrun(done.stdout)


def test_alone():
    workers = sp.workers()
    assert (workers.rank, workers.size, workers.comm) == (0, 1, "self")
    assert workers.all_reduce([1.5, 2.5]).tolist() == [1.5, 2.5]
    assert workers.broadcast(numpy.arange(3)).tolist() == [0, 1, 2]
    workers.barrier()
    with pytest.raises(sp.InvalidArgument, match="no rank"):
        workers.broadcast([1.0], root=1)
    with pytest.raises(sp.InvalidArgument, match="'sum', 'max', 'min'"):
        workers.all_reduce([1.0], op="mean")


def test_settings_are_checked():
    model = sp.zoo("mnist_deep", batch_size=16)
    with pytest.raises(sp.InvalidArgument, match="wire applies to reduce='half'"):
        model.training_step(wire="bf16")
    with pytest.raises(sp.InvalidArgument, match="accumulate"):
        model.training_step(accumulate=0)
    with pytest.raises(sp.InvalidArgument, match="comm_timeout"):
        sp.workers(comm_timeout=0)
