"""Rows on Spark: the sums of a plan through Arrow, and an Estimator with its Model.

Needs ``pyspark`` and ``pyarrow``: ``pip install sigmabar[spark]``. Sums travel as rows of bytes and are added in groups, never collected leaf by leaf: a driver
refuses results above its limit. No Spark accumulator is used, which would count a retried task twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._core import Error
from ._distributed import COLUMNS, Settings, added, bytes_of, sums_of
from ._posterior import SparsePosterior
from ._rows import Accumulator, Plan, aligned, sampled, smallest
from ._threads import set_num_threads

__all__ = ["SparseKernelModel", "SparseKernelRegressor", "accumulate"]

_SUMS = "bucket long, sums binary"


def accumulate(plan: Plan, spark: Any, *, parts: int | None = None) -> Accumulator:
    """The sums of all chunks of a plan of ``sigmabar plan``, read and summed by the executors, who must see its files."""
    parts = parts if parts is not None else 4 * spark.sparkContext.defaultParallelism
    ranges = [(i, list(chunks)) for i, chunks in enumerate(aligned(len(plan), parts))]
    tasks = spark.createDataFrame(ranges, "part long, chunks array<long>").repartition(len(ranges), "part")
    data = plan.save()

    def summed(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        own = _plan(data)
        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([{"bucket": row["part"] // 8, "sums": bytes_of(own.sum(row["chunks"]))}])

    return _reduced(plan, tasks.mapInArrow(summed, _SUMS))


def _plan(data: bytes) -> Plan:
    # One thread for each task: the engine has the cores.
    set_num_threads(1)
    return Plan._from_bytes(data)


def _reduced(plan: Plan, leaves: Any) -> Accumulator:
    data = plan.save()

    def merged(table: Any) -> Any:
        import pyarrow as pa

        parts = [value.as_py() for value in table.column("sums")]
        bucket = table.column("bucket")[0].as_py()
        return pa.table({"bucket": pa.array([bucket], pa.int64()), "sums": pa.array([added(_plan(data), parts)], pa.binary())})

    rows = leaves.groupBy("bucket").applyInArrow(merged, _SUMS).collect()
    return plan.merge(sums_of(plan, bytes(row["sums"])) for row in rows)


class SparseKernelRegressor:
    """An estimator on a DataFrame: ``fit`` gives a :class:`SparseKernelModel`, whose ``transform`` adds mean, standard deviation and both ends of the interval.

    Every partition of the DataFrame is one chunk. Spark computes it again after a loss, and must find the same rows there: sort or persist a DataFrame whose
    order is left to chance. Kernel and ridge are learnt on a sample by smallest hashes unless both are given.
    """

    def __init__(self, features: Sequence[str], label: str, kernel: Any = None, tau: float | None = None, **settings: Any) -> None:
        self.features, self.label = list(features), label
        self.settings = Settings(kernel, tau, **settings)

    def fit(self, frame: Any) -> SparseKernelModel:
        """One pass to sample, one to sum."""
        names, settings = [*self.features, self.label], self.settings
        chosen = frame.select(*names)

        def draw(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            chunk, values = _partition(batches, names)
            drawn = sampled(settings.seed, settings.sample, chunk, values[:, :-1], values[:, -1])
            yield pa.RecordBatch.from_pylist([{"chunk": chunk, "rows": len(values), "drawn": json.dumps(drawn)}])

        found = chosen.mapInArrow(draw, "chunk long, rows long, drawn string").collect()
        chunks = [0] * (1 + max(row["chunk"] for row in found))
        for row in found:
            chunks[row["chunk"]] = row["rows"]
        drawn = ([tuple(row) for row in json.loads(part["drawn"])] for part in found)
        plan = settings.plan(smallest(settings.sample, drawn), chunks, "a Spark DataFrame")  # type: ignore[arg-type]
        data = plan.save()

        def summed(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            chunk, values = _partition(batches, names)
            sums = bytes_of(_plan(data).leaf(chunk, np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1])))
            yield pa.RecordBatch.from_pylist([{"bucket": chunk // 8, "sums": sums}])

        sums = _reduced(plan, chosen.mapInArrow(summed, _SUMS))
        model = SparseKernelModel(plan.model(sums), self.features, self.label, settings)
        model.sums = sums
        return model


class SparseKernelModel:
    """A fitted model: ``transform`` adds its predictions to a DataFrame, :meth:`save` and :meth:`load` keep it."""

    sums: Accumulator

    def __init__(self, posterior: SparsePosterior, features: Sequence[str], label: str, settings: Settings | None = None) -> None:
        self.posterior, self.features, self.label = posterior, list(features), label
        self.settings = settings if settings is not None else Settings()

    def transform(self, frame: Any) -> Any:
        """The DataFrame with the columns mean, std, lower and upper."""
        from pyspark.sql.types import DoubleType, StructField, StructType

        data, names, settings = self.posterior.save(), self.features, self.settings
        schema = StructType([*frame.schema.fields, *(StructField(name, DoubleType()) for name in COLUMNS)])

        def predicted(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            set_num_threads(1)
            model = SparsePosterior.load(data)
            for batch in batches:
                found = settings.columns(model, _numbers(batch, names))
                columns = [pa.array(found[:, i]) for i in range(len(COLUMNS))]
                yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=[*batch.schema.names, *COLUMNS])

        return frame.mapInArrow(predicted, schema)

    def save(self, path: str) -> None:
        """Writes a model file that ``sigmabar predict`` reads too."""
        settings = self.settings
        Path(path).write_bytes(
            self.posterior.save(columns=self.features, target=self.label, norm_bound=settings.norm_bound, noise=settings.noise)
        )

    @classmethod
    def load(cls, path: str, **settings: Any) -> SparseKernelModel:
        """Reads a model file, of this or of ``sigmabar fit`` and ``merge``; ``settings`` are those of the claim: norm_bound, noise, delta."""
        posterior = SparsePosterior.load(Path(path).read_bytes())
        facts = posterior.facts
        if "features" not in facts:
            raise Error(f"{path} does not name its columns: save it with SparsePosterior.save(columns=..., target=...)")
        return cls(posterior, [column["name"] for column in facts["features"]], facts["target"], Settings(**settings))


def _partition(batches: Iterator[Any], names: Sequence[str]) -> tuple[int, Any]:
    """The number of this partition and all its rows."""
    from pyspark import TaskContext

    context = TaskContext.get()
    chunk = context.partitionId() if context is not None else 0
    parts = [_numbers(batch, names) for batch in batches]
    return chunk, np.concatenate(parts) if parts else np.empty((0, len(names)))


def _numbers(batch: Any, names: Sequence[str]) -> Any:
    columns = [np.asarray(batch.column(batch.schema.names.index(name)).to_numpy(zero_copy_only=False), dtype=np.float64) for name in names]
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(batch), 0))
