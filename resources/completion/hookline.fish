# Completion of hookline for fish.
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
