#!/bin/sh
# Makes a password for each user of the database, in the folder `secrets`, unless there is one: NAME.password for who
# creates the user, NAME.conf (a service file of PostgreSQL) for who connects as the user.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets
umask 022  # users in containers have other numbers, and read these files as others do
for name in postgres capture worker; do
    [ ! -s "secrets/$name.conf" ] || continue
    password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    printf '%s' "$password" >"secrets/$name.password"
    # TLS is off: the network between these containers is theirs alone.
    printf '[team]\nhost=postgres\ndbname=team\nuser=%s\npassword=%s\nsslmode=disable\n' "$name" "$password" \
        >"secrets/$name.conf"
done
