"""The JSON Schema of a configuration file, for editors: made from the tables that read it.

Shipped as `config/tocsin.schema.json`; ``python -m tocsin.config.schema`` writes it to stdout and a
test compares the two.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from tocsin.config.tables import SOURCES, FileTables
from tocsin.config.values import NAME
from tocsin.duration import format_duration
from tocsin.trigger import Json

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Defaults as a person writes them in TOML."""

    def encode_default(self, dft: Any) -> Any:
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def json_schema() -> dict[str, Json]:
    """Draft 2020-12. A time is a string in the format date-time, which editors take for TOML's own."""
    schema: dict[str, Any] = _without_null(FileTables.model_json_schema(schema_generator=_Generator))
    definitions = schema["$defs"]
    definitions["TriggerTable"]["oneOf"] = [{"required": [source]} for source in SOURCES]
    definitions["WorkflowTable"]["oneOf"] = [{"required": ["command"]}, {"required": ["shell"]}]
    definitions["AfterTable"]["oneOf"] = [{"required": ["workflow"]}, {"required": ["trigger"]}]
    for table in ("workflows", "triggers"):
        schema["properties"][table]["propertyNames"] = {"pattern": f"^{NAME.pattern}$"}
    return {"$schema": _DIALECT, **schema}


def _without_null(schema: Any) -> Any:
    """TOML has no null: a key that is not set is left out, so nothing may say `or null`."""
    if isinstance(schema, list):
        return [_without_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _without_null(part) for key, part in schema.items() if not (key == "default" and part is None)
    }
    options = [option for option in kept.pop("anyOf", []) if option != {"type": "null"}]
    if not options:
        return kept
    return {**options[0], **kept} if len(options) == 1 else {**kept, "anyOf": options}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
