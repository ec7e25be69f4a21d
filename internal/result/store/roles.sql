-- What workers and viewers of the store may do; to be run by its owner:
--   whichfs store init --store postgres://OWNER@HOST/DATABASE | psql postgres://OWNER@HOST/DATABASE
-- and then, for each user: GRANT whichfs_worker TO user, or GRANT whichfs_viewer TO user.
-- A worker adds runs, trials and probes, and changes or deletes only its own. It
-- may take the place of a trial that was begun and never concluded, and takes
-- part in the runs of the fleet, whose conditions, notes and end it writes. A viewer
-- reads. The owner may do everything. It can be run again.
BEGIN;
SET LOCAL client_min_messages = warning; -- not what is made for the first time
SET search_path = @schema@;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whichfs_worker') THEN CREATE ROLE whichfs_worker NOLOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whichfs_viewer') THEN CREATE ROLE whichfs_viewer NOLOGIN; END IF;
END $$;

GRANT USAGE ON SCHEMA @schema@ TO whichfs_worker, whichfs_viewer;
GRANT SELECT ON ALL TABLES IN SCHEMA @schema@ TO whichfs_worker, whichfs_viewer;
GRANT INSERT ON word, run, circumstances, condition, run_note, support, trial, measurement, note, option, artifact, probe, receipt, remark, label TO whichfs_worker;
GRANT UPDATE ON run, trial, receipt TO whichfs_worker;
GRANT DELETE ON run, circumstances, condition, run_note, support, trial, probe, receipt TO whichfs_worker;
GRANT INSERT, UPDATE, DELETE ON fleet, worker, repeat, file, file_part, river_job, river_leader, river_queue, river_notification TO whichfs_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA @schema@ TO whichfs_worker;

-- Whose row it is.
ALTER TABLE run ADD COLUMN IF NOT EXISTS owner NAME NOT NULL DEFAULT current_user;
ALTER TABLE trial ADD COLUMN IF NOT EXISTS owner NAME NOT NULL DEFAULT current_user;
ALTER TABLE probe ADD COLUMN IF NOT EXISTS owner NAME NOT NULL DEFAULT current_user;
ALTER TABLE receipt ADD COLUMN IF NOT EXISTS owner NAME NOT NULL DEFAULT current_user;

DO $$ DECLARE
    name TEXT;
    own TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['run', 'trial', 'probe', 'receipt', 'circumstances', 'condition', 'run_note', 'support', 'measurement', 'note', 'option', 'artifact', 'remark', 'label'] LOOP
        own := CASE
            WHEN name = 'run' THEN 'owner = current_user OR EXISTS (SELECT FROM fleet WHERE fleet.run = run.number)'
            WHEN name IN ('trial', 'probe', 'receipt') THEN 'owner = current_user'
            WHEN name IN ('remark', 'label') THEN 'true' -- anybody who may write may say something of a run
            WHEN name IN ('circumstances', 'condition', 'run_note', 'support') THEN format('EXISTS (SELECT FROM run WHERE number = %1$I.run AND owner = current_user) OR EXISTS (SELECT FROM fleet WHERE fleet.run = %1$I.run)', name)
            ELSE format('EXISTS (SELECT FROM trial WHERE id = %I.trial AND owner = current_user)', name)
        END;
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('DROP POLICY IF EXISTS everyone_reads ON %I', name);
        EXECUTE format('CREATE POLICY everyone_reads ON %I FOR SELECT USING (true)', name);
        EXECUTE format('DROP POLICY IF EXISTS own_inserted ON %I', name);
        EXECUTE format('CREATE POLICY own_inserted ON %I FOR INSERT WITH CHECK (%s)', name, own);
        EXECUTE format('DROP POLICY IF EXISTS own_updated ON %I', name);
        EXECUTE format('CREATE POLICY own_updated ON %I FOR UPDATE USING (%s)', name, own);
        EXECUTE format('DROP POLICY IF EXISTS own_deleted ON %I', name);
        EXECUTE format('CREATE POLICY own_deleted ON %I FOR DELETE USING (%s)', name,
            CASE name WHEN 'trial' THEN own || ' OR outcome IS NULL OR EXISTS (SELECT FROM fleet WHERE fleet.run = trial.run)' ELSE own END);
    END LOOP;
END $$;
COMMIT;
