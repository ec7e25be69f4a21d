-- A trial has a candidate and the level of a factor; '' is the reference.
ALTER TABLE trial ADD COLUMN variant TEXT NOT NULL DEFAULT '';

-- Runs of one study on several storages share the ID of the first.
ALTER TABLE run ADD COLUMN series TEXT NOT NULL DEFAULT '';

-- What other programs wrote during a phase, whole; body is compressed (zlib).
CREATE TABLE artifact (
    trial INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    phase TEXT NOT NULL,
    name  TEXT NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (trial, place)
) STRICT, WITHOUT ROWID;

DROP VIEW figures;
CREATE VIEW figures AS
SELECT run.id AS run, trial.round, trial.place, c.text AS candidate, trial.variant, trial.attempt, trial.outcome,
       p.text AS phase, m.text AS metric, measurement.value, u.text AS unit, a.text AS absent
FROM measurement
JOIN trial ON trial.id = measurement.trial
JOIN run ON run.number = trial.run
JOIN word c ON c.id = trial.candidate
JOIN word p ON p.id = measurement.phase
JOIN word m ON m.id = measurement.metric
JOIN word u ON u.id = measurement.unit
LEFT JOIN word a ON a.id = measurement.absent;
