#!/bin/sh
# Runs a command with the secrets of /run/secrets in its environment: a file named as variables are becomes that variable.
# So no secret is in the image, in the compose file, in `inspect`, or in an argument list. Other files are read by name.
set -eu
for file in /run/secrets/*; do
  name=${file##*/}
  case $name in
    *[!A-Z0-9_]* | '') ;;
    *)
      value=$(cat "$file")
      export "$name=$value"
      ;;
  esac
done
exec "$@"
