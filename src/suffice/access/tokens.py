"""Identity in a JWT: PyJWT checks signature, algorithm, issuer, audience and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.access.jwks import KeySet
from suffice.access.signed_headers import EndUser
from suffice.errors import ExtraMissing, IdentityError
from suffice.settings import TokenSettings

try:
    import jwt
except ImportError as problem:
    raise ExtraMissing("Identity by JWT", "oidc") from problem

_SPACED = ("scope", "scp")
"""Claims whose text lists several names, separated by spaces (RFC 8693)."""
_REMEDY = "Use a token from the configured identity provider."


class Tokens:
    """Verifies the tokens of one provider."""

    def __init__(self, settings: TokenSettings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._keys = keys or KeySet(settings.jwks, settings.refresh_seconds)

    def read(self, token: str) -> EndUser:
        """The user that a token names. Raises if the token is not valid."""
        try:
            claims = self._claims(token)
        except jwt.ExpiredSignatureError:
            raise IdentityError("The token has expired.", remedy="Sign in again.") from None
        except jwt.InvalidAudienceError:
            raise IdentityError("The token is for another audience.", remedy=_REMEDY) from None
        except jwt.InvalidIssuerError:
            raise IdentityError("The token is from another issuer.", remedy=_REMEDY) from None
        except jwt.PyJWTError as problem:
            raise IdentityError(f"The token is not valid: {problem}.", remedy=_REMEDY) from None
        settings = self._settings
        name = _claim(claims, settings.user_claim)
        if not isinstance(name, str) or not name.strip():
            raise IdentityError(
                f"The token names no user: it has no claim '{settings.user_claim}'.",
                remedy="Set server.identity.jwt.user_claim to a claim that the tokens have.",
            )
        groups = _claim(claims, settings.groups_claim)
        return EndUser(name, frozenset(_names(settings.groups_claim, groups)))

    def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        head = jwt.get_unverified_header(token)
        key = None
        if head.get("alg") in settings.algorithms:
            key = self._keys.key(head.get("kid"))
        # The settings and the key determine the algorithm, never the token.
        if key is None or key.algorithm not in ("", head["alg"]):
            raise IdentityError(
                f"The token's signature algorithm {str(head.get('alg'))[:20]!r} is not accepted.",
                remedy=f"Accepted: {key.algorithm if key else ', '.join(settings.algorithms)}.",
            )
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=list(settings.algorithms),
            audience=list(settings.audiences),
            issuer=settings.issuer,
            leeway=settings.leeway_seconds,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """A claim by its name or dotted path."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _names(claim: str, value: Any) -> list[str]:
    """The groups in a claim, which is a list or a single name; anything else yields none."""
    if isinstance(value, str):
        return value.split() if claim in _SPACED else [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
