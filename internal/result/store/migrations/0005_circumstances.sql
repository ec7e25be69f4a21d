-- What runs are found, chosen and grouped by, in short rows: those of run carry
-- their plans. data is the same in runs with the same data sets.
CREATE TABLE circumstances (
    run        INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    study      TEXT NOT NULL,
    scale      TEXT NOT NULL,
    machine    TEXT NOT NULL,
    storage    TEXT NOT NULL,
    candidates TEXT NOT NULL,
    state      TEXT NOT NULL,
    kernel     TEXT NOT NULL,
    clock      TEXT NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (run)
) STRICT, WITHOUT ROWID;

CREATE VIEW circumstances_of AS
SELECT run.number AS run, study, scale, machine, storage, candidates, state,
       coalesce((SELECT min(value) FROM condition WHERE condition.run = run.number AND "group" = 'machine' AND name = 'kernel'), '') AS kernel,
       coalesce((SELECT min(value) FROM condition WHERE condition.run = run.number AND "group" = 'machine' AND name = 'clock'), '') AS clock,
       coalesce((SELECT count(*) || ' ' || min(name || ' ' || value) || ' ' || max(name || ' ' || value) FROM condition WHERE condition.run = run.number AND "group" = 'data'), '') AS data
FROM run;

INSERT INTO circumstances SELECT * FROM circumstances_of;

-- Somebody wants the run to end: 1 until it does. Of a store in a file, the
-- process that carries it out is told directly.
ALTER TABLE run ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
