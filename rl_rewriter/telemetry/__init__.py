"""Tells other systems of decisions: spans of OpenTelemetry, metrics of Prometheus."""
