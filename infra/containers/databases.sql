-- Run once, by the image's own entry point, when the volume is empty. A role per server: neither reads the other's database.
\set prefect_password `cat /run/secrets/prefect_database`
\set mlflow_password `cat /run/secrets/mlflow_database`
CREATE ROLE prefect LOGIN PASSWORD :'prefect_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
CREATE DATABASE prefect OWNER prefect;
CREATE DATABASE mlflow OWNER mlflow;
CREATE DATABASE mlflow_auth OWNER mlflow;
REVOKE ALL ON DATABASE prefect, mlflow, mlflow_auth, postgres FROM PUBLIC;
