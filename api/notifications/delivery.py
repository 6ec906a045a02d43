"""Delivers a notification to one target through Apprise; notifier, CLI.

The log of Apprise names hosts and URLs, so it is never written: of a failure, only the HTTP status is reported.
"""

from __future__ import annotations

import logging
import re
import warnings

from podium.api.notifications.notification_target_file import Target
from podium.sweep.values.errors import MissingExtraError, ServiceError

FEATURE = "podium serve --notify"
_STATUS = re.compile(r"\berror=(\d{3})\b")
_LOGS_WITH_URLS = ("apprise", "urllib3")


class DeliveryError(Exception):
    """A target did not take a notification. The message has no secrets."""


class Delivery:
    """Sends to one target; one call at a time."""

    def __init__(self, target: Target) -> None:
        """Raises `MissingExtraError`, and `ServiceError` if Apprise does not know the URL."""
        self.target = target
        for name in _LOGS_WITH_URLS:
            logging.getLogger(name).propagate = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from modules that Apprise imports
            try:
                import apprise
            except ImportError as error:
                raise MissingExtraError(FEATURE, "notify") from error
            plugin = apprise.Apprise.instantiate(target.url, suppress_exceptions=True)
        self._apprise = apprise
        if plugin is None:
            raise ServiceError(f"--notify, {target.name}: Apprise knows no such service, or the URL is incomplete")
        self._sender = apprise.Apprise()
        self._sender.add(plugin)

    def send(self, title: str, body: str, *, failure: bool = False) -> None:
        """Send a text. Raises `DeliveryError`."""
        kind = self._apprise.NotifyType.FAILURE if failure else self._apprise.NotifyType.INFO
        try:
            result = self._sender.notify(
                body, title, notify_type=kind, body_format=self._apprise.NotifyFormat.TEXT, interpret_escapes=False
            )
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, with the URL in its message
            raise DeliveryError(f"not delivered: {type(error).__name__}") from None
        if not result:
            statuses = [match[1] for entry in result.logs() if (match := _STATUS.search(str(entry)))]
            reason = f"HTTP status {statuses[-1]}" if statuses else "no answer in time, or refused"
            raise DeliveryError(f"not delivered: {reason}")
