"""PyTorch's training steps, each measured in a separate process
(pytorch_step.py)."""

import pathlib
import sys

from programs import Failed, read_json
from sections import Case

SECONDS = {"compile": 75, "activation_budget": 90,
           "save_on_cpu": 90}  # of the others: 12


def run(bundle, row, method, steps, budget):
    program = pathlib.Path(__file__).parent.with_name("pytorch_step.py")
    name = f"{row['model']}_{row['precision']}_{row['batch_size']}_{method}_{budget}"
    path = bundle.out / f"pytorch_{name}.json"
    command = [sys.executable, program, f"--model={row['model']}",
               f"--precision={row['precision']}",
               f"--batch_size={row['batch_size']}", f"--method={method}",
               f"--device={bundle.device}", f"--steps={steps}",
               f"--warmup={3 if steps < 10 else 10}", f"--json={path}"]
    if budget:
        command.append(f"--device_memory={budget}")
    done = bundle.process(command, log=f"pytorch_{name}.log")
    if done.returncode != 0 or not path.exists():
        words = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"exit status {done.returncode}: {words[0]}")
    return read_json(path)


def case(bundle, facts, method, steps, budget=0):
    """budget: bytes of the device that PyTorch may use; 0: all."""
    return Case(facts | {"method": method},
                lambda: run(bundle, facts, method, steps, budget),
                SECONDS.get(method, 12))
