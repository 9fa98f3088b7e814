"""`make materials`: docs/pbem.cdx.json, the bill of materials in the wheel (CycloneDX 1.6; PEP 770 says where).

The wheel itself contains only our own files. The bill lists the libraries that it is installed with, in the versions
of requirements-image.lock, which are those that the tests ran with. It has no time and no serial number, so that the
same lock gives the same bill.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BILL = ROOT / "docs" / "pbem.cdx.json"


def normal(requirement: str) -> str:
    """The name of a required distribution, as names are compared (PEP 503)."""
    return re.sub(r"[._-]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def locked(lock: str) -> tuple[dict[str, str], dict[str, set[str]]]:
    """The version of each distribution in a lock, and what each distribution requires."""
    versions, requires = dict[str, str](), dict[str, set[str]]()
    for block in re.split(r"(?m)^(?=[a-z0-9])", lock.strip()):
        if found := re.match(r"([a-z0-9.-]+)==([^ ;]+)", block):
            versions[found[1]] = found[2]
            for by in re.findall(r"(?m)^ +#(?: via|  ) +([a-z0-9.-]+)$", block):
                requires.setdefault(by, set()).add(found[1])
    return versions, requires


def reached(roots: set[str], requires: dict[str, set[str]]) -> set[str]:
    """These distributions, and all that they require in turn."""
    found, waiting = set[str](), set(roots)
    while waiting:
        found |= waiting
        waiting = {name for by in waiting for name in requires.get(by, ())} - found
    return found


def bill() -> str:
    """The bill of materials, as a file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions, requires = locked((ROOT / "requirements-image.lock").read_text("utf-8"))
    extras = {normal(one) for extra in project["optional-dependencies"].values() for one in extra} - {"pbem"}
    needed = {normal(one) for one in project["dependencies"]}
    # The extra of psycopg, `binary`, is a distribution of its own, which the lock says that psycopg requires.
    required, every = reached(needed, requires), reached(needed | extras, requires)
    refs = {name: f"pkg:pypi/{name}@{versions[name]}" for name in sorted(every)}
    contents = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "pbem",
                "name": "pbem",
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": ref,
                "name": name,
                "version": versions[name],
                "scope": "required" if name in required else "optional",
                "purl": ref,
            }
            for name, ref in refs.items()
        ],
        "dependencies": [
            {"ref": "pbem", "dependsOn": [refs[name] for name in sorted(needed | extras)]},
            *(
                {"ref": ref, "dependsOn": [refs[other] for other in sorted(requires.get(name, ()))]}
                for name, ref in refs.items()
            ),
        ],
    }
    return json.dumps(contents, indent=1) + "\n"


if __name__ == "__main__":
    BILL.write_text(bill(), "utf-8")
