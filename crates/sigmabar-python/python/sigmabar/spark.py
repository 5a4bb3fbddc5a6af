"""Rows on Spark: the sums of a plan through Arrow, and an Estimator with its Model.

Needs ``pyspark`` and ``pyarrow``: ``pip install "sigmabar[spark]"``, on the executors too. Sums and samples travel as rows and are merged in groups on the
executors, never collected leaf by leaf: a driver refuses results above its limit. No Spark accumulator is used, which would count a retried task twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    from pyspark.ml import Estimator, Model
    from pyspark.ml.param import Param, Params
    from pyspark.ml.param.shared import HasInputCols, HasLabelCol
    from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError('sigmabar.spark needs PySpark: pip install "sigmabar[spark]"', name=missing.name) from missing

from ._core import Error
from ._distributed import COLUMNS, Counted, Drawn, Settings, added, bytes_of, counted, plan_of, refuse_missing, slope_of, summed, sums_of
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan, aligned, sampled, smallest
from ._threads import set_num_threads

__all__ = ["SparseKernelModel", "SparseKernelRegressor", "accumulate"]


def __dir__() -> list[str]:
    return __all__


_SUMS = "bucket long, sums binary"
_SAMPLE = "bucket long, counts string, drawn string"
_FAN_IN = 8
# How many partitions there are is not known before they were sampled: two rounds, after which a driver gets one sample for a thousand of them.
_SAMPLES, _ROUNDS = 32, 2


def accumulate(plan: Plan, spark: Any, *, parts: int | None = None) -> Accumulator:
    """The sums of all chunks of a plan of ``sigmabar plan``, read and summed by the executors, who must see its files."""
    parts = parts if parts is not None else 4 * spark.sparkContext.defaultParallelism
    ranges = [(i, list(chunks)) for i, chunks in enumerate(aligned(len(plan), parts))]
    data = plan.save()

    def of(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([{"bucket": row["part"] // _FAN_IN, "sums": summed(data, row["chunks"])}])

    # A partition for each part: hashes of their numbers would put several into one.
    tasks = spark.sparkContext.parallelize(ranges, len(ranges)).toDF("part long, chunks array<long>")
    return _reduced(plan, tasks.mapInArrow(of, _SUMS), len(ranges))


def _reduced(plan: Plan, leaves: Any, count: int) -> Accumulator:
    """The sums of all leaves, of which there are ``count``."""
    data = plan.save()

    def merged(table: Any) -> Any:
        import pyarrow as pa

        parts = [value.as_py() for value in table.column("sums")]
        bucket = table.column("bucket")[0].as_py() // _FAN_IN
        return pa.table({"bucket": pa.array([bucket], pa.int64()), "sums": pa.array([added(data, parts)], pa.binary())})

    while count > 1:
        leaves, count = leaves.groupBy("bucket").applyInArrow(merged, _SUMS), -(-count // _FAN_IN)
    return plan.merge(sums_of(plan, bytes(row["sums"])) for row in leaves.collect())


def _sampled(samples: Any, size: int) -> tuple[list[Counted], list[Drawn]]:
    """The rows of every chunk, and the sample of them all."""

    def merged(table: Any) -> Any:
        import pyarrow as pa

        counts = {chunk: rows for part in table.column("counts") for chunk, rows in json.loads(part.as_py()).items()}
        drawn = smallest(size, (map(tuple, json.loads(part.as_py())) for part in table.column("drawn")))
        bucket = table.column("bucket")[0].as_py() // _SAMPLES
        return pa.table({"bucket": pa.array([bucket], pa.int64()), "counts": [json.dumps(counts)], "drawn": [json.dumps(drawn)]})

    for _ in range(_ROUNDS):
        samples = samples.groupBy("bucket").applyInArrow(merged, _SAMPLE)
    found = samples.collect()
    counts = {int(chunk): tuple(rows) for part in found for chunk, rows in json.loads(part["counts"]).items()}
    chunks = [counts.get(chunk, (0, 0, 0)) for chunk in range(1 + max(counts, default=0))]
    return chunks, smallest(size, (map(tuple, json.loads(part["drawn"])) for part in found))


class _Passes:
    """The rows of a DataFrame's partitions, computed again for every pass."""

    def __init__(self, chosen: Any, names: Sequence[str], count: int) -> None:
        self._chosen, self._names, self._count = chosen, names, count

    def sums(self, plan: Plan) -> Accumulator:
        """The sums of all chunks."""
        data = plan.save()
        return _reduced(plan, self._each(lambda chunk, X, y: bytes_of(plan_of(data).leaf(chunk, X, y))), self._count)

    def slopes(self, plan: Plan, model: SparsePosterior) -> list[bytes]:
        """The shares of all chunks in the gradient of the evidence: a few numbers each."""
        shared = (plan.save(), model.save())
        return [bytes(row["sums"]) for row in self._each(lambda chunk, X, y: slope_of(*shared, chunk, X, y)).collect()]

    def _each(self, work: Any) -> Any:
        names = self._names

        def of(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            chunk, values = _partition(batches, names)
            found = work(chunk, np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1]))
            yield pa.RecordBatch.from_pylist([{"bucket": chunk // _FAN_IN, "sums": found}])

        return self._chosen.mapInArrow(of, _SUMS)


class _Declared(HasInputCols, HasLabelCol):  # type: ignore[misc]
    """Columns and settings as Spark's own parameters: in grids, copies and explanations."""

    def _declare(self, features: Sequence[str], label: str, settings: Settings) -> None:
        self._setDefault(**Settings().get_params())
        usual = Settings().get_params()
        said = {name: value for name, value in settings.get_params().items() if value is not usual[name]}
        self._set(inputCols=list(features), labelCol=label, **said)

    @property
    def settings(self) -> Settings:
        """What was declared."""
        return Settings(**{name: self.getOrDefault(name) for name in Settings.names()})


for _name, _usual in Settings().get_params().items():
    setattr(_Declared, _name, Param(Params._dummy(), _name, f"what sigmabar.dask.SparseKernelRegressor calls so; {_usual!r} unless said"))


class SparseKernelRegressor(Estimator, _Declared, MLWritable, MLReadable):  # type: ignore[misc]
    """An estimator on a DataFrame: ``fit`` gives a :class:`SparseKernelModel`, whose ``transform`` adds mean, standard deviation and both ends of the interval.

    ``features`` are the columns to predict ``label`` from (``inputCols`` and ``labelCol`` to Spark): numbers or truth values. ``settings`` are those of
    :class:`sigmabar.dask.SparseKernelRegressor`, and parameters of Spark too: they stand in grids (``ParamGridBuilder``), ``copy`` and ``explainParams``. Every partition
    of the DataFrame is one chunk. Spark computes it again after a loss, and must find the same rows there: sort or persist a DataFrame whose order is left to chance.
    Kernel and ridge are learnt on a sample by smallest hashes unless both are given. It stands in pipelines, and is saved and loaded with them.
    """

    def __init__(
        self, features: Sequence[str] = (), label: str = "label", kernel: Any = None, tau: float | None = None, **settings: Any
    ) -> None:
        super().__init__()
        self._declare(features, label, Settings(kernel, tau, **settings))

    def _fit(self, dataset: Any) -> SparseKernelModel:
        """One pass to sample and one to sum; more where they were asked for."""
        names, settings = [*self.getInputCols(), self.getLabelCol()], self.settings
        settings.check()
        _check(dataset, names)
        chosen = dataset.select(*names)

        def draw(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            chunk, values = _partition(batches, names)
            if not settings.drop_missing:
                refuse_missing(values, names, f"partition {chunk}")
            drawn = sampled(settings.seed, settings.sample, chunk, values[:, :-1], values[:, -1])
            counts = {chunk: counted(values)}
            yield pa.RecordBatch.from_pylist([{"bucket": chunk // _SAMPLES, "counts": json.dumps(counts), "drawn": json.dumps(drawn)}])

        counts, drawn = _sampled(chosen.mapInArrow(draw, _SAMPLE), settings.sample)
        plan, sums = settings.fitted(drawn, counts, "a Spark DataFrame", _Passes(chosen, names, len(counts)))
        model = SparseKernelModel(plan.model(sums), names[:-1], names[-1], settings)
        model.sums = sums
        return self._copyValues(model)  # type: ignore[no-any-return]

    def write(self) -> MLWriter:
        """Writes what was declared; :meth:`read` reads it."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Reads an estimator that was written."""
        return _Reader()


class SparseKernelModel(Model, _Declared, MLWritable, MLReadable):  # type: ignore[misc]
    """A fitted model: ``transform`` adds its predictions to a DataFrame; ``save`` and ``load`` keep it as Spark keeps models, :meth:`to_file` and :meth:`from_file`
    as the command does.
    """

    sums: Accumulator

    def __init__(self, posterior: SparsePosterior, features: Sequence[str], label: str, settings: Settings | None = None) -> None:
        super().__init__()
        self._declare(features, label, settings if settings is not None else Settings())
        self.posterior = posterior

    def _transform(self, dataset: Any) -> Any:
        """The DataFrame with the columns mean, std, lower and upper."""
        from pyspark.sql.types import DoubleType, StructField, StructType

        data, names, settings = self.posterior.save(), self.getInputCols(), self.settings
        _check(dataset, names)
        taken = [name for name in COLUMNS if name in dataset.columns]
        if taken:
            raise Error(f'the DataFrame has a column "{taken[0]}" already, where a prediction would go: rename it first')
        schema = StructType([*dataset.schema.fields, *(StructField(name, DoubleType()) for name in COLUMNS)])

        def predicted(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            set_num_threads(1)
            model = SparsePosterior.load(data)
            for batch in batches:
                values = _numbers(batch, names)
                refuse_missing(values, names, "a batch")
                found = settings.columns(model, values)
                columns = [pa.array(found[:, i]) for i in range(len(COLUMNS))]
                yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=[*batch.schema.names, *COLUMNS])

        return dataset.mapInArrow(predicted, schema)

    def write(self) -> MLWriter:
        """Writes the model with what was declared; :meth:`read` reads it."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Reads a model that was written."""
        return _Reader()

    def to_bytes(self) -> bytes:
        """The model file that ``sigmabar predict`` reads."""
        claim = {"norm_bound": self.settings.norm_bound, "noise": self.settings.noise}
        return self.posterior.save(columns=self.getInputCols(), target=self.getLabelCol(), **claim)

    def to_file(self, path: str) -> None:
        """Writes a model file that ``sigmabar predict`` reads."""
        Path(path).write_bytes(self.to_bytes())

    @classmethod
    def from_file(cls, path: str, **settings: Any) -> SparseKernelModel:
        """Reads a model file of ``sigmabar fit``, ``merge`` or :meth:`to_file`; ``settings`` are those of the claim: norm_bound, noise, delta."""
        posterior = SparsePosterior.load(Path(path).read_bytes())
        facts = posterior.facts
        if "features" not in facts or "target" not in facts:
            raise Error(f"{path} does not name its columns: save it with SparsePosterior.save(columns=..., target=...)")
        return cls(posterior, [column["name"] for column in facts["features"]], facts["target"], Settings(**settings))


class _Writer(MLWriter):  # type: ignore[misc]
    """Metadata as Spark's own stages have them, and the model file in a table of one row: both go wherever Spark can write."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        # Kernel and noise are no values that Spark could write.
        columns = {"inputCols": self.stage.getInputCols(), "labelCol": self.stage.getLabelCol()}
        DefaultParamsWriter.saveMetadata(self.stage, path, self.sc, extraMetadata={"settings": self.stage.settings.to_dict()}, paramMap=columns)
        if isinstance(self.stage, SparseKernelModel):
            row = [(bytearray(self.stage.to_bytes()),)]
            self.sparkSession.createDataFrame(row, "model binary").write.parquet(f"{path}/model")


class _Reader(MLReader):  # type: ignore[misc]
    def load(self, path: str) -> Any:
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        settings = Settings.from_dict(metadata["settings"])
        columns = metadata["paramMap"]
        if metadata["class"].endswith("." + SparseKernelModel.__name__):
            data = bytes(self.sparkSession.read.parquet(f"{path}/model").first()["model"])
            stage: Any = SparseKernelModel(SparsePosterior.load(data), columns["inputCols"], columns["labelCol"], settings)
        else:
            stage = SparseKernelRegressor(columns["inputCols"], columns["labelCol"], **settings.get_params())
        stage._resetUid(metadata["uid"])
        return stage


def _check(frame: Any, names: Sequence[str]) -> None:
    """Columns that are there, and hold numbers."""
    from pyspark.sql.types import BooleanType, NumericType

    for name in names:
        if name not in frame.columns:
            raise Error(f'the DataFrame has no column "{name}", but {", ".join(frame.columns)}')
        kind = frame.schema[name].dataType
        if not isinstance(kind, (NumericType, BooleanType)):
            raise Error(f'column "{name}" is of type {kind.simpleString()}, and numbers are needed: cast it, or leave it out')


def _partition(batches: Iterator[Any], names: Sequence[str]) -> tuple[int, Any]:
    """The number of this partition and all its rows."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise Error("Spark did not say which partition this is")
    parts = [_numbers(batch, names) for batch in batches]
    return context.partitionId(), np.concatenate(parts) if parts else np.empty((0, len(names)))


def _numbers(batch: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    # A null becomes a NaN, also among truth values.
    columns = [batch.column(batch.schema.names.index(name)).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names]
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(batch), 0))
