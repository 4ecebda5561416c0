"""Checks that runs of one step give the same bits and take the predicted
bytes."""


def check_results(result, expected, what):
    """Of `spillway bench`, as JSON. `expected`: that of another run; `what`
    names this one in an error."""
    for field in ("losses", "checksum"):
        assert result[field] == expected[field], f"{what}: other {field}"
    for space in ("peak_device_bytes", "peak_host_bytes"):
        peak = result[space]
        assert peak["predicted"] == peak["measured"], f"{what}: {space} {peak}"
