"""The settings as a file in the data folder, written atomically."""

from __future__ import annotations

import contextlib
from pathlib import Path
from shutil import disk_usage

import msgspec

from app.core.errors import DataFolderError
from app.core.settings import Settings, check, field_of, first_storage_limit
from app.data_folder import private_file
from hookline.decoding import convert

FILE_NAME = "settings.json"


def load(folder: Path) -> Settings:
    """The settings in `folder`, or the defaults when there is no file; DataFolderError naming key and value if one is
    invalid."""
    return _settings(folder / FILE_NAME, _read(folder))


def with_storage_limit(folder: Path, settings: Settings, used: int) -> Settings:
    """The settings with a storage limit, which is chosen and saved at the first start, when the file has none yet.

    `used` is how many bytes the store takes already.
    """
    if "storage_limit" not in _read(folder):
        limit = first_storage_limit(disk_usage(folder).free, used)
        settings = msgspec.structs.replace(settings, storage_limit=limit)
        with contextlib.suppress(DataFolderError):  # if it cannot be saved now, it is chosen again at the next start
            save(folder, settings)
    return settings


def _read(folder: Path) -> dict[str, object]:
    file = folder / FILE_NAME
    text = private_file.read(file)
    if text is None:
        return {}
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _bad(file, f"it is not JSON ({error})") from error
    if not isinstance(given, dict):
        raise _bad(file, "it must hold one JSON object")
    return given


def save(folder: Path, settings: Settings) -> None:
    """Save the settings; DataFolderError when that fails, and the old file stays."""
    private_file.save(folder / FILE_NAME, settings)


def _settings(file: Path, given: dict[str, object]) -> Settings:
    for key, value in given.items():
        if key not in Settings.__struct_fields__:
            raise _bad(file, f"there is no setting {key!r} (its value is {value!r})")
    # All at once, because the ports have to differ from each other, not from the defaults.
    numbers = {key: value for key, value in given.items() if isinstance(value, int) and field_of(key).low is not None}
    for broken in check(msgspec.structs.replace(Settings(), **numbers)):
        raise _bad(file, f"{broken.field}: {broken.message.rstrip('.')}")
    for key, value in given.items():
        try:
            convert({key: value}, Settings)  # one at a time, so that the message can name it
        except msgspec.ValidationError as error:
            text = str(error).split(" - at ")[0]
            raise _bad(file, f"{key} is {value!r}: {text}") from error
    return convert(given, Settings)


def _bad(file: Path, what: str) -> DataFolderError:
    return DataFolderError(f"{file} cannot be used: {what}. Correct that line, or delete the file.", file.parent)
