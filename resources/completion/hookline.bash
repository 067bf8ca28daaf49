# Completion of hookline for bash.
_hookline() {
  local IFS=$'\n' program="${COMP_WORDS[0]/#\~/$HOME}" line="${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=($("$program" --complete "$line" "$2" 2>/dev/null </dev/null | cut -f 1))
  case ${COMPREPLY[0]} in
    :file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
    :folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
  esac
}
complete -F _hookline hookline
