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

try:
    _settings = load_settings(Path.cwd(), os.environ)
except NonokaError as error:
    sys.exit(f"nonoka: error: {error}")

set_up_logging(_settings.log_level)
broker, life = worker_broker(_settings)
dramatiq.set_broker(broker)
