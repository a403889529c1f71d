"""The store: one SQLite file or one Postgres database, with trajectories, lessons, vectors, runs and the journal."""
