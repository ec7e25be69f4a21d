-- The worker of a fleet that carried a trial out; empty: no fleet did.
ALTER TABLE trial ADD COLUMN worker TEXT NOT NULL DEFAULT '';
