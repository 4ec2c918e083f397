"""The queue between processes: Dramatiq's on a Redis. Loaded only where ``NONOKA_REDIS_URL`` is set."""
