"""Karmada's scheduler-estimator: Karmada's contract on one side, mooring.v1 on the other."""
