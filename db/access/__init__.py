"""Access tokens and browser sessions; the database holds only their SHA-256.

Runs in the api process and the gateway.

Modules:
    login_sessions  Browser logins: one-time codes and sessions, stored as SHA-256
    tokens          Access tokens, stored as SHA-256
"""
