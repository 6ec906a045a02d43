"""Browser sessions and access tokens over REST.

Runs in the api process.

Modules:
    session_routes  Browser sessions over REST: a login link's code or a token is exchanged for a session cookie
    token_routes    Access tokens over REST, for admins: create, list, revoke; the secret is returned once
"""
