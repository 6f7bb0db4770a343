-- Three roles for ledgers of secretballot, to be run by a superuser in the ledgers' database, after
-- the tables were made. Running this again changes nothing. People and programs get a role with
--     GRANT secretballot_spender TO alice;
--
--     secretballot_owner    makes ledgers, and alone reads private records
--     secretballot_spender  adds entries, each after the last one
--     secretballot_reader   reads all but private records
--
-- Nobody updates, deletes or truncates; the owner and superusers could remove the triggers that
-- refuse it, which the chain of digests and the marks of the spenders' machines then show.

DO $$
DECLARE
    role TEXT;
BEGIN
    FOREACH role IN ARRAY ARRAY['owner', 'spender', 'reader'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE secretballot_%s NOLOGIN', role);
        EXCEPTION WHEN duplicate_object THEN
            NULL; -- it is there
        END;
    END LOOP;
END $$;

ALTER SCHEMA secretballot OWNER TO secretballot_owner;
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['refuse_change', 'check_entry', 'check_row', 'check_curve'] LOOP
        EXECUTE format('ALTER FUNCTION secretballot.%I() OWNER TO secretballot_owner', name);
    END LOOP;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'secretballot' LOOP
        EXECUTE format('ALTER TABLE secretballot.%I OWNER TO secretballot_owner', name);
    END LOOP;
END $$;

REVOKE ALL ON SCHEMA secretballot FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA secretballot FROM PUBLIC;
GRANT USAGE ON SCHEMA secretballot TO secretballot_spender, secretballot_reader;

GRANT SELECT ON
    secretballot.format, secretballot.ledger, secretballot.header, secretballot.level,
    secretballot.entry, secretballot.curve, secretballot.charge, secretballot.reservation,
    secretballot.checkpoint, secretballot.total, secretballot.child, secretballot.child_total
TO secretballot_spender, secretballot_reader;
-- That a record belongs to an entry is checked without reading it.
GRANT SELECT (ledger, sequence) ON secretballot.private_record
TO secretballot_spender, secretballot_reader;

GRANT INSERT ON
    secretballot.entry, secretballot.curve, secretballot.charge, secretballot.reservation,
    secretballot.checkpoint, secretballot.total, secretballot.child, secretballot.child_total,
    secretballot.private_record
TO secretballot_spender;
-- Locking the row of a ledger needs the right to update a column of it; a trigger refuses to.
GRANT UPDATE (lock) ON secretballot.ledger TO secretballot_spender;
