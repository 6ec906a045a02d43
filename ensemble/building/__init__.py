"""From finished trials to an ensemble version: read their outputs, select, check, fit.

Runs in the api process and the ensemble host.

Modules:
    ensemble_preview     Previews an ensemble from the predictions that its trials saved
    member_selection     Selects members from finished trials by their predictions on validation
    saved_trial_outputs  Reads what finished trials saved for ensembles: model headers and predictions
    version_building     Builds a version from a request and its candidate trials: select, check, fit
"""
