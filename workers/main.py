"""The module that ``dramatiq workers.main`` loads: its broker, by this process's settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import dramatiq

from nonoka.errors import NonokaError
from nonoka.settings import load_settings
from workers.broker import worker_broker
from workers.logs import set_up_logging
from workers.middleware import EXIT_UNUSABLE

try:
    _settings = load_settings(Path.cwd(), os.environ)
    broker, life = worker_broker(_settings)
except NonokaError as error:
    print(f"nonoka: error: {error}", file=sys.stderr)  # noqa: T201
    sys.exit(EXIT_UNUSABLE)

set_up_logging(_settings.log_level)
dramatiq.set_broker(broker)
