"""The local stack: Prefect, MLflow and, when asked, PostgreSQL and S3 as supervised processes on loopback.

`plan` says what the stack of a home consists of, `services` how each service is started, `launch` holds one service,
`supervisor` restarts it, `lifecycle` starts and stops all. `state` and `client` are what others ask. Everything lies in
`HOME/stack/`; secrets are files there that only their owner reads, and reach a service by its environment alone.
"""
