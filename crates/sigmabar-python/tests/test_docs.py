"""Every example in the documentation runs, and every public name has one or is explained."""

import doctest
import importlib
import inspect

import pytest

import sigmabar

MODULES = [
    "sigmabar",
    "sigmabar.__main__",
    "sigmabar._design",
    "sigmabar._domain",
    "sigmabar._evidence",
    "sigmabar._inducing",
    "sigmabar._interval",
    "sigmabar._kernels",
    "sigmabar._noise",
    "sigmabar._posterior",
    "sigmabar._strategy",
    "sigmabar._study",
    "sigmabar.optuna",
    "sigmabar.plot",
    "sigmabar.sklearn",
    "sigmabar.theory",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", [n for n in sigmabar.__all__ if n != "__version__"])
def test_every_export_is_documented(name: str) -> None:
    export = getattr(sigmabar, name)
    assert inspect.getdoc(export)
    if inspect.isclass(export):
        for attribute, value in vars(export).items():
            if not attribute.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod))):
                assert inspect.getdoc(value), f"{name}.{attribute} is not documented"
