"""Count the bytes and lines of the file named on the command line (a folder watch filled the name in).

What is appended to $TOCSIN_OUTPUT, one JSON object a line, becomes the run's result.
"""

import json
import os
import sys
from pathlib import Path

content = Path(sys.argv[1]).read_bytes()
result = {"bytes": len(content), "lines": content.count(b"\n")}
print(sys.argv[1], result)
with Path(os.environ["TOCSIN_OUTPUT"]).open("a", encoding="utf-8") as output:
    output.write(json.dumps(result) + "\n")
