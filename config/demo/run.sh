#!/bin/sh
# Called by `make run` at the top of the repository: applies config/tocsin.toml to the home .tocsin,
# says what to try, then becomes the engine.
set -eu

export TOCSIN_HOME=.tocsin TOCSIN_CONFIG=config/tocsin.toml
tocsin=.venv/bin/tocsin

if "$tocsin" status --json | grep -q '"running": true'; then
  echo "an engine is running on .tocsin already; TOCSIN_HOME=.tocsin $tocsin down stops it" >&2
  exit 5
fi
(umask 077 && mkdir -p .tocsin/inbox)
said=$("$tocsin" apply --yes 2>&1) || { echo "$said" >&2; exit 1; }
url=$("$tocsin" url hook)

cat <<TRY

  Runs every 15 seconds by itself: tick. To try in another terminal, in this folder:

    cp README.md .tocsin/inbox/
    curl -sS -H 'X-Delivery: $(.venv/bin/python -c 'import uuid; print(uuid.uuid4())')' -H 'Content-Type: application/json' -d '{"hello": "world"}' $url
    TOCSIN_HOME=.tocsin .venv/bin/tocsin events

  The same curl line again is answered as a duplicate: nothing runs twice for one delivery.
  Ctrl-C lets running commands end, then stops.

TRY
exec .venv/bin/python config/demo/foreground.py "$tocsin" up
