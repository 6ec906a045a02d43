"""Trials over REST: details, the trial table, downloads.

Runs in the api process.

Modules:
    numbered_trial_routes        Trials by their numbers over REST, and the ids and numbers of trials
    trial_download_routes        Downloads of a trial over REST: its log, its models, checkpoints and artifacts
    trial_file_access            Opens the kept files of trials for downloads and previews
    trial_file_preview_routes    Previews of the files of a trial over REST: images, tables and text, bounded in size,
                                 and never run
    trial_resource_usage_routes  What trials use over REST: processor, memory, storage and GPU over time
    trial_response               The view of one trial with its attempts and artifacts, which several routes answer
    trial_routes                 Trials over REST: details, curves, logs; stop, retry, clone, annotate
    trial_table_routes           The trial table over REST: one window of the filtered, sorted trials of a sweep, as
                                 columns
"""
