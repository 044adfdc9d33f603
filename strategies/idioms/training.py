"""Idioms of training: functions that Gradient differentiates."""

from __future__ import annotations

from strategies.features import Feature
from strategies.idioms.idiom import Idiom
from strategies.idioms.parts import floats
from strategies.losses import MOST_STEPS, draw_loss
from strategies.scope import Scope
from strategies.values import Value


def loss_function(scope: Scope) -> Value:
    """A public function beside this one, which ends in a float scalar."""
    draw_loss(scope, 1 + scope.index(MOST_STEPS), differentiable=scope.index(16) < 15)
    return floats(scope)


ROWS = (Idiom("loss_function", loss_function, ("Gradient",), needs=(Feature.MULTIPLE_FUNCTIONS,)),)
