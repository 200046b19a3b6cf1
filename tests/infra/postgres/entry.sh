#!/bin/sh
# What the official image's entry point does, as far as the stack asks for it.
set -eu
bin=$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  "$bin/initdb" --pgdata="$data" --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  "$bin/pg_ctl" --pgdata="$data" --wait --options="-c listen_addresses=" start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") "$bin/psql" -v ON_ERROR_STOP=1 --no-password --host=/var/run/postgresql --port=5432 --username=postgres --file="$file"
  done
  "$bin/pg_ctl" --pgdata="$data" --wait --mode=fast stop
fi
exec "$bin/postgres" -D "$data" -c "listen_addresses=*"
