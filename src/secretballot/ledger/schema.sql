-- Tables of ledgers of secretballot on PostgreSQL 14 or later, format 1. They hold what the tables
-- of a ledger file hold (docs/theory/ledger-format.md), each row with the number of its ledger.
-- Running this again changes nothing.

CREATE SCHEMA IF NOT EXISTS secretballot;

CREATE TABLE IF NOT EXISTS secretballot.format (version INTEGER PRIMARY KEY);
INSERT INTO secretballot.format VALUES (1) ON CONFLICT DO NOTHING;

-- One row per ledger, which a writer locks. PostgreSQL lets nobody lock a row (FOR UPDATE) who may
-- update no column of it: `lock` is there for that, and stays 0.
CREATE TABLE IF NOT EXISTS secretballot.ledger (
    number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    lock INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS secretballot.header (
    ledger INTEGER PRIMARY KEY REFERENCES secretballot.ledger (number),
    id INTEGER NOT NULL CHECK (id = 1), ledger_id TEXT NOT NULL, created TEXT NOT NULL,
    library_version TEXT NOT NULL, place TEXT NOT NULL, unit TEXT NOT NULL, relation TEXT NOT NULL,
    accounting TEXT NOT NULL, allow_seeded INTEGER NOT NULL, orders BYTEA NOT NULL,
    digest TEXT NOT NULL
);
-- `gate_order` and `scope_epsilon` are text: a number is written with the fewest digits that give
-- the same number again.
CREATE TABLE IF NOT EXISTS secretballot.level (
    ledger INTEGER NOT NULL REFERENCES secretballot.header (ledger), position INTEGER NOT NULL,
    name TEXT NOT NULL, epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL,
    approximation_delta DOUBLE PRECISION NOT NULL, gate_order TEXT NOT NULL,
    amount DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (ledger, position), UNIQUE (ledger, name)
);
CREATE TABLE IF NOT EXISTS secretballot.entry (
    ledger INTEGER NOT NULL REFERENCES secretballot.header (ledger), sequence BIGINT NOT NULL,
    time TEXT NOT NULL, mechanism TEXT NOT NULL, n_rows BIGINT NOT NULL, scope_id TEXT,
    scope_epsilon TEXT, seeded INTEGER NOT NULL, note TEXT NOT NULL, previous TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (ledger, sequence)
);
CREATE TABLE IF NOT EXISTS secretballot.curve (
    ledger INTEGER NOT NULL REFERENCES secretballot.header (ledger), number BIGINT NOT NULL,
    digest BYTEA NOT NULL, value BYTEA NOT NULL,
    PRIMARY KEY (ledger, number), UNIQUE (ledger, digest)
);
CREATE TABLE IF NOT EXISTS secretballot.charge (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, level TEXT NOT NULL, member TEXT NOT NULL,
    delta DOUBLE PRECISION NOT NULL, curve BIGINT NOT NULL,
    PRIMARY KEY (ledger, sequence, level, member),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.entry (ledger, sequence),
    FOREIGN KEY (ledger, curve) REFERENCES secretballot.curve (ledger, number)
);
CREATE TABLE IF NOT EXISTS secretballot.reservation (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, id TEXT NOT NULL, event TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (ledger, sequence),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.entry (ledger, sequence)
);
CREATE TABLE IF NOT EXISTS secretballot.checkpoint (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, n_releases BIGINT NOT NULL,
    n_rows BIGINT NOT NULL, place TEXT, digest TEXT NOT NULL,
    PRIMARY KEY (ledger, sequence),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.entry (ledger, sequence)
);
CREATE TABLE IF NOT EXISTS secretballot.total (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, scope_id TEXT NOT NULL, level TEXT NOT NULL,
    member TEXT NOT NULL, delta DOUBLE PRECISION NOT NULL, curve BIGINT NOT NULL,
    scope_epsilon TEXT,
    PRIMARY KEY (ledger, sequence, scope_id, level, member),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.checkpoint (ledger, sequence),
    FOREIGN KEY (ledger, curve) REFERENCES secretballot.curve (ledger, number)
);
CREATE TABLE IF NOT EXISTS secretballot.child (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, path TEXT NOT NULL, event TEXT NOT NULL,
    given TEXT NOT NULL,
    PRIMARY KEY (ledger, sequence),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.entry (ledger, sequence)
);
CREATE TABLE IF NOT EXISTS secretballot.child_total (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, path TEXT NOT NULL,
    n_releases BIGINT NOT NULL, n_rows BIGINT NOT NULL,
    PRIMARY KEY (ledger, sequence, path),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.checkpoint (ledger, sequence)
);
CREATE TABLE IF NOT EXISTS secretballot.private_record (
    ledger INTEGER NOT NULL, sequence BIGINT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (ledger, sequence),
    FOREIGN KEY (ledger, sequence) REFERENCES secretballot.entry (ledger, sequence)
);
CREATE INDEX IF NOT EXISTS total_of_scope ON secretballot.total (ledger, scope_id, sequence);
CREATE INDEX IF NOT EXISTS reservation_of ON secretballot.reservation (ledger, id, sequence);
CREATE INDEX IF NOT EXISTS child_events ON secretballot.child (ledger, sequence)
    WHERE event <> 'spend';

-- Rows are only added. Triggers of rows let TRUNCATE through: one of statements refuses it.
CREATE OR REPLACE FUNCTION secretballot.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a ledger is append-only';
END $$;
DO $$
DECLARE
    name TEXT;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'secretballot' LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON '
            'secretballot.%I FOR EACH ROW EXECUTE FUNCTION secretballot.refuse_change()', name);
        EXECUTE format('CREATE OR REPLACE TRIGGER refuse_truncate BEFORE TRUNCATE ON '
            'secretballot.%I FOR EACH STATEMENT EXECUTE FUNCTION secretballot.refuse_change()', name);
    END LOOP;
END $$;

-- What is added follows what is there, so that a row by hand doesn't stop a ledger: the next entry,
-- rows of it in the transaction that adds it, and the next curve. (Whether digests and sums are right
-- is for those who read.) A session can have functions and operators of its own: none is looked at.
CREATE OR REPLACE FUNCTION secretballot.check_entry() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last BIGINT;
    head TEXT;
BEGIN
    -- Who inserts by hand waits for whoever spends, whose entry would have the same number.
    PERFORM FROM secretballot.ledger WHERE number = NEW.ledger FOR UPDATE;
    SELECT sequence, digest INTO last, head FROM secretballot.entry WHERE ledger = NEW.ledger
        ORDER BY sequence DESC LIMIT 1;
    IF NOT FOUND THEN
        SELECT 0, digest INTO last, head FROM secretballot.header WHERE ledger = NEW.ledger;
    END IF;
    IF NEW.sequence IS DISTINCT FROM last + 1 THEN
        RAISE EXCEPTION 'an entry has the next number';
    ELSIF NEW.previous IS DISTINCT FROM head THEN
        RAISE EXCEPTION 'an entry follows the digest of the one before';
    ELSIF NEW.digest !~ '^[0-9a-f]{64}$' OR NEW.seeded NOT IN (0, 1)
            OR NEW.n_rows NOT BETWEEN 0 AND 1000000000000 THEN -- their sum is a BIGINT
        RAISE EXCEPTION 'an entry holds values that secretballot never writes';
    ELSIF NEW.scope_id !~ '^[^/]' OR octet_length(NEW.scope_id) > 1000 THEN
        RAISE EXCEPTION 'the name of a scope has 1 to 1000 bytes, and no / at its beginning';
    ELSIF NEW.time !~ '^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}\+00:00$'
            OR NEW.time::timestamptz > clock_timestamp() + interval '10 minutes' THEN
        RAISE EXCEPTION 'an entry has a time that is ahead of the clock of the server';
    END IF;
    IF json_typeof(NEW.mechanism::json) <> 'object' THEN
        RAISE EXCEPTION 'a mechanism is an object of JSON';
    END IF;
    PERFORM NEW.note::json, nullif(NEW.scope_epsilon, 'Infinity')::json;
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION secretballot.check_row() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM secretballot.entry WHERE ledger = NEW.ledger AND sequence = NEW.sequence
        AND xmin = pg_current_xact_id()::xid;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rows are added with their entry, in its transaction';
    -- Sums have keys of a scope (or a child) and a group, for which an index has 2,700 bytes.
    ELSIF TG_TABLE_NAME = 'charge' THEN
        IF octet_length(NEW.level) + octet_length(NEW.member) > 1000 THEN
            RAISE EXCEPTION 'the names of a level and its part have 1000 bytes';
        END IF;
    ELSIF TG_TABLE_NAME = 'reservation' THEN
        PERFORM NEW.state::json;
    ELSIF TG_TABLE_NAME = 'child' THEN
        IF octet_length(NEW.path) > 900 THEN
            RAISE EXCEPTION 'the name of a child has 900 bytes';
        END IF;
        PERFORM nullif(NEW.given, '')::json;
    ELSIF TG_TABLE_NAME = 'total' THEN
        PERFORM nullif(NEW.scope_epsilon, 'Infinity')::json;
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION secretballot.check_curve() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM secretballot.ledger WHERE number = NEW.ledger FOR UPDATE;
    IF NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM secretballot.curve
            WHERE ledger = NEW.ledger) THEN
        RAISE EXCEPTION 'a curve has the next number';
    ELSIF NEW.digest <> sha256(NEW.value) THEN
        RAISE EXCEPTION 'a curve has the digest of its value';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER check_insert BEFORE INSERT ON secretballot.entry
    FOR EACH ROW EXECUTE FUNCTION secretballot.check_entry();
CREATE OR REPLACE TRIGGER check_insert BEFORE INSERT ON secretballot.curve
    FOR EACH ROW EXECUTE FUNCTION secretballot.check_curve();
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['charge', 'reservation', 'checkpoint', 'total', 'child',
            'child_total', 'private_record'] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER check_insert BEFORE INSERT ON secretballot.%I '
            'FOR EACH ROW EXECUTE FUNCTION secretballot.check_row()', name);
    END LOOP;
END $$;
