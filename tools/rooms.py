"""Reads cmake/ORDER: the rooms, their folders and what each may include.

Called by check_layers, check_tests and room_index. Read next: cmake/ORDER.
"""

from dataclasses import dataclass
from pathlib import Path

from lint import ROOT

SOURCE_ENDINGS = (".h", ".cc")


@dataclass(frozen=True)
class Room:
    """One line of cmake/ORDER; `may_include` holds names of rooms."""

    level: int
    name: str
    folder: str
    may_include: tuple[str, ...]
    holds: str


def read_order(root: Path = ROOT) -> dict[str, Room]:
    """The rooms by name, in the file's order. Raises ValueError for a line that breaks the rules."""
    rooms: dict[str, Room] = {}
    path = root / "cmake" / "ORDER"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 5:
            raise ValueError(f"{path}:{number}: expected 5 fields, found {len(fields)}")
        level, name, folder, includes, holds = fields
        room = Room(int(level), name, folder, tuple(includes.split()), holds)
        for other in room.may_include:
            if other not in rooms or rooms[other].level >= room.level:
                raise ValueError(
                    f"{path}:{number}: {name} (level {level}) may not include {other}: no lower room"
                )
        rooms[name] = room
    return rooms


def source_files(folder: Path) -> list[Path]:
    """All C++ files below a folder, sorted; none when the folder is not there."""
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCE_ENDINGS)
