"""`Record`: `typing.NamedTuple`, defined so that importing a module with many of them costs almost nothing. Pure.

Type checkers see `typing.NamedTuple`. At run time, importing `typing` and building two dozen named tuples takes more
than half of the time that Python takes to start, and every hook is a new process. Instances behave the same:
immutable, with defaults, `_replace`, `_asdict` and `_fields`; they take a little longer to create.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    from _collections import _tuplegetter

    class Record(tuple):
        __slots__ = ()
        _fields = ()
        _field_defaults = {}

        def __init_subclass__(cls):
            own = cls.__dict__
            cls._fields = cls.__match_args__ = tuple(own.get("__annotations__", ()))
            cls._field_defaults = {name: own[name] for name in cls._fields if name in own}
            for place, name in enumerate(cls._fields):
                setattr(cls, name, _tuplegetter(place, None))

        def __new__(cls, *values, **named):
            fields, count = cls._fields, len(values)
            if not named and count == len(fields):
                return tuple.__new__(cls, values)
            if not count and tuple(named) == fields:
                return tuple.__new__(cls, named.values())
            if count != len(fields):
                others = {**cls._field_defaults, **named}
                values += tuple([others[name] for name in fields[count:] if name in others])
            if len(values) != len(fields) or (named and not named.keys() <= set(fields[count:])):
                raise TypeError(f"{cls.__name__} has the fields {fields}; got {count} values and {list(named)}")
            return tuple.__new__(cls, values)

        _make = classmethod(tuple.__new__)

        def _replace(self, **named):
            values = self._asdict()
            values.update(named)
            return type(self)(**values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            parts = ", ".join([f"{name}={value!r}" for name, value in self._asdict().items()])
            return f"{type(self).__name__}({parts})"

        def __getnewargs__(self):
            return tuple(self)


__all__ = ["Record"]
