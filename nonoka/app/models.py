"""The models, for who asks whether one could be used before there is a store."""

from __future__ import annotations

import os

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.ports.model import Models


def model_catalog() -> Models:
    """The models by the environment of this process."""
    return ModelCatalog(os.environ)
