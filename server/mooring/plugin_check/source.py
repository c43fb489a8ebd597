"""Finds the lines of a plugin's source that break the promise of ``Pure``, without running it.

The methods up to Score are read, and the author's own functions and properties that they reach. Names
are looked up in the loaded modules and in the plugin. A global, a closure's variable or an
attribute is constant unless a function of the author changes it.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from mooring.framework import Plugin
from mooring.framework.points import POINTS, calls_of
from mooring.plugin_check.findings import Home, PluginFault, home_of, is_below
from mooring.plugin_check.outside import read_by

_EVALUATING = (point.base for point in POINTS.values() if point.evaluates)
ANSWERING = (*(name for base in _EVALUATING for name in calls_of(base)), "add_pod", "remove_pod")
"""The methods whose answers have to be pure."""

KEEP_IN_STATE = "keep what belongs to one decision in the CycleState; nothing else may change between calls"
READ_ARGUMENTS = "read the nodes and objects that the method is given"

_MAKING = ("__init__", "__post_init__", "__new__", "__set_name__", "__init_subclass__")
"""Methods that run before any answer: what they write is constant."""

_CHANGING = {*dir(list), *dir(dict), *dir(set), *dir(deque)} - {
    *dir(tuple),
    *dir(MappingProxyType),
    *dir(frozenset),
}
"""Methods of containers that change them: those that their unchanging kin lack."""

_CHANGERS = ("next", "setattr", "delattr")
"""Functions that change their first argument."""

_UNKNOWN = object()

Root = tuple[str, str]
"""The owner of a value: a class and an attribute, a module and a global, or a function and a variable."""


def impurities(plugin: Plugin[Any]) -> list[PluginFault]:
    """Return the lines of a plugin, once it is made, that break the promise, in their order."""
    home = home_of(type(plugin))
    waiting = [each for name in ANSWERING for each in _own(_members(plugin, name), home)]
    texts: dict[tuple[FunctionType, int], _Text] = {}
    while waiting:
        function, owner = waiting.pop()
        if (function, id(owner)) not in texts:
            texts[function, id(owner)] = text = _Text(function, owner, home)
            waiting += text.reached
    others = [_Text(*each, home) for each in _others(plugin, {key[0].__module__ for key in texts}, home)]
    changed = {root for text in (*texts.values(), *others) for root in text.changed.values()}
    found = sorted((each for text in texts.values() for each in text.findings(changed)), reverse=True)
    # If a line changes a value that it reads, only the change is reported.
    by_place = {each.place: each for each in found}
    return [by_place[place] for place in sorted(by_place, key=lambda place: (len(place), place))]


def texts_of(kind: type) -> list[str]:
    """Return the texts in a class and its bases, then in their modules: they name labels and resources."""
    bases = [base for base in kind.__mro__ if is_below(base.__module__, *home_of(kind))]
    nodes = [node for base in bases for node in _nodes(base.__module__)]
    names = {base.__name__ for base in bases}
    own = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name in names]
    found = [*(part for node in own for part in ast.walk(node)), *nodes]
    return [node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@cache
def _nodes(module: str) -> list[Any]:
    """Return all nodes of a module's syntax tree, the module first; none without a source."""
    try:
        return list(ast.walk(ast.parse(inspect.getsource(sys.modules[module]))))
    except (OSError, TypeError):
        return []


@cache
def _functions(module: str) -> dict[tuple[int, str], ast.AST]:
    """Return a module's functions by their first line and name, as their code has them."""
    functions = [node for node in _nodes(module) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return {
        (
            min(part.lineno for part in (node, *getattr(node, "decorator_list", ()))),
            getattr(node, "name", "<lambda>"),
        ): node
        for node in functions
    }


def _members(owner: object, name: str = "") -> Iterator[tuple[object, object]]:
    """Yield what the classes of ``owner`` have by a name, as ``super`` reaches them; "" = all."""
    for kind in (owner if isinstance(owner, type) else type(owner)).__mro__:
        for each, member in vars(kind).items():
            if each == name or (not name and each not in _MAKING):
                yield member, owner


def _own(members: Iterator[tuple[object, object]], home: Home) -> Iterator[tuple[FunctionType, object]]:
    """Yield the author's functions behind methods, properties and wrappers, each with its ``self``."""
    for member, owner in members:
        inner: Any = member
        for attribute in ("fget", "func", "__func__", "__wrapped__"):
            inner = getattr(inner, attribute, inner)
        if isinstance(inner, FunctionType) and is_below(inner.__module__, *home):
            yield inner, owner


def _others(plugin: Plugin[Any], modules: set[str], home: Home) -> Iterator[tuple[FunctionType, object]]:
    """Yield the functions that may run between two answers: the plugin's, and those of the modules."""
    yield from _own(_members(plugin), home)
    for each in [each for module in modules for each in vars(sys.modules[module]).values()]:
        members = vars(each).values() if isinstance(each, type) else (each,)
        yield from _own(((member, None) for member in members), home)


class _Text:
    """One function's text.

    Args:
        owner: The object that ``self`` is, which other calls share; None: there is none.
        home: Where the author's own code is.

    Attributes:
        changed: The roots of values that outlast the call and change here, by expression.
        reached: The author's functions that it uses, each with its owner.
    """

    def __init__(self, function: FunctionType, owner: object, home: Home) -> None:
        self._function, self._owner, self._home = function, owner, home
        code = function.__code__
        # A generated function has no node.
        node = _functions(function.__module__).get((code.co_firstlineno, code.co_name))
        self._nodes: list[Any] = list(ast.walk(node)) if node else []
        arguments = [node.arg for node in self._nodes if isinstance(node, ast.arg)]
        self._me = arguments[0] if arguments and owner is not None else ""
        self._declared = {
            name for node in self._nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        }
        stored = {node.id for node in self._nodes if isinstance(node, ast.Name) and _is_stored(node)}
        self._locals = {*arguments, *stored} - self._declared
        closed = inspect.getclosurevars(function).nonlocals
        self._known = {**vars(builtins), **function.__globals__, **closed}
        self._aliases: dict[str, Root | None] = {}
        for node in self._nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._aliases.setdefault(node.targets[0].id, self._root(node.value))
        self.changed = {
            target: root for target in self._targets() if (root := self._root(target)) is not None
        }
        self.reached = [each for node in self._loads() for each in self._reach(node)]

    def findings(self, changed: set[Root]) -> Iterator[PluginFault]:
        """Yield what breaks the promise, given what any function changes."""
        code, told = self._function.__code__, set(self.changed)
        for target, owned in self.changed.items():
            yield PluginFault.at(code, f"changes {_shown(owned)}", KEEP_IN_STATE, target.lineno)
        for node in self._loads():
            value, root = self._value(node), self._root(node)
            what, remedy = ("", "") if value is _UNKNOWN else read_by(value)
            if isinstance(node, ast.Attribute) and node.attr == "handle" and self._is_me(node.value):
                what, remedy = "self.handle", READ_ARGUMENTS
            elif not what and root is not None and root in changed:
                what, remedy = f"{_shown(root)}, which changes", KEEP_IN_STATE
            if what and node not in told:
                # The rest of the expression follows from this.
                told.update(ast.walk(node))
                shown = "" if remedy in (KEEP_IN_STATE, READ_ARGUMENTS) else f" ({ast.unparse(node)})"
                yield PluginFault.at(code, f"reads {what}{shown}", remedy, node.lineno)

    def _loads(self) -> list[Any]:
        return [
            node
            for node in self._nodes
            if isinstance(node, ast.Name | ast.Attribute) and not _is_stored(node)
        ]

    def _targets(self) -> Iterator[Any]:
        """Yield the expressions whose values change, and the names that outlast the call."""
        for node in self._nodes:
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _is_stored(node):
                if not isinstance(node, ast.Name) or node.id in self._declared:
                    yield node
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                # np.add, and an author's own method of such a name, which is read itself, are known.
                if node.func.attr in _CHANGING and self._value(node.func) is _UNKNOWN:
                    yield node.func.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CHANGERS:
                yield node.args[0]

    def _root(self, node: Any) -> Root | None:
        """Return the root of an expression's value; None if the call made the value itself."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            name = node.id
            if name in self._locals or name == self._me:
                return self._aliases.get(name)
            if name in self._function.__code__.co_freevars:
                return (self._function.__qualname__.partition(".<locals>")[0], name)
            return (self._function.__module__, name)
        if not isinstance(node, ast.Attribute):
            return None
        base = self._owner if self._is_me(node.value) else self._value(node.value)
        if isinstance(base, ModuleType):
            return (base.__name__, node.attr)
        kind = base if isinstance(base, type) else type(base)
        own = is_below(kind.__module__, *self._home)
        return (kind.__qualname__, node.attr) if own else self._root(node.value)

    def _is_me(self, node: Any) -> bool:
        """Return whether an expression is ``self``, ``type(self)`` or ``self.__dict__``."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
            return self._is_me(node.args[0])
        if isinstance(node, ast.Attribute):
            return node.attr in ("__class__", "__dict__") and self._is_me(node.value)
        return isinstance(node, ast.Name) and node.id == self._me

    def _value(self, node: Any) -> object:
        """Return the value of an expression in any call; ``_UNKNOWN`` if it depends on the call."""
        if isinstance(node, ast.Name):
            return _UNKNOWN if node.id in self._locals else self._known.get(node.id, _UNKNOWN)
        if not isinstance(node, ast.Attribute):
            return _UNKNOWN
        base = self._owner if self._is_me(node.value) else self._value(node.value)
        if is_below(type(base).__module__, *self._home):
            return inspect.getattr_static(base, node.attr, _UNKNOWN)
        # A property may do anything, so only objects that are outside anyway are read.
        asked = base is not _UNKNOWN and (isinstance(base, ModuleType | type) or read_by(base)[0])
        return getattr(base, node.attr, _UNKNOWN) if asked else _UNKNOWN

    def _reach(self, node: Any) -> Iterator[tuple[FunctionType, object]]:
        value = self._value(node)
        if isinstance(node, ast.Attribute):
            base = self._owner if self._is_me(node.value) else self._value(node.value)
            if is_below(type(base).__module__, *self._home):
                yield from _own(_members(base, node.attr), self._home)
        if isinstance(value, type) and is_below(value.__module__, *self._home):
            # Objects that the call makes are its own: they may change.
            yield from _own(((each, None) for each in vars(value).values()), self._home)
        else:
            yield from _own(iter([(value, None)]), self._home)


def _is_stored(node: Any) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _shown(root: Root) -> str:
    holder, name = root
    return f"the global {name}" if holder in sys.modules else f"{holder.rpartition('.')[2]}'s {name}"
