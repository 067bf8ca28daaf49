#compdef hookline
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
