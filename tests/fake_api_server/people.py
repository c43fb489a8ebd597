"""Who shows which token, and who may read which path, as TokenReview and SubjectAccessReview say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class People:
    """The users and their rights; none at first.

    Attributes:
        tokens: By token, the name of the user.
        readers: Who may ``get`` what: names of users and paths.
        denied: Verbs and plurals that are forbidden to all, such as ``create pods/binding``, or
            ``impersonate users/ann`` for one name.
        audiences: Whether a review confirms the audiences that it names, as today's servers do.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    readers: set[tuple[str, str]] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    audiences: bool = True

    def token_review(self, review: dict[str, Any]) -> dict[str, Any]:
        """Return the review with its status."""
        name = self.tokens.get(review["spec"]["token"])
        if name is None:
            return {**review, "status": {"authenticated": False, "error": "invalid bearer token"}}
        user = {"username": name, "uid": f"uid-of-{name}", "groups": ["system:authenticated"]}
        confirmed = review["spec"].get("audiences", []) if self.audiences else []
        return {**review, "status": {"authenticated": True, "user": user, "audiences": confirmed}}

    def access_review(self, review: dict[str, Any]) -> dict[str, Any]:
        """Return the review with its status."""
        on = review["spec"].get("resourceAttributes")
        if on is not None:
            right = f"{on['verb']} {'/'.join(filter(None, (on['resource'], on['subresource'])))}"
            allowed = self.denied.isdisjoint((right, f"{right}/{on.get('name')}"))
            return {**review, "status": {"allowed": allowed}}
        asked = review["spec"]["nonResourceAttributes"]
        allowed = asked["verb"] == "get" and (review["spec"]["user"], asked["path"]) in self.readers
        return {**review, "status": {"allowed": allowed}}


REVIEWS: dict[str, Callable[[People, dict[str, Any]], dict[str, Any]]] = {
    "tokenreviews": People.token_review,
    "selfsubjectaccessreviews": People.access_review,
    "subjectaccessreviews": People.access_review,
}
