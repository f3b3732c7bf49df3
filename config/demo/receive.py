"""Print what a webhook delivered. Everything a run is told is on stdin (and in $TOCSIN_PARAMS), as JSON.

The payload comes from outside: read it as data, never put it into a shell command.
"""

import json
import sys

params = json.load(sys.stdin)
event = params["event"]
print("delivery", event["delivery_id"], "for", params["trigger_ref"])
print(json.dumps(event["raw_payload"]))
