#!/usr/bin/env bash
# Puts the certificate in CERTIFICATE (PKCS 12, base64; its password in CERTIFICATE_PASSWORD) into the keychain $1, which it
# makes, so that codesign finds it without asking. For a runner: the keychain stays unlocked for six hours.
set -euo pipefail
keychain=$1
password=$(uuidgen)
file=$(mktemp)
trap 'rm -f "$file"' EXIT
printf '%s' "$CERTIFICATE" | base64 --decode > "$file"
security create-keychain -p "$password" "$keychain"
security set-keychain-settings -lut 21600 "$keychain"
security unlock-keychain -p "$password" "$keychain"
security import "$file" -P "$CERTIFICATE_PASSWORD" -f pkcs12 -k "$keychain" -T /usr/bin/codesign
security set-key-partition-list -S apple-tool:,apple:,codesign: -s -k "$password" "$keychain" > /dev/null
security list-keychains -d user -s "$keychain" login.keychain-db
