"""Every example in the documentation runs, and every public name has one."""

import doctest
import importlib
import inspect

import pytest

import sigmabar

MODULES = [
    "sigmabar",
    "sigmabar.__main__",
    "sigmabar._certificate",
    "sigmabar._design",
    "sigmabar._domain",
    "sigmabar._evidence",
    "sigmabar._exact",
    "sigmabar._inducing",
    "sigmabar._interval",
    "sigmabar._kernels",
    "sigmabar._known",
    "sigmabar._learnt",
    "sigmabar._noise",
    "sigmabar._posterior",
    "sigmabar._rows",
    "sigmabar._strategy",
    "sigmabar._study",
    "sigmabar._threads",
    "sigmabar.optuna",
    "sigmabar.plot",
    "sigmabar.premises",
    "sigmabar.sklearn",
    "sigmabar.theory",
]
EXPORTS = [
    (module, name)
    for module in ("sigmabar", "sigmabar.optuna", "sigmabar.plot", "sigmabar.sklearn", "sigmabar.theory")
    for name in importlib.import_module(module).__all__
    if name != "__version__"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0


@pytest.mark.parametrize(("module", "name"), EXPORTS)
def test_every_export_is_documented_with_an_example(module: str, name: str) -> None:
    export = getattr(importlib.import_module(module), name)
    # Its own words: getdoc would take those of a parent.
    assert doctest.DocTestParser().get_examples(export.__doc__ or ""), f"{module}.{name} has no example"
    assert inspect.getmodule(export).__name__ in MODULES or export is sigmabar.Error, "its example is run"
    if inspect.isclass(export):
        for attribute, value in vars(export).items():
            if not attribute.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod))):
                assert inspect.getdoc(value), f"{name}.{attribute} is not documented"
