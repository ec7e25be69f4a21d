-- What people write about a run, and the labels that they give it there.
CREATE TABLE remark (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    run     INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    written INTEGER NOT NULL,
    text    TEXT NOT NULL
) STRICT;

CREATE TABLE label (
    run  INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    text TEXT NOT NULL,
    PRIMARY KEY (run, text)
) STRICT, WITHOUT ROWID;

CREATE INDEX remark_run ON remark (run);
CREATE INDEX run_study ON run (study);
CREATE INDEX run_state ON run (state);
