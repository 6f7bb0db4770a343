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
