-- What only a database has, beside the tables of River: runs that several
-- workers carry out. Times are the server's, since the clocks of workers need
-- not agree.

-- A run while its trials are jobs of a queue of River.
CREATE TABLE fleet (
    run   BIGINT PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
    queue TEXT NOT NULL,
    needs TEXT NOT NULL, -- JSON
    begun TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- How often trials that were missing at the end were enqueued again.
    again BIGINT NOT NULL DEFAULT 0
);

-- A worker shows that it lives by an advisory lock, which goes with its
-- connection, and by writing here, since one that hangs keeps its connection.
CREATE TABLE worker (
    id    TEXT PRIMARY KEY,
    mark  BIGINT NOT NULL, -- number of the lock
    about TEXT NOT NULL, -- JSON
    jobs  BIGINT[] NOT NULL, -- under way
    seen  TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Trials that were done twice, by two workers.
CREATE TABLE repeat (
    run     BIGINT NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    round   BIGINT NOT NULL,
    place   BIGINT NOT NULL,
    workers TEXT NOT NULL,
    differs TEXT NOT NULL, -- empty: not at all
    PRIMARY KEY (run, round, place)
);

-- Files that runs need and workers may lack.
CREATE TABLE file (
    digest TEXT PRIMARY KEY,
    used   TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE file_part (
    digest TEXT NOT NULL REFERENCES file (digest) ON DELETE CASCADE,
    part   BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (digest, part)
);
