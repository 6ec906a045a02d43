"""Server-sent events for pages that follow a sweep, a trial or an ensemble.

Runs in the api process.

Modules:
    event_polling   Polls the database for all clients of the event stream, four times per second while there are any
    event_routes    `GET /api/v1/events`: server-sent events that tell a client what to reload
    pending_events  Events that one client has not received yet, merged so that a slow client needs no more memory
"""
