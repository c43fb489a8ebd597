"""CEL expressions on devices: the part of the language that is proven equal to kube-scheduler's.

``compile_selector`` checks an expression and gives a ``Selector``; what lies outside raises
``UnsupportedExpressionError``, which names it.
"""

from mooring.plugins.dynamic_resources.cel.program import Selector, compile_selector
from mooring.plugins.dynamic_resources.cel.syntax import UnsupportedExpressionError
from mooring.plugins.dynamic_resources.cel.values import EvaluationError

__all__ = ["EvaluationError", "Selector", "UnsupportedExpressionError", "compile_selector"]
