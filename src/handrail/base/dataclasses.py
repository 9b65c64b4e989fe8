"""`dataclass`: that of the standard library, which works on a frozen class only when the class is first used. Pure.

Type checkers see `dataclasses`. At run time, the standard library takes half a millisecond to read the fields of a
frozen class and to compile six methods, and a command imports up to 200 such classes. Here, `__init__` is compiled for
the first instance, and the other methods are shared. Classes that are not frozen are those of the standard library.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    import dataclasses
    from _thread import RLock
    from dataclasses import MISSING, FrozenInstanceError, asdict, field, fields, replace
    from functools import cache, partial
    from operator import attrgetter

    @cache
    def dataclass(cls=None, /, *, frozen=False, **options):
        if frozen:
            return partial(_frozen, fields=_Fields(options))
        return dataclasses.dataclass(cls, **options)

    def _frozen(cls, fields):
        cls.__dataclass_fields__ = fields
        for name, method in _METHODS:
            if name not in cls.__dict__:
                setattr(cls, name, method)
        return cls

    class _Fields:
        """Stands for `__dataclass_fields__` until a class is first used."""

        def __init__(self, options):
            self.options = options

        def __get__(self, _, cls):
            with _LOCK:
                for one in reversed(cls.__mro__):
                    if one.__dict__.get("__dataclass_fields__") is self:
                        dataclasses.dataclass(one, init=False, repr=False, eq=False, **self.options)
            return cls.__dataclass_fields__

    _LOCK = RLock()

    class _Shared:
        def __init__(self, *values, **named):
            cls = next(one for one in type(self).__mro__ if one.__dict__.get("__init__") is _Shared.__init__)
            cls.__init__ = _compiled(fields(cls))
            cls.__init__(self, *values, **named)

        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            compared = _compared(self.__class__)
            return compared(self) == compared(other)

        def __hash__(self):
            return hash(_compared(self.__class__)(self))

        def __repr__(self):
            parts = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
            return f"{type(self).__qualname__}({', '.join(parts)})"

        def __setattr__(self, name, value):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")

    _METHODS = [(name, method) for name, method in vars(_Shared).items() if callable(method)]

    @cache
    def _compared(cls):
        """Reads the compared fields of an instance as a tuple."""
        names = [one.name for one in fields(cls) if one.compare]
        if len(names) > 1:
            return attrgetter(*names)
        return lambda self: tuple([getattr(self, name) for name in names])

    def _compiled(fields):
        """An `__init__` that sets these fields."""
        namespace = {"MISSING": MISSING}
        heads = {False: ["self"], True: []}
        lines = [" _values = self.__dict__"]  # twice as fast as `object.__setattr__` for each field
        for one in fields:
            head, value = one.name, one.name
            if one.default is not MISSING:
                namespace[f"_default_{one.name}"] = one.default
                head += f"=_default_{one.name}"
            elif one.default_factory is not MISSING:
                namespace[f"_make_{one.name}"] = one.default_factory
                head += "=MISSING"
                value = f"_make_{one.name}() if {one.name} is MISSING else {one.name}"
            heads[one.kw_only].append(head)
            lines.append(f" _values[{one.name!r}] = {value}")
        positional = ", ".join([*heads[False], *(["*", *heads[True]] if heads[True] else [])])
        exec(f"def __init__({positional}):\n" + "\n".join(lines), namespace)  # noqa: S102
        return namespace["__init__"]


__all__ = ["asdict", "dataclass", "field", "fields", "replace"]
