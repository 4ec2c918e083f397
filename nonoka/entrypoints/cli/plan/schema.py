"""``nonoka plan schema``: the JSON Schema of plan files."""

from __future__ import annotations

import click

from nonoka.agents.plan_document import plan_schema
from nonoka.entrypoints.cli.json_output import write_json


@click.command("schema", short_help="Print the JSON Schema of plan files.")
def command() -> int:
    """Print the JSON Schema of plan files, for editors and other programs.

    Editors that speak the YAML language server's protocol heed it from a file's first line:

    \b
      nonoka plan schema > plan.schema.json
      # yaml-language-server: $schema=plan.schema.json

    Exit status: 0.
    """
    write_json(plan_schema(), indent=2)
    return 0
