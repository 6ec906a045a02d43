"""Ensembles, versions and predictions as plain values.

Imported in every process.

Modules:
    ensemble_snapshot             A version of an ensemble at one moment, as predictions read it: members, replicas,
                                  combination
    ensemble_spec                 The specification of an ensemble: its options, and the requests to build one or a
                                  version
    ensemble_states               The states of an ensemble and of its members' replicas
    finite_check                  Whether all elements of an array are finite, without the wrappers of NumPy's
                                  reductions
    member_candidate              A trial that may become a member, with its files
    new_version                   The content of a version before it is stored
    precision_selection           The measured precisions of a member, and the rule that chooses one of them
    prediction                    The result of a request: one outcome, and one status for each member
    selection_and_fitting_splits  The splits that a version was selected or fitted on, so that scores on them are biased
"""
