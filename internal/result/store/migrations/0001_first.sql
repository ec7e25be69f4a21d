-- Runs, their trials, and every figure of them. Times are nanoseconds since
-- 1970 in UTC; NULL is a time that has not come. Sizes are bytes, durations
-- seconds.

-- Names that repeat in nearly every row (phases, metrics, units, candidates,
-- reasons for absence) are kept once. Words are never removed or renumbered:
-- open stores remember their numbers.
CREATE TABLE word (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE CHECK (id <> ''),
    study      TEXT NOT NULL,
    scale      TEXT NOT NULL,
    machine    TEXT NOT NULL,
    storage    TEXT NOT NULL,
    seed       TEXT NOT NULL, -- 64 bits without sign, in decimal
    rounds     INTEGER NOT NULL,
    planned    INTEGER NOT NULL, -- trials
    candidates TEXT NOT NULL, -- JSON list, in plan order
    margin     REAL NOT NULL,
    plan       TEXT, -- JSON
    version    TEXT NOT NULL,
    emulated   INTEGER NOT NULL CHECK (emulated IN (0, 1)),
    started    INTEGER,
    ended      INTEGER,
    state      TEXT NOT NULL,
    active     REAL NOT NULL
) STRICT;

CREATE TABLE condition (
    run     INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    place   INTEGER NOT NULL,
    "group" TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    matters INTEGER NOT NULL CHECK (matters IN (0, 1)),
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_note (
    run   INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    phase TEXT NOT NULL,
    level TEXT NOT NULL,
    text  TEXT NOT NULL,
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

-- Candidates that cannot run on the machine of a run, and why.
CREATE TABLE support (
    run       INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    place     INTEGER NOT NULL,
    candidate INTEGER NOT NULL,
    outcome   TEXT NOT NULL CHECK (outcome IN ('unsupported', 'refused')),
    reason    TEXT NOT NULL,
    hint      TEXT NOT NULL,
    PRIMARY KEY (run, place),
    UNIQUE (run, candidate)
) STRICT, WITHOUT ROWID;

-- A trial without an outcome was begun and never concluded. Numbers are never
-- used twice, so that whoever still holds one cannot write to another's trial.
CREATE TABLE trial (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    run       INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    round     INTEGER NOT NULL,
    place     INTEGER NOT NULL,
    candidate INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    outcome   TEXT CHECK (outcome IN ('done', 'subject-failed', 'lab-failed', 'unsupported', 'refused')),
    phase     TEXT NOT NULL DEFAULT '',
    reason    TEXT NOT NULL DEFAULT '',
    hint      TEXT NOT NULL DEFAULT '',
    started   INTEGER,
    ended     INTEGER,
    overhead  REAL NOT NULL DEFAULT 0,
    console   TEXT, -- JSON list of lines
    UNIQUE (run, round, place, attempt)
) STRICT;

-- phase, metric, unit and absent are words. They carry no foreign keys: four
-- look-ups per figure would cost more than the figure itself.
CREATE TABLE measurement (
    trial  INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    phase  INTEGER NOT NULL,
    metric INTEGER NOT NULL,
    unit   INTEGER NOT NULL,
    value  REAL,
    absent INTEGER,
    PRIMARY KEY (trial, phase, metric),
    CHECK ((value IS NULL) <> (absent IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    phase TEXT NOT NULL,
    level TEXT NOT NULL,
    text  TEXT NOT NULL,
    PRIMARY KEY (trial, place)
) STRICT, WITHOUT ROWID;

-- text, state and evidence are words: they are nearly always the same in every
-- round.
CREATE TABLE option (
    trial    INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    place    INTEGER NOT NULL,
    text     INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    PRIMARY KEY (trial, place)
) STRICT, WITHOUT ROWID;

-- For people with an SQL shell: every figure with its names written out.
CREATE VIEW figures AS
SELECT run.id AS run, trial.round, trial.place, c.text AS candidate, trial.attempt, trial.outcome,
       p.text AS phase, m.text AS metric, measurement.value, u.text AS unit, a.text AS absent
FROM measurement
JOIN trial ON trial.id = measurement.trial
JOIN run ON run.number = trial.run
JOIN word c ON c.id = trial.candidate
JOIN word p ON p.id = measurement.phase
JOIN word m ON m.id = measurement.metric
JOIN word u ON u.id = measurement.unit
LEFT JOIN word a ON a.id = measurement.absent;
