"""Objects that Java wrote: their fields as plain values, without any of their classes.

The format is Java's object serialization stream protocol, version 5. Nothing is executed: an object becomes its class name, its
fields and the data that its class wrote beside them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["JavaObject", "JavaStreamError", "reachable", "read_objects"]

_MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS_DESCRIPTION, _OBJECT, _STRING, _ARRAY, _CLASS, _BLOCK, _END, _RESET, _LONG_BLOCK = range(0x70, 0x7B)
_LONG_STRING, _PROXY, _ENUM = 0x7C, 0x7D, 0x7E
_FIRST_HANDLE = 0x7E0000
_WRITES, _SERIALIZABLE, _EXTERNALIZABLE, _IN_BLOCKS = 1, 2, 4, 8
_PRIMITIVES = {"B": ">b", "C": ">H", "D": ">d", "F": ">f", "I": ">i", "J": ">q", "S": ">h", "Z": ">?"}


class JavaStreamError(ValueError):
    """A stream that does not hold Java objects, is cut off, or holds data that only its own class could read."""


@dataclass(slots=True, eq=False)
class JavaObject:
    """An object: its class, its fields by name, including those of its base classes, and the other data that it wrote."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    written: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Description:
    name: str
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    parent: _Description | None = None

    def chain(self) -> Iterator[_Description]:
        """Yield the classes from the first ancestor to this one."""
        if self.parent is not None:
            yield from self.parent.chain()
        yield self


class _End:
    """The end of the data that an object wrote beside its fields."""


_DONE = _End()


def read_objects(content: bytes) -> list[Any]:
    """Return the objects of a stream.

    Raises
    ------
    JavaStreamError
        If it is not such a stream, or cannot be read to its end.
    """
    if not content.startswith(_MAGIC):
        raise JavaStreamError("this is not a stream of Java objects")
    reader = _Reader(content)
    try:
        objects = []
        while reader.at < len(content):
            objects.append(reader.value())
    except (struct.error, IndexError, UnicodeDecodeError):
        raise JavaStreamError("the stream of Java objects is damaged or cut off") from None
    except RecursionError:
        raise JavaStreamError("the Java objects are nested too deeply") from None
    return objects


def reachable(value: Any) -> Iterator[JavaObject]:
    """Yield every object that can be reached from a value, each once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, JavaObject):
            yield one
            waiting += [*one.fields.values(), *one.written]
        elif isinstance(one, list):
            waiting += one


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, len(_MAGIC)
        self.handles: list[Any] = []

    def value(self) -> Any:
        """Return the next value."""
        kind = self._byte()
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            return self.handles[self._number(">i") - _FIRST_HANDLE]
        if kind == _END:
            return _DONE
        if kind == _RESET:
            self.handles.clear()
            return None
        readers: dict[int, Callable[[], Any]] = {
            _CLASS_DESCRIPTION: self._described, _OBJECT: self._object, _ARRAY: self._array, _ENUM: self._enum,
            _STRING: lambda: self._kept(self._text(self._number(">H"))),
            _LONG_STRING: lambda: self._kept(self._text(self._number(">q"))),
            _BLOCK: lambda: self._bytes(self._byte()), _LONG_BLOCK: lambda: self._bytes(self._number(">i")),
            _CLASS: lambda: self._kept(self._description()),
        }  # fmt: skip
        if kind not in readers:
            raise JavaStreamError("the stream holds what only Java could read")
        return readers[kind]()

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        if length < 0 or self.at + length > len(self.content):
            raise JavaStreamError("the stream of Java objects is damaged or cut off")
        self.at += length
        return self.content[self.at - length : self.at]

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _text(self, length: int) -> str:
        return self._bytes(length).replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")

    def _kept(self, value: Any) -> Any:
        self.handles.append(value)
        return value

    def _description(self) -> _Description | None:
        description = self.value()
        if description is not None and not isinstance(description, _Description):
            raise JavaStreamError("the stream of Java objects is damaged")
        return description

    def _described(self) -> _Description:
        description = _Description(self._text(self._number(">H")))
        self._bytes(8)
        self.handles.append(description)
        description.flags = self._byte()
        for _ in range(self._number(">H")):
            kind, name = chr(self._byte()), self._text(self._number(">H"))
            if kind in "[L":
                self.value()
            description.fields.append((kind, name))
        self._written()
        description.parent = self._description()
        return description

    def _object(self) -> JavaObject:
        description = self._description()
        if description is None:
            raise JavaStreamError("the stream of Java objects is damaged")
        instance: JavaObject = self._kept(JavaObject(description.name))
        for one in description.chain():
            if one.flags & _EXTERNALIZABLE and not one.flags & _IN_BLOCKS:
                raise JavaStreamError("the stream holds what only Java could read")
            if one.flags & _SERIALIZABLE:
                for kind, name in one.fields:
                    instance.fields[name] = self._field(kind)
            if one.flags & (_WRITES | _EXTERNALIZABLE):
                instance.written += self._written()
        return instance

    def _field(self, kind: str) -> Any:
        if kind in "[L":
            return self.value()
        if kind not in _PRIMITIVES:
            raise JavaStreamError("the stream of Java objects is damaged")
        return self._number(_PRIMITIVES[kind])

    def _array(self) -> list[Any] | tuple[Any, ...]:
        description = self._description()
        items: list[Any] = self._kept([])
        length, kind = self._number(">i"), description.name[1:2] if description else ""
        if kind in _PRIMITIVES:
            form = _PRIMITIVES[kind][1]
            items += struct.unpack(f">{length}{form}", self._bytes(length * struct.calcsize(f">{form}")))
        else:
            items += [self.value() for _ in range(length)]
        return items

    def _enum(self) -> str:
        self._description()
        place = len(self.handles)
        self.handles.append(None)
        self.handles[place] = str(self.value())
        return str(self.handles[place])

    def _written(self) -> list[Any]:
        """Return everything written up to the end of an object's own data."""
        values: list[Any] = []
        while (one := self.value()) is not _DONE:
            values.append(one)
        return values
