"""CPU, memory and GPU of the machine while a training is alive, by MLflow's own monitor."""

from typing import Any

from plumbline.tracking import spool

STAGES = ("train", "control")
INTERVAL_S = 5


class SystemMonitors:
    """One monitor for each training that is alive and that MLflow knows."""

    def __init__(self) -> None:
        self._monitors: dict[str, Any] = {}

    def follow(self) -> None:
        """Start monitors of trainings that began, and end those of trainings that ended."""
        from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

        alive = _list_alive_runs()
        for run_id in self._monitors.keys() - alive:
            self._monitors.pop(run_id).finish()
        for run_id in alive - self._monitors.keys():
            monitor = SystemMetricsMonitor(run_id, sampling_interval=INTERVAL_S)
            monitor.start()
            self._monitors[run_id] = monitor


def _list_alive_runs() -> set[str]:
    ids = set()
    for folder in spool.list_passes():
        for run in spool.list_runs(folder):
            run_id = spool.read_record(run.folder / spool.DELIVERED).get("run_id")
            if run_id and run.describe()["stage"] in STAGES and run.is_alive():
                ids.add(str(run_id))
    return ids
