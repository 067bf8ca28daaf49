"""`hookline completion`: the script with which a shell completes hookline's command lines.

Each script asks `hookline --complete` at each Tab (see `app/cli/complete.py`), so it needs no update.
"""

from __future__ import annotations

import argparse

from app.cli.command import Commands
from app.cli.output import Output

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
SCRIPTS = {
    "bash": r"""# Completion of hookline for bash.
_hookline() {
  local IFS=$'\n' program="${COMP_WORDS[0]/#\~/$HOME}" line="${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=($("$program" --complete "$line" "$2" 2>/dev/null </dev/null | cut -f 1))
  case ${COMPREPLY[0]} in
    :file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
    :folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
  esac
}
complete -F _hookline hookline
""",
    "zsh": r"""#compdef hookline
# Completion of hookline for zsh.
_hookline() {
  local program="${(Q)words[1]/#\~/$HOME}" line="${(j: :)words[1,CURRENT-1]} $PREFIX"
  local -a found=("${(@f)$("$program" --complete "$line" 2>/dev/null </dev/null)}")
  case $found[1] in
    '') return 1 ;;
    :file) compset -P '--*='; _files ;;
    :folder) compset -P '--*='; _files -/ ;;
    *)
      found=("${(@)found//:/\\:}")
      found=("${(@)found/$'\t'/:}")
      _describe hookline found
      ;;
  esac
}
if [[ $funcstack[1] == _hookline ]]; then _hookline "$@"; else compdef _hookline hookline; fi
""",
    "fish": r"""# Completion of hookline for fish.
function __hookline_complete
  set -l program (commandline -opc)[1]
  set -l found ($program --complete (commandline -cp | string collect) 2>/dev/null </dev/null)
  switch "$found[1]"
    case :file
      __fish_complete_path (commandline -ct)
    case :folder
      __fish_complete_directories (commandline -ct)
    case '*'
      printf '%s\n' $found
  end
end
complete -c hookline -f -a '(__hookline_complete)'
""",
    "powershell": r"""# Completion of hookline for PowerShell.
Register-ArgumentCompleter -Native -CommandName hookline -ScriptBlock {
  param($word, $command, $cursor)
  $texts = 'StringConstantExpressionAst', 'ExpandableStringExpressionAst'
  $words = @($command.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object {
    if ($texts -contains $_.GetType().Name) { $_.Value } else { "$_" }
  })
  # Before version 7.3 a program does not get a double quote as it is.
  $words = @($words) + $word.Trim("'`"") | ForEach-Object { $_.Replace('"', '') }
  $line = ($words | ForEach-Object { "'" + $_.Replace("'", "'\''") + "'" }) -join ' '
  $code = Get-Variable LASTEXITCODE -Scope Global -ValueOnly -ErrorAction Ignore
  & $words[0] --complete $line 2>$null | ForEach-Object {
    $name, $meaning = $_ -split "`t", 2
    if ($name -notlike ':*') {
      if (-not $meaning) { $meaning = $name }
      $typed = if ($name -match "[^\w./:=+-]") { "'" + $name.Replace("'", "''") + "'" } else { $name }
      [System.Management.Automation.CompletionResult]::new($typed, $name, 'ParameterValue', $meaning)
    }
  }
  $global:LASTEXITCODE = $code
}
""",
}
"""By shell."""


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("completion", HELP, DETAILS, EXAMPLES, run_alone=write_script)
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SCRIPTS), help=", ".join(SCRIPTS))


def write_script(options: argparse.Namespace, out: Output) -> None:
    script = SCRIPTS[options.shell]
    if out.as_json:
        out.json({"script": script})
    else:
        out.out.write(script)
