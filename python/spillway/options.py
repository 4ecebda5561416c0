"""The keyword arguments that memory, simulate, tune and Session share.

They have the names and meanings of the program's flags (docs/cli.md).

device: "cpu", "cuda", "cuda:N" or "inline". Default: cuda where this build and
    machine have it, else cpu.
threads: of CPU kernels; 0, the default: all cores.
link_gbps: limits copies to and from the device, 1e9 bytes a second each way; 0:
    full speed.
device_memory: the budget of the device, a hard limit: bytes, "512MiB" or "8GB".
    Default of tune and simulate: the memory of the named profile; of Session and
    memory: as little as the step needs.
host_memory: the limit of the host's pool for swapped tensors. Default: half of
    the memory.
lms: "auto" (the tuner chooses what is swapped and recomputed; the default but for
    memory), "off", or "v1" and "v2", the sets of TFLMS.
recompute: "auto", "off" (swaps alone), "cheap" or "sqrt".
algorithms: "same" (those of the step without a budget, so results are the same to
    the bit; the default), "first" or "auto".
profile: the machine whose times are predicted: a name ("p100_pcie",
    "p100_nvlink", "v100_16gb_nvlink", "v100_32gb_nvlink", "h200_pcie5") or a file
    of `spillway profile`, or a Profile of measure_profile. Default: the one that
    was measured here, or assumed rates.
place: what runs on the host: "off" (nothing; the default), "auto" (as little as
    lets every node fit the budget), "updates", "estimate" or "force"
    (docs/placement.md).
effort: "normal" or "high", of the tuner.
time_limit: seconds after which the tuner tries nothing new.
seed: of initial values and dropout; 0.
check_memory: True: every access of every step is checked; slower.
log: True: the tuner's lines go to stderr; a function is called with each.

Of a step of several ranks that is predicted, the network among them
(docs/workers.md):

network_gbps: between hosts, 1e9 bytes a second each way.
network_latency_us: between hosts; 5.
intra_host_gbps: within a host; as between hosts.
intra_host_latency_us: within a host; as between hosts.
ranks_per_host: 1.
allreduce: "auto" (the fastest; the default), "ring", "tree" or "hierarchical".
staged_allreduce: True: gradients go through the host's memory.
rank_jitter: the part of a step by which ranks differ.
"""
