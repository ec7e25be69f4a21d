-- What probes found out about storage. Times are nanoseconds since 1970 in UTC.
CREATE TABLE probe (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE CHECK (id <> ''),
    identity TEXT NOT NULL, -- of the device
    storage  TEXT NOT NULL, -- as the user wrote it
    machine  TEXT NOT NULL,
    started  INTEGER NOT NULL,
    wrote    INTEGER NOT NULL CHECK (wrote IN (0, 1)),
    report   TEXT NOT NULL -- JSON
) STRICT;

CREATE INDEX probe_identity ON probe (identity);
