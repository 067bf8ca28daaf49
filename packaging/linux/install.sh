#!/bin/sh
# Installs Hookline for the user who runs this, into ~/.local, or takes it away again. Never touches captured requests.
set -eu

usage="usage: ./install.sh [--uninstall]"
fail() { echo "install.sh: $*" >&2; exit 1; }

[ -n "${HOME:-}" ] || fail "HOME is not set, so there is no place to install to."
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
lib=$HOME/.local/lib/hookline
program=$HOME/.local/bin/hookline
share=${XDG_DATA_HOME:-$HOME/.local/share}
list=$lib/installed-files

# Removes every file that an earlier run noted, and the folders that are empty then.
remove_noted() {
    [ -f "$list" ] || return 0
    while IFS= read -r file; do
        rm -f -- "$file"
        # From within, so that the folder of all data stays, empty or not.
        case $file in
            "$share"/*/*) (cd -- "$share" && rmdir -p -- "$(dirname -- "${file#"$share"/}")" 2>/dev/null) || : ;;
        esac
    done <"$list"
}

# Desktop environments keep lists of what opens which links, and some of icons: those only where there is one already.
refresh() {
    if command -v update-desktop-database >/dev/null; then update-desktop-database -q "$share/applications" || :; fi
    if [ -f "$share/icons/hicolor/icon-theme.cache" ] && command -v gtk-update-icon-cache >/dev/null; then
        gtk-update-icon-cache -q -t "$share/icons/hicolor" || :
    fi
}

uninstall() {
    [ -d "$lib" ] || fail "Hookline is not installed in $lib."
    remove_noted
    if [ "$(readlink -- "$program" || :)" = "$lib/hookline" ]; then rm -f -- "$program"; fi
    for entry in "$lib"/* "$lib"/.[!.]*; do
        case ${entry##*/} in hookline-data | hookline.portable) ;; *) rm -rf -- "$entry" ;; esac
    done
    rmdir -- "$lib" 2>/dev/null || echo "Kept: $lib holds the data of a portable Hookline."
    refresh
    echo "Hookline is uninstalled. The requests it has kept are still where they were."
}

# Copies one file of share/ and notes it. The menu entry names the program with its folder: ~/.local/bin may not be on
# the desktop's PATH.
install_shared() {
    target=$share/$1
    mkdir -p -- "$(dirname -- "$target")"
    if [ "${1##*.}" = desktop ]; then
        # Escaped for the quotes, once more as every string of a desktop entry, and then for sed.
        exec_path=$(printf '%s' "$lib/hookline" |
            sed -e 's/\\/\\\\\\\\/g' -e 's/["`$]/\\\\&/g' -e 's/%/%%/g' -e 's/[&|\\]/\\&/g')
        sed -e "s|^Exec=hookline|Exec=\"$exec_path\"|" -e '/^TryExec=/d' "$here/share/$1" >"$target"
    else
        cp -- "$here/share/$1" "$target"
    fi
    printf '%s\n' "$target" >>"$list.new"
}

install() {
    [ -x "$here/hookline" ] && [ -d "$here/_internal" ] || fail "$here does not hold the whole of Hookline. Unpack it again."
    # Whatever links lead to it.
    [ "$(cd -- "$here" && pwd -P)" != "$(cd -- "$lib" 2>/dev/null && pwd -P)" ] || fail "this is the installed Hookline. Run install.sh from the folder you unpacked."
    if [ -e "$program" ] && [ ! -L "$program" ]; then fail "$program is not a link to Hookline; move it away first."; fi
    mkdir -p -- "$lib" "$(dirname -- "$program")"
    # Copied beside the old ones first: a full disk leaves the old program as it was.
    rm -rf -- "$lib/.new" "$lib/.old"
    mkdir -- "$lib/.new" "$lib/.old"
    for name in hookline _internal LICENSE THIRD-PARTY-LICENCES.txt install.sh; do
        cp -R -- "$here/$name" "$lib/.new/$name"
    done
    for name in hookline _internal LICENSE THIRD-PARTY-LICENCES.txt install.sh; do
        if [ -e "$lib/$name" ]; then mv -- "$lib/$name" "$lib/.old/$name"; fi
        mv -- "$lib/.new/$name" "$lib/$name"
    done
    remove_noted
    : >"$list.new"
    (cd -- "$here/share" && find . -type f) | sed 's|^\./||' | while IFS= read -r file; do install_shared "$file"; done
    mv -- "$list.new" "$list"
    rm -rf -- "$lib/.new" "$lib/.old"
    ln -sf -- "$lib/hookline" "$program"
    refresh
    echo "Hookline is installed. Start it from the menu, or by: $program"
    case ":${PATH:-}:" in *":$HOME/.local/bin:"*) ;; *) echo "($HOME/.local/bin is not on your PATH.)" ;; esac
}

case ${1-} in
    "") install ;;
    --uninstall) uninstall ;;
    -h | --help) echo "$usage" ;;
    *) echo "$usage" >&2; exit 2 ;;
esac
