"""A page of OpenMetrics gauges with the figures of a watch, served only on the loopback address."""

from __future__ import annotations

from typing import Any

from unveil.errors import EngineError, MissingExtraError, reason_of
from unveil.stream.figures import WindowFigures

__all__ = ["MetricsPage"]

_HOST = "127.0.0.1"
_GAUGES = {
    "discrimination_rate": "Discrimination Rate of the key in the window",
    "k": "Records, or persons, of the smallest class in the window",
    "uniques": "Classes of one record, or person, in the window",
    "records": "Records in the window",
    "alarms": "Alarms that are raised",
    "undecided": "Rules of the policy that could not be judged",
    "windows": "Windows measured so far",
    "malformed": "Records that could not be read",
    "late": "Records that came too late",
    "share": "Share of the classes that figures are estimated from; 1 if they are exact",
}


class MetricsPage:
    """A page for a collector of metrics: ``http://127.0.0.1:PORT/metrics``."""

    def __init__(self, port: int) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise MissingExtraError.needed("a page of metrics", extra="metrics") from None
        registry = prometheus_client.CollectorRegistry()
        self._gauges: dict[str, Any] = {
            name: prometheus_client.Gauge(f"unveil_{name}", text, registry=registry) for name, text in _GAUGES.items()
        }
        self._needs = prometheus_client.Gauge("unveil_need", "Degree to which a need is served", ["need"], registry=registry)
        try:
            self._server, self._thread = prometheus_client.start_http_server(port, addr=_HOST, registry=registry)
        except OSError as error:
            raise EngineError(
                f"metrics cannot be served on port {port} of {_HOST}: {reason_of(error)}; name another port."
            ) from None
        self.port = int(self._server.server_port)

    def show(self, figures: WindowFigures) -> None:
        """Show the given figures from now on; an undefined figure is NaN."""
        values = {
            "discrimination_rate": float("nan") if figures.dr is None else figures.dr,
            "k": figures.k,
            "uniques": figures.uniques,
            "records": figures.records,
            "alarms": len(figures.alarms),
            "undecided": len(figures.undecided),
            "windows": figures.number,
            "malformed": figures.counters.get("malformed", 0),
            "late": figures.counters.get("late", 0),
            "share": 1.0 if figures.approximate is None else figures.approximate.share,
        }
        for name, value in values.items():
            self._gauges[name].set(value)
        for name, need in figures.needs.items():
            self._needs.labels(need=name).set(float("nan") if need.degree is None else need.degree)

    def close(self) -> None:
        """Stop serving the page."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)
