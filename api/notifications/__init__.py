"""Notifications of an administrator by mail, chat or webhook: what is worth one, and its delivery; the notifier.

Modules:
    delivery                  Delivers a notification to one target through Apprise
    main                      Entry point of the notifier: `python -P -m podium.api.notifications.main FILE`, started by
                              the supervisor
    notable_event_messages    Which events are worth a notification, and its text
    notification_target_file  The file of notification targets, which an administrator gives to `podium serve --notify`
    notifier                  Follows the events of the service, and delivers what targets want to know
"""
