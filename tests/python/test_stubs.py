"""The type stubs have the names that the module has, and the options too."""

import ast
import inspect
import pathlib

import spillway as sp
from spillway import _spillway

STUBS = ast.parse(
    pathlib.Path(sp.__file__).with_name("_spillway.pyi").read_text(encoding="utf-8"))
IMPLICIT = {"__init__", "__enter__", "__exit__"}


def names_of(body):
    return {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def is_public(name):
    return not name.startswith("_") or name in IMPLICIT


def test_every_public_name_has_a_stub():
    stubs = {name for name in names_of(STUBS.body) if is_public(name)}
    module = {name for name in vars(_spillway) if is_public(name)}
    assert stubs == module
    assert module <= {*sp.__all__, *sp.data.__all__}


def test_every_method_has_a_stub():
    for stub in STUBS.body:
        if not isinstance(stub, ast.ClassDef) or stub.name.startswith("_"):
            continue
        stubs = {name for name in names_of(stub.body) if is_public(name)} - IMPLICIT
        found = vars(getattr(_spillway, stub.name))
        methods = {name for name in found if is_public(name)} - IMPLICIT
        assert stubs == methods, stub.name


def test_options_are_described_and_typed():
    [options] = [node for node in STUBS.body
                 if isinstance(node, ast.ClassDef) and node.name == "_Options"]
    typed = {node.target.id for node in options.body}
    page = inspect.getdoc(sp.options)
    assert all(f"\n{name}: " in page for name in typed)
    try:
        sp.tune(sp.zoo("trivial").training_step(), no_such_option=1)
    except sp.InvalidArgument as error:
        known = set(str(error).split("there are ")[1].split(", "))
        assert known == typed
