"""Settings of end-user identity and of the review site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from suffice.settings.checked import ABOUT, Checked, bad_value, setting

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Public-key signature algorithms. Shared secrets (`HS…`) and `none` are excluded, so that a public
key can never be used as a secret."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class SignedHeaderSettings(Checked):
    """Identity in signed headers: `X-Suffice-User`, `-Groups`, `-Timestamp` and `-Signature`."""

    secret_env: str = setting(
        "",
        "Environment variable that holds the shared secret, at least 32 characters. For "
        "rotation, it may hold several, separated by spaces. Empty: signed headers are refused.",
    )
    window_seconds: Annotated[float, Meta(ge=1, le=86_400)] = setting(
        300.0, "Maximum difference between the timestamp and the gateway's clock, in seconds."
    )


@dataclass(frozen=True, slots=True)
class TokenSettings(Checked):
    """Identity in a JWT, for example from an OIDC provider. Needs the extra `oidc`."""

    jwks: str = setting(
        "",
        "The provider's public keys (JWKS): a file or an https URL. Empty: tokens are refused.",
    )
    issuer: str = setting("", "The `iss` claim that a token must have.")
    audiences: tuple[str, ...] = setting(
        (), "Accepted `aud` claims: a token must have one of them."
    )
    algorithms: tuple[str, ...] = setting(
        ("RS256", "ES256"),
        f"Accepted signature algorithms. Allowed: {', '.join(ALGORITHMS)}.",
    )
    header: str = setting(
        "X-Suffice-User-Token",
        "Header that holds the token. A token in `Authorization` is read too, if the key is sent "
        "in `X-API-Key`.",
    )
    user_claim: str = setting("sub", "Claim that names the person, for example `sub` or `email`.")
    groups_claim: str = setting(
        "groups",
        "Claim that lists the groups. A dotted path names a nested claim: `realm_access.roles`.",
    )
    leeway_seconds: Annotated[float, Meta(ge=0, le=600)] = setting(
        30.0, "Tolerated clock difference when a token's times are checked, in seconds."
    )
    refresh_seconds: Annotated[float, Meta(ge=10, le=86_400)] = setting(
        3_600.0,
        "Seconds between reads of a JWKS URL. A token with an unknown key id causes an earlier "
        "read.",
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for name in self.algorithms:
            if name not in ALGORITHMS:
                allowed = f"{', '.join(ALGORITHMS)}; not `none` or HS… (shared secrets)"
                raise bad_value("server.identity.jwt", "algorithms", name, allowed)
        if not self.jwks:
            return
        if self.jwks.startswith("http://") and urlsplit(self.jwks).hostname not in _LOOPBACK:
            raise bad_value("server.identity.jwt", "jwks", self.jwks, "a file or a URL with https")
        for key in ("issuer", "audiences", "algorithms", "header", "user_claim"):
            if not getattr(self, key):
                raise bad_value(
                    "server.identity.jwt", key, getattr(self, key), "not empty with `jwks`"
                )


@dataclass(frozen=True, slots=True)
class IdentitySettings(Checked):
    """The people who use a key. A forwarded identity only narrows the rights of the key: a person
    reads documents with labels that both the key and the person's groups have."""

    labels: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={
            ABOUT: "Maps groups to access labels. The group `*` stands for every person. Groups "
            "that are not listed grant no labels."
        },
    )
    roles: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={
            ABOUT: "Maps groups to roles. A person has only the roles that the key has too, and "
            "asks only with the role `caller`. The group `*` stands for every person. Empty: a "
            "person has the roles of the key."
        },
    )
    required_for: tuple[str, ...] = setting(
        ("*",),
        "Keys whose requests must name a person, if `headers` or `jwt` is configured. `*`: all "
        "keys.",
    )
    record_user: Literal["masked", "plain", "pseudonym"] = setting(
        "masked",
        "How records, logs and usage reports name a person. `masked`: masked as configured in "
        "`record` (`mask_emails`, …). `plain`: as sent. `pseudonym`: a keyed hash, unique to "
        "each person.",
    )
    pseudonym_key_env: str = setting(
        "", "Environment variable that holds the key for `pseudonym`, at least 32 characters."
    )
    headers: SignedHeaderSettings = field(default_factory=SignedHeaderSettings)
    jwt: TokenSettings = field(default_factory=TokenSettings)

    @property
    def enabled(self) -> bool:
        return bool(self.headers.secret_env or self.jwt.jwks)


@dataclass(frozen=True, slots=True)
class SiteSettings(Checked):
    """The review site under `/ui`, and how long people stay signed in."""

    enabled: bool = setting(True, "Serve the review site under `/ui`.")
    idle_minutes: Annotated[float, Meta(ge=1, le=43_200)] = setting(
        60.0, "Minutes without a request after which a person must sign in again."
    )
    session_hours: Annotated[float, Meta(ge=0.1, le=2_160)] = setting(
        12.0, "Hours after which a person must sign in again in any case."
    )
    sign_in_attempts: Annotated[int, Meta(ge=1, le=100)] = setting(
        5,
        "Failed attempts for an account from one address before further attempts must wait, twice "
        "as long each time, up to 15 minutes. If an account fails as often from all addresses "
        "together, the wait is at most 30 seconds, so that nobody can lock a person out. An "
        "address may fail four times as often; an IPv6 address counts as its /64 network.",
    )
    behind_proxy: bool = setting(
        False,
        "Trust `X-Forwarded-For` and `X-Forwarded-Proto` for a client's address, also in "
        "`server.limits`, and whether the connection is encrypted. Set it only behind a "
        "reverse proxy that sets these headers, because anybody could send them.",
    )
    local_role: Literal["viewer", "reviewer", "admin"] = setting(
        "reviewer",
        "The role of people who have not signed in, on a gateway that requires no keys. With "
        "`admin`, everybody who reaches the gateway from this machine can create keys, also "
        "through a proxy that adds no forwarded headers.",
    )
    guide: bool = setting(
        False, "Show the guided tour of `suffice demo`. The command sets it.", read_only=True
    )
