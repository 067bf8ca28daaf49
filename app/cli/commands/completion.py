"""`hookline completion`: the script with which a shell completes hookline's command lines.

Each script asks `hookline --complete` at each Tab (see `app/cli/complete.py`), so it needs no update.
"""

from __future__ import annotations

import argparse

from app.cli.command import Commands
from app.cli.output import Output
from app.core.files import resource

HELP = "print the script that completes hookline's commands in a shell"
DETAILS = (
    f"{HELP}: commands, options, settings, slugs, IDs, files. The packages for Linux install it for bash, zsh and fish."
)
EXAMPLES = (
    ("bash: add this line to ~/.bashrc", 'eval "$(hookline completion bash)"'),
    ("zsh: add this line to ~/.zshrc, after compinit", 'eval "$(hookline completion zsh)"'),
    ("fish: save it once", "hookline completion fish > ~/.config/fish/completions/hookline.fish"),
    ("PowerShell: add this line to $PROFILE", "hookline completion powershell | Out-String | Invoke-Expression"),
)
SCRIPTS = {"bash": "hookline.bash", "zsh": "hookline.zsh", "fish": "hookline.fish", "powershell": "hookline.ps1"}
"""Files in `resources/completion/`, by shell."""


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("completion", HELP, DETAILS, EXAMPLES, run_alone=write_script)
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help=", ".join(SCRIPTS))


def write_script(options: argparse.Namespace, out: Output) -> None:
    script = script_of(options.shell)
    if out.as_json:
        out.json({"script": script})
    else:
        out.out.write(script)


def script_of(shell: str) -> str:
    return resource(f"completion/{SCRIPTS[shell]}").read_text("utf-8")
