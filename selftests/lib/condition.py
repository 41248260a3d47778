# SPDX-License-Identifier: GPL-2.0-or-later
"""What the condition of a bad result has seen: its source, and what the parts of it are now."""

import ast, types

LONG = 1000  # characters of one part, at most
SILENT = types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type


def argument(frame):
    """The second argument of the call that this frame is in, or None."""
    with open(frame.f_code.co_filename) as f:
        calls = [
            node
            for node in ast.walk(ast.parse(f.read()))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("ok", "must")
            and len(node.args) > 1
            and node.lineno <= frame.f_lineno <= node.end_lineno
        ]
    return min(calls, key=lambda node: node.end_lineno - node.lineno).args[1] if calls else None


def parts(node, waited=False):
    """Those that may be evaluated once more: names, and what until() has asked again and again."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "until":
        for child in node.args[:1]:
            yield from parts(child.body, True) if isinstance(child, ast.Lambda) else ()
    elif isinstance(node, (ast.BoolOp, ast.Compare, ast.UnaryOp)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from parts(child, waited)
    elif (
        waited
        or isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
        and not any(isinstance(child, ast.Call) for child in ast.walk(node))
    ):
        yield node
    else:
        yield from (child for child in ast.walk(node) if isinstance(child, ast.Name))


def seen(frame):
    """In lines. A part that cannot be had any more is left out."""
    names = {**frame.f_globals, **frame.f_locals}
    try:
        condition = argument(frame)
    except (OSError, SyntaxError):
        return ""
    if condition is None:
        return ""
    found = {}
    for part in parts(condition):
        if isinstance(part, ast.Constant):
            continue
        try:
            value = eval(compile(ast.Expression(part), "condition", "eval"), names)
        except Exception:
            continue
        if not isinstance(value, SILENT):
            found[ast.unparse(part)] = repr(value)[:LONG]
    return "\n".join([ast.unparse(condition), *(f"{part} is {found[part]}" for part in found)])
