"""Combination, calibration and evaluation of predictions, with numpy only.

Runs in the gateway, the workers, the ensemble host and the api process.

Modules:
    calibration_error               Expected calibration error with bins of equal mass or equal width
    combination_fitting             Fits the parameters of a combination on rows that no member was selected on
    combine                         Combines the members' predictions and computes their uncertainty
    ensemble_and_member_evaluation  Evaluates an ensemble and its members from their predictions
    input_drift                     How far the inputs of recent requests are from the training rows, by feature
    missing_members_and_quorum      Evaluates an ensemble with missing members, and finds a safe quorum
    paired_difference               How far two versions of an ensemble differ on the same rows, and whether by more
                                    than chance
    predictor_comparison            Statistical comparison of two predictors on the same rows
    score_input_checks              Validates predictions and targets before scoring
    scores                          Scores of one predictor: accuracy, losses, errors and intervals
"""
