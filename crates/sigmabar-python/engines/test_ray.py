import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")

import sigmabar as sb
import sigmabar.ray
from conftest import ROWS, deadly, example


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_the_same_bytes(plan, one_process, cluster):
    sums = sb.ray.accumulate(plan)
    assert sums.rows == ROWS
    assert plan.model_bytes(sums) == one_process


def test_extended_as_the_command_does(plan, extended, cluster):
    more = plan.extend(sb.ray.accumulate(plan))
    assert more.save() == extended[0]
    assert more.model_bytes(sb.ray.accumulate(more)) == extended[1]


def test_an_executor_of_tasks(cluster):
    with sb.ray.Executor() as executor:
        assert list(executor.map(abs, [-1, 2, -3])) == [1, 2, 3]
        assert isinstance(executor.submit(divmod, 1, 0).exception(timeout=60), ZeroDivisionError)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, -1)


def test_what_kills_its_worker_is_called_once(cluster, tmp_path):
    log = tmp_path / "log"
    with sb.ray.Executor(num_cpus=1) as executor:
        calls = [executor.submit(deadly(log), x) for x in (1, 2)]
        assert calls[0].result(timeout=60) == 1
        assert isinstance(calls[1].exception(timeout=60), ray.exceptions.WorkerCrashedError)
    assert sorted(log.read_text().split()) == ["1", "2"]
    with pytest.raises(sb.Error, match="max_retries must be 0"):
        sb.ray.Executor(max_retries=3)


def test_the_example_of_the_book(cluster, here):
    names = {"evaluate": abs}
    exec(example("ray"), names)
    assert len(names["model"]) == ROWS and names["values"] == [0.1, 0.2, 0.3]
