"""``nonoka completion``: the script by which a shell completes commands, options and session ids."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

#: What click calls the variable by which the shell asks this program for completions.
_VARIABLE = "_NONOKA_COMPLETE"


@click.command("completion", short_help="Print the script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def command(context: click.Context, *, shell: str) -> int:
    """Print the script that completes commands, options and the ids of the newest sessions.

    \b
      bash   eval "$(nonoka completion bash)"      in ~/.bashrc
      zsh    eval "$(nonoka completion zsh)"       in ~/.zshrc, after compinit
      fish   nonoka completion fish > ~/.config/fish/completions/nonoka.fish

    Needs bash 4.4 or newer. Exit status: 0.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"this click knows no completion for {shell}", context)
    # The instance that writes for bash would first start one, to see its version.
    script = kind.source_template % kind(context.find_root().command, {}, "nonoka", _VARIABLE).source_vars()
    sys.stdout.write(script.strip() + "\n")
    return 0
