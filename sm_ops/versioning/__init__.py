"""The one home of DVC: a pipeline as `dvc.yaml` and `params.yaml`, whose commands are `sm-ops stage NAME`.

DVC versions the data of a pipeline; what runs again is decided by our own fingerprints (DESIGN, law 2).
"""
