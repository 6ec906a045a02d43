"""The built-in training loop: criterion, epochs, cross-validation.

Runs in trial processes.

Modules:
    best_epoch_record    The best epoch of the training loop, and its metrics
    cross_validation     k-fold cross-validation: one network per fold, trained in parallel epochs, reported as their
                         mean
    distributed_learner  Trains one built-in network by the ranks of a trial with several devices
    fit                  The built-in training loop: one network on one device, or by one rank on each of several
    learner              Trains one built-in network: its rows, optimizer, epochs and metrics
    loss_and_metrics     Loss, metrics and saved predictions of each task
"""
