"""Safetensors files, written and read with numpy alone."""

import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32,
          "U8": np.uint8, "BOOL": np.bool_}
CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


def save(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        tensor = np.asarray(tensor)
        raw = tensor.tobytes()
        header[name] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(raw[8 + size + begin:8 + size + end],
                                      DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
