#!/bin/sh
# Make the passwords that compose.yaml reads, once: what is there already stays as it is.
set -eu

folder=$(dirname -- "$0")/secrets

new_password() {
  od -An -N 24 -t x1 /dev/urandom | tr -d ' \n'
}

# Nobody else on this machine enters the folder; in a container the one file that is mounted must be readable.
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

for name in postgres_password grafana_password; do
  [ -s "$folder/$name" ] || new_password >"$folder/$name"
done
printf 'postgresql://tocsin:%s@postgres:5432/tocsin' "$(cat "$folder/postgres_password")" >"$folder/database_url"

echo "The passwords are in $folder; Grafana's is for the user admin."
