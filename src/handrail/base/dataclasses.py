"""`dataclass`: that of the standard library, with methods that are made when they are needed. Pure.

Type checkers see `dataclasses`. At run time, the standard library writes and compiles six methods for each frozen
class, which is a third of the time that `handrail run` takes to start. Here, `__init__` is compiled when a class gets
its first instance, and the other methods are shared. Classes that are not frozen are those of the standard library.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    import dataclasses
    from dataclasses import MISSING, FrozenInstanceError, asdict, field, fields, replace
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, **options):
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, **options)
        if not frozen:
            return dataclasses.dataclass(cls, **options)
        cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
        cls._compared = _reader([one.name for one in fields(cls) if one.compare])
        cls.__init__ = _compiled_when_called(cls)
        for name in _METHODS - cls.__dict__.keys():
            setattr(cls, name, getattr(_Shared, name))
        return cls

    class _Shared:
        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self._compared(self) == self._compared(other)

        def __hash__(self):
            return hash(self._compared(self))

        def __repr__(self):
            shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
            return f"{type(self).__qualname__}({', '.join(shown)})"

        def __setattr__(self, name, value):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")

    _METHODS = {"__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__"}

    def _reader(names):
        """A function that reads these attributes as a tuple."""
        if len(names) > 1:
            return staticmethod(attrgetter(*names))
        return staticmethod(lambda self: tuple([getattr(self, name) for name in names]))

    def _compiled_when_called(cls):
        def first(self, *values, **named):
            cls.__init__ = _compiled(cls)
            cls.__init__(self, *values, **named)

        return first

    def _compiled(cls):
        """The `__init__` that the fields of a class ask for."""
        known = {"_set": object.__setattr__, "MISSING": MISSING}
        heads = {False: ["self"], True: []}
        lines = []
        for one in fields(cls):
            head, value = one.name, one.name
            if one.default is not MISSING:
                known[f"_default_{one.name}"] = one.default
                head += f"=_default_{one.name}"
            elif one.default_factory is not MISSING:
                known[f"_make_{one.name}"] = one.default_factory
                head += "=MISSING"
                value = f"_make_{one.name}() if {one.name} is MISSING else {one.name}"
            heads[one.kw_only].append(head)
            lines.append(f" _set(self, {one.name!r}, {value})")
        positional = ", ".join([*heads[False], *(["*", *heads[True]] if heads[True] else [])])
        exec(f"def __init__({positional}):\n" + "\n".join(lines or [" pass"]), known)  # noqa: S102
        return known["__init__"]


__all__ = ["asdict", "dataclass", "field", "fields", "replace"]
