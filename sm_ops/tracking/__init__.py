"""The one home of MLflow: runs go there as allow-listed settings, numbers, digests and public files, never as data.

`MLFLOW_TRACKING_URI` says where; by default an SQLite file below the home folder. `spool` knows without MLflow which
runs were sent, `runs` sends them, `releases` mirrors releases, `server` holds the connection.
"""
